"""Sandboxes of git checkouts: a working tree that looks as the user's does, with a git directory of its own."""

import os
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.folder.folder_copy import DirectorySandboxes, real_tree
from mulligan.adapters.sandboxes.git.checkpoints.checkpoint_commits import Commits
from mulligan.adapters.sandboxes.git.checkpoints.publication import Publishing
from mulligan.adapters.sandboxes.git.checkpoints.whole_capture import WholeCaptures
from mulligan.adapters.sandboxes.git.creation.missing_filters import missing_filter
from mulligan.adapters.sandboxes.git.creation.sandbox_creation import Making, make_fork
from mulligan.adapters.sandboxes.git.git_context import GitContext, unsuitable
from mulligan.adapters.sandboxes.git.position.index_contents import IndexContents
from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository
from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import pins_of
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.adapters.sandboxes.removal import remove_tree
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Capture, ChangeAction, Damage, PathChange, Survey, Unheld
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import CheckpointId
from mulligan.errors import ResourceUnsuitable
from mulligan.ports import Observer, Publication, SandboxOrder, WorkingTree

_GIT = ".git"
_MADE = "parts of the git directory made"


class GitSandboxes(DirectorySandboxes):
    """Makes working copies of git checkouts; a snapshot has two roots, the files and the git directory."""

    type = ResourceType.GIT_CHECKOUT
    strategy = Strategy.GIT_WORKTREE

    def __init__(self, context: GitContext) -> None:
        super().__init__(
            store=context.store,
            home=context.home,
            project_home=context.project_home,
            user_home=context.user_home,
        )
        self._context = context
        self._git = context.git
        self._watched: list[str] = []  # paths of sandboxes
        self._open: dict[str, Commits] = {}  # by the path of the sandbox, while it is watched
        self._indexes = IndexContents(context.store)
        self._whole = WholeCaptures(self._git, context.store, self._indexes)

    def check(self, resource: Resource, location: Path) -> None:
        """Refuse a location that is not a git checkout, or that cannot be copied, or that no plan may work on."""
        repository = self._repository(resource, location)
        if (unsuited := missing_filter(self._git, repository)) is not None:
            raise unsuitable(resource.name, location, unsuited)
        if resource.from_revision is not None:
            self._commit_of(resource, repository, resource.from_revision)

    def survey(self, order: SandboxOrder, observer: Observer) -> Survey:
        """Count what a sandbox would copy."""
        repository = self._repository(order.resource, order.location)
        making = self._making(order, repository)
        if order.resource.from_revision is not None:
            return making.survey_of(self._commit_of(order.resource, repository, order.resource.from_revision))
        return self._store.survey(real_tree(order.location, making.left_out() | {_GIT}), observer)

    def create(self, order: SandboxOrder, observer: Observer) -> tuple[Sandbox, Capture]:
        """Make the plan's working copy of what the capture holds. Cut off anywhere, running it again completes it."""
        repository = self._repository(order.resource, order.location)
        making = self._making(order, repository)
        revision = order.resource.from_revision
        sandbox = replace(
            self._sandbox(order, Snapshot(())),
            excluded=tuple(sorted(making.left_out())),
            branch=repository.branch if revision is None else making.branch_named(revision),
            git_dir=str(self._context.repositories.of(order.plan_id, order.resource.name).path),
        )
        remove_tree(order.path / _GIT, self._home) if order.path.is_dir() else None
        found: Capture | None = None
        if revision is None:
            found = self._store.capture(
                real_tree(order.location, frozenset({_GIT, *sandbox.excluded})), observer
            )
            self._store.restore(found.snapshot, _files(sandbox), observer)
            observer.progress(_MADE, 0, 3)
            with _time_kept(order.path):
                changed = making.copy()
        else:
            remove_tree(order.path, self._home)
            self._store.forget_tree(_files(sandbox))
            making.check_out(revision, self._commit_of(order.resource, repository, revision))
            changed = True
        observer.progress(_MADE, 1, 3)
        making.keep_borrowed()
        observer.progress(_MADE, 2, 3)
        making.begin()
        observer.progress(_MADE, 3, 3)
        if changed or found is None:
            found = _with_size_of(self._store.capture(_files(sandbox), observer), found)
        capture = _joined(found, self._store.capture(_git_directory(sandbox), observer))
        return replace(sandbox, base=capture.snapshot), capture

    def fork(self, order: SandboxOrder, parent: Sandbox, snapshot: Snapshot, observer: Observer) -> Sandbox:
        """Make a working copy of one of the parent's snapshots, with a repository and pins of its own."""
        bare = self._context.repositories.of(order.plan_id, order.resource.name)
        sandbox = replace(
            parent,
            plan_id=order.plan_id,
            resource=order.resource.name,
            path=str(order.path),
            base=snapshot,
            git_dir=str(bare.path),
        )
        self._restore(sandbox, snapshot, observer)
        origin = self._context.bare_of(parent)
        prefix = pins_of(order.plan_id, order.resource.name)
        make_fork(self._git, bare, prefix, order.path, (origin, Path(parent.path)))
        commits = self._commits(bare, sandbox)
        try:
            commits.start(snapshot, parent.base, origin.base())
        finally:
            commits.close()
        return sandbox

    @contextmanager
    def watch(self, sandbox: Sandbox, *, others_at_work: bool) -> Generator[None]:
        """Have looking at the working copy and its git directory, and committing, cost what changed."""
        with ExitStack() as watches:
            # A step is over when all its processes are: see the same place for folders.
            watches.enter_context(self._store.watch(_files(sandbox), others_at_work=others_at_work))
            watches.enter_context(self._store.watch(_git_directory(sandbox), others_at_work=others_at_work))
            self._watched.append(sandbox.path)
            try:
                yield
            finally:
                self._watched.remove(sandbox.path)
                if sandbox.path in self._open:
                    self._open.pop(sandbox.path).close()
                self._whole.forget(sandbox)

    def capture(self, sandbox: Sandbox, observer: Observer) -> Capture:
        """Store the working copy and its git directory durably."""
        self._must_exist(sandbox)
        files = self._store.capture(_files(sandbox), observer)
        if _is_replaced(sandbox):
            gone = Unheld(_GIT, "it is no longer a folder; a rollback removes it")
            return replace(files, unheld=(*files.unheld, gone))
        there = (Path(sandbox.path) / _GIT).exists()
        if not there:
            return files
        bare, tree = self._context.bare_of(sandbox), _git_directory(sandbox)
        lasting = sandbox.path in self._watched
        return _joined(files, self._whole.capture(sandbox, bare, tree, observer, lasting=lasting))

    def publish(self, sandbox: Sandbox, publication: Publication) -> str:
        """Commit the checkpoint's files; the commit is its name."""
        return Publishing(self._context, sandbox).mended(
            lambda: self._commit(sandbox, publication), lambda: self._lender(sandbox)
        )

    def republish(self, sandbox: Sandbox, publications: Sequence[Publication]) -> Mapping[CheckpointId, str]:
        """Make all commits again if one of them is lost."""
        publishing = Publishing(self._context, sandbox)
        return publishing.republish(publications, lambda: self._lender(sandbox), lambda _: None)

    def lacking(
        self, sandbox: Sandbox, snapshots: Iterable[Snapshot]
    ) -> Mapping[Snapshot, tuple[Damage, ...]]:
        """Give the objects that git directories need and that nothing holds any longer."""
        asked = [snapshot for snapshot in snapshots if len(snapshot.roots) > 1]
        roots = dict.fromkeys(snapshot.roots[1] for snapshot in asked)
        found = self._whole.lacking(self._context.bare_of(sandbox), roots, sandbox.location)
        return {each: found[each.roots[1]] for each in asked if each.roots[1] in found}

    def _commit(self, sandbox: Sandbox, publication: Publication) -> str:
        commits = self._open.pop(sandbox.path, None)
        if commits is not None and _is_replaced(sandbox):
            commits.close()
            commits = None
        if commits is None:
            commits = self._commits(self._context.bare_of(sandbox), sandbox)
        try:
            commit = commits.publish(publication)
            if sandbox.path in self._watched and not _is_replaced(sandbox):
                self._open[sandbox.path] = commits
            return commit
        finally:
            if sandbox.path not in self._open:
                commits.close()

    def retire(self, sandbox: Sandbox, kept: Collection[CheckpointId]) -> None:
        """Drop the commits of all checkpoints but those kept."""
        self._context.repositories.retire(sandbox, kept)

    def compare(
        self, sandbox: Sandbox, snapshot: Snapshot, leaving: frozenset[str] = frozenset()
    ) -> tuple[PathChange, ...]:
        """Return what a restore would do; touch nothing."""
        self._must_exist(sandbox)
        changes = [*self._store.compare(_only(snapshot, 0), replace(_files(sandbox), leaving=leaving))]
        if len(snapshot.roots) > 1:
            changes += _inside(self._store.compare(_only(snapshot, 1), _git_directory(sandbox)))
        elif _is_replaced(sandbox):
            changes.append(PathChange(_GIT, ChangeAction.REMOVED))
        return _sorted(changes)

    def trees(self, sandbox: Sandbox) -> tuple[WorkingTree, ...]:
        """The working copy's trees, and the real checkout's."""
        real = real_tree(Path(sandbox.location), frozenset({_GIT, *sandbox.excluded}))
        return (_files(sandbox), _git_directory(sandbox), real)

    def remove(self, sandbox: Sandbox) -> None:
        """Remove the working copy, its commits, and the pins in the user's repository; what is gone is fine."""
        self._context.repositories.release(sandbox)
        remove_tree(Path(sandbox.path), self._home)
        self._store.forget_tree(_files(sandbox))
        self._store.forget_tree(_git_directory(sandbox))

    def _restore(self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer) -> tuple[PathChange, ...]:
        self._whole.forget(sandbox)
        place = Path(sandbox.path) / _GIT
        if place.is_symlink() or place.is_file() or len(snapshot.roots) == 1:
            remove_tree(place, self._home)  # a restore works in folders
        changes = [*self._store.restore(_only(snapshot, 0), _files(sandbox), observer)]
        if len(snapshot.roots) > 1:
            with _time_kept(Path(sandbox.path)):
                changes += _inside(self._store.restore(_only(snapshot, 1), _git_directory(sandbox), observer))
        return _sorted(changes)

    def _making(self, order: SandboxOrder, repository: Repository) -> Making:
        bare = self._context.repositories.of(order.plan_id, order.resource.name)
        prefix = pins_of(order.plan_id, order.resource.name)
        return Making(self._git, bare, prefix, repository, order)

    def _repository(self, resource: Resource, location: Path) -> Repository:
        """The user's repository, or a refusal."""
        super().check(resource, location)
        return self._context.opened(resource.name, location)

    def _commit_of(self, resource: Resource, repository: Repository, revision: str) -> str:
        """The commit that `from:` names."""
        there = self._git.on(repository.top)
        asked = there.attempt("rev-parse", "--verify", "-q", "--end-of-options", f"{revision}^{{commit}}")
        if asked.returncode != 0:
            raise ResourceUnsuitable(
                resource=resource.name,
                path=str(repository.top),
                reason=f"it has no commit that {revision!r} names",
                hint="`git log --all` and `git tag` list what `from:` can name",
            )
        return asked.stdout.decode().strip()

    def _lender(self, sandbox: Sandbox) -> Repository:
        """The repository that a sandbox was made of."""
        return self._context.opened(sandbox.resource, Path(sandbox.location))

    def _commits(self, bare: BareRepository, sandbox: Sandbox) -> Commits:
        own = bare.path / "nothing" if _is_replaced(sandbox) else Path(sandbox.path) / _GIT
        return Commits(bare, sandbox, self._store, self._indexes, index=own / "index", rules=own / "info")


def _files(sandbox: Sandbox) -> WorkingTree:
    key = f"sandbox {sandbox.plan_id} {sandbox.resource}"
    return WorkingTree(
        path=Path(sandbox.path), cache_key=key, excluded=frozenset({_GIT, *sandbox.excluded}), real=False
    )


def _git_directory(sandbox: Sandbox) -> WorkingTree:
    key = f"git directory {sandbox.plan_id} {sandbox.resource}"
    place = Path(sandbox.path) / _GIT
    if _is_replaced(sandbox):
        place = Path(sandbox.path).with_name(f".no-{key.rpartition(' ')[2]}")  # as if there were none
    return WorkingTree(path=place, cache_key=key, excluded=frozenset(), real=False)


def _is_replaced(sandbox: Sandbox) -> bool:
    """Return whether there is something other than a folder in place of the git directory."""
    place = Path(sandbox.path) / _GIT
    return place.is_symlink() or (place.exists() and not place.is_dir())


@contextmanager
def _time_kept(folder: Path) -> Generator[None]:
    """Keep the mtime of the folder in which a git directory is made."""
    st = folder.stat()
    yield
    if folder.stat().st_mtime_ns != st.st_mtime_ns:
        os.utime(folder, ns=(st.st_atime_ns, st.st_mtime_ns))


def _only(snapshot: Snapshot, root: int) -> Snapshot:
    return Snapshot((snapshot.roots[root],))


def _inside(changes: tuple[PathChange, ...]) -> list[PathChange]:
    return [replace(change, path=os.path.normpath(f"{_GIT}/{change.path}")) for change in changes]


def _sorted(changes: list[PathChange]) -> tuple[PathChange, ...]:
    return tuple(sorted(changes, key=lambda change: os.fsencode(change.path)))


def _with_size_of(capture: Capture, before: Capture | None) -> Capture:
    return (
        replace(capture, size_bytes=capture.size_bytes + before.size_bytes) if before is not None else capture
    )


def _joined(files: Capture, git: Capture) -> Capture:
    """Both captures as one."""
    return Capture(
        snapshot=Snapshot((*files.snapshot.roots, *git.snapshot.roots)),
        size_bytes=files.size_bytes + git.size_bytes,
        files=files.files,
        unheld=(*files.unheld, *(Unheld(f"{_GIT}/{u.path}".rstrip("/"), u.reason) for u in git.unheld)),
    )
