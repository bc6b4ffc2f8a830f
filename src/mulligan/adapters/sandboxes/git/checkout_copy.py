"""Sandboxes of git checkouts: a working tree that looks as the user's does, with a git directory of its own."""

import os
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.folder.folder_copy import (
    DirectorySandboxes,
    real_tree,
    real_tree_of,
    with_ignore_file,
)
from mulligan.adapters.sandboxes.git.checkpoints.checkpoint_commits import Commits
from mulligan.adapters.sandboxes.git.checkpoints.publication import Publishing
from mulligan.adapters.sandboxes.git.checkpoints.whole_capture import WholeCaptures
from mulligan.adapters.sandboxes.git.creation.private_git_dir import PrivateCopies, inner_repositories
from mulligan.adapters.sandboxes.git.creation.sandbox_creation import (
    Making,
    borrow_again,
    make_fork,
    make_fork_again,
)
from mulligan.adapters.sandboxes.git.git_context import GitContext
from mulligan.adapters.sandboxes.git.places.lenders import ALTERNATES, lent_to
from mulligan.adapters.sandboxes.git.places.moved_places import follow_in
from mulligan.adapters.sandboxes.git.position.index_contents import IndexContents
from mulligan.adapters.sandboxes.git.position.position import Position
from mulligan.adapters.sandboxes.git.repository.borrowed_objects import git_dirs_in
from mulligan.adapters.sandboxes.git.repository.ref_locks import common_dir_in
from mulligan.adapters.sandboxes.git.repository.stored_blobs import holding_blobs
from mulligan.adapters.sandboxes.git.repository.user_repository import (
    Repository,
    branch_named,
    with_alternates,
)
from mulligan.adapters.sandboxes.private_sandbox import work_folder
from mulligan.adapters.sandboxes.removal import remove_tree
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Capture, ChangeAction, Damage, PathChange, Survey, Unheld
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import CheckpointId
from mulligan.domain.trees.tree_difference import StoredContent
from mulligan.errors import ResourceUnsuitable, TreeUnsteady
from mulligan.ports import Observer, Publication, SandboxOrder, Unobserved, WorkingTree

_GIT = ".git"
_MADE = "parts of the git directory made"
_TRIES = 5  # to read a git directory that commands are writing to


class GitSandboxes(DirectorySandboxes):
    """Makes working copies of git checkouts; a snapshot has two roots, the files and the git directory."""

    type = ResourceType.GIT_CHECKOUT
    strategy = Strategy.GIT_WORKTREE

    def __init__(self, context: GitContext) -> None:
        super().__init__(context.place)
        self._context = context
        self._git = context.git
        self._watched: list[str] = []  # paths of sandboxes
        self._open: dict[str, Commits] = {}  # by the path of the sandbox, while it is watched
        self._indexes = IndexContents(self._store)
        self._whole = WholeCaptures(self._git, self._store, self._indexes)

    def check(self, resource: Resource, location: Path) -> None:
        super().check(resource, location)
        repository = self._context.checked(resource.name, location)
        if resource.from_revision is not None:
            self._commit_of(resource, repository, resource.from_revision)

    def survey(self, order: SandboxOrder, observer: Observer) -> Survey:
        repository = self._repository(order.resource, order.location)
        making = Making(self._context, repository, order)
        if order.resource.from_revision is not None:
            return making.survey_of(self._commit_of(order.resource, repository, order.resource.from_revision))
        patterns = with_ignore_file(order).patterns
        return self._store.survey(real_tree(order.location, making.left_out() | {_GIT}, patterns), observer)

    def create(self, order: SandboxOrder, observer: Observer) -> tuple[Sandbox, Capture]:
        order = with_ignore_file(order)
        repository = self._repository(order.resource, order.location)
        making = Making(self._context, repository, order)
        revision = order.resource.from_revision
        sandbox = replace(
            self._sandbox(order, Snapshot(())),
            excluded=tuple(sorted(making.left_out())),
            branch=repository.branch if revision is None else making.branch_named(revision),
            git_dir=str(making.bare.path),
        )
        if order.path.is_dir():
            remove_tree(order.path / _GIT, self._home)
        found: Capture | None = None
        if revision is None:
            real = real_tree_of(sandbox, _GIT)
            found = self._store.capture(real, observer)
            self._fill(sandbox, found.snapshot, real, observer)
            unread = self._copy_excluded(real.path, sandbox)  # before inner repositories get git directories
            found = replace(found, unheld=(*found.unheld, *unread))
            observer.progress(_MADE, 0, 3)
            # What is excluded is in no capture.
            inner = inner_repositories(order.path) if order.patterns else self._store.folders_with(real, _GIT)
            with _time_kept(order.path):
                changed = making.copy(inner)
        else:
            remove_tree(order.path, self._home)
            self._store.forget_tree(self._tree(sandbox))
            making.check_out(revision, self._commit_of(order.resource, repository, revision))
            changed = True
        observer.progress(_MADE, 1, 3)
        making.keep_borrowed()
        observer.progress(_MADE, 2, 3)
        making.begin()
        observer.progress(_MADE, 3, 3)
        if changed or found is None:
            again = self._store.capture(self._tree(sandbox), observer)
            found = replace(again, size_bytes=again.size_bytes + (found.size_bytes if found else 0))
        capture = _joined(found, self._store.capture(_git_directory(sandbox), observer))
        return replace(sandbox, base=capture.snapshot), capture

    def fork(self, order: SandboxOrder, parent: Sandbox, snapshot: Snapshot, observer: Observer) -> Sandbox:
        """Make a working copy of one of the parent's snapshots, with a repository and pins of its own."""
        sandbox = replace(
            parent,
            plan_id=order.plan_id,
            resource=order.resource.name,
            path=str(order.path),
            base=snapshot,
            git_dir=str(self._context.repositories.of(order.plan_id, order.resource.name).path),
        )
        self._clear_for(sandbox, snapshot)
        self._fill(sandbox, _only(snapshot, 0), self._tree(parent), observer)
        self._restore_git_directory(sandbox, snapshot, observer)
        self._copy_excluded(Path(parent.path), sandbox)
        if not self._context.bare_of(parent).is_there:  # an apply removed it, with the parent's sandbox
            self._copy_excluded(Path(sandbox.location), sandbox)
            make_fork_again(self._context, sandbox, parent)
            return sandbox
        make_fork(self._context, order, parent)
        with closing(self._commits(sandbox)) as commits:
            commits.start(snapshot, parent.base, self._context.bare_of(parent).base())
        return sandbox

    def fork_in_place(
        self, order: SandboxOrder, real: Sandbox, snapshot: Snapshot, observer: Observer
    ) -> Sandbox:
        """Make a working copy of a snapshot of a real checkout: its files, and its HEAD, branch and index.

        The rest of the git directory is as it is now: a snapshot of a real checkout does not hold it.
        """
        order = replace(order, patterns=real.patterns)
        making = Making(self._context, self._repository(order.resource, order.location), order)
        branch, head = None, self._store.item(snapshot.roots[1], "HEAD")
        if head is not None and head.content is not None:
            branch = branch_named(self._store.read(head.content).decode("utf-8", "surrogateescape"))
        sandbox = replace(
            self._sandbox(order, Snapshot(())),
            excluded=real.excluded,
            branch=branch,
            git_dir=str(making.bare.path),
        )
        if order.path.is_dir():
            remove_tree(order.path / _GIT, self._home)
        self._fill(sandbox, _only(snapshot, 0), real_tree_of(sandbox, _GIT), observer)
        self._copy_excluded(Path(real.path), sandbox)
        with _time_kept(order.path):
            making.copy(inner_repositories(order.path))
            self._put_position(sandbox, _only(snapshot, 1))
        making.keep_borrowed()
        making.begin()
        found = self._store.capture(self._tree(sandbox), observer)
        whole = _joined(found, self._store.capture(_git_directory(sandbox), observer))
        return replace(sandbox, base=whole.snapshot)

    def _put_position(self, sandbox: Sandbox, position: Snapshot) -> None:
        """Let the private git directory have the HEAD, branch and index of a real one."""
        repository = self._context.opened(sandbox.resource, Path(sandbox.path))
        there = Position(self._git, repository, sandbox.plan_id, set())
        with self._place.workshop(sandbox.plan_id, sandbox.resource) as shop:
            tree = work_folder(shop, "position")
            there.write_down(tree.path)
            self._store.restore(position, tree, Unobserved())
            there.put_back(tree.path)
            self._store.forget_tree(tree)

    def fill(self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer) -> None:
        self._fill(sandbox, _only(snapshot, 0), real_tree_of(sandbox, _GIT), observer)
        self._restore_git_directory(sandbox, snapshot, observer)

    def give_git_directory(self, sandbox: Sandbox) -> None:
        top = Path(sandbox.path)
        repository = self._context.opened(sandbox.resource, Path(sandbox.location))
        copies = PrivateCopies(self._git, repository.top, top, self._place.project_home)
        with _time_kept(top):
            copies.make(repository, top / _GIT, top)

    @contextmanager
    def watch(self, sandbox: Sandbox, *, others_at_work: bool) -> Generator[None]:
        """Have looking at the working copy and its git directory, and committing, cost what changed."""
        with (
            super().watch(sandbox, others_at_work=others_at_work),
            self._store.watch(_git_directory(sandbox), others_at_work=others_at_work),
        ):
            self._watched.append(sandbox.path)
            try:
                yield
            finally:
                self._watched.remove(sandbox.path)
                if sandbox.path in self._open:
                    self._open.pop(sandbox.path).close()
                self._whole.forget(sandbox)

    def lenders(self, sandbox: Sandbox) -> Sequence[tuple[str, str]]:
        if _is_replaced(sandbox):
            return ()
        top, known = Path(sandbox.path), self._context.repositories.lenders_of(sandbox)
        lending = [
            folder for each in known for folder in with_alternates(common_dir_in(each) / "objects", depth=0)
        ]
        return lent_to(top, git_dirs_in(top / _GIT), lending, self._place.project_home)

    def unseen(self, sandbox: Sandbox) -> str:
        return super().unseen(sandbox) or self._store.unseen(_git_directory(sandbox))

    def stirred(self, sandbox: Sandbox) -> bool:
        in_files = super().stirred(sandbox)  # both are asked: each forgets what it answered
        return self._store.stirred(_git_directory(sandbox)) or in_files

    def capture(self, sandbox: Sandbox, observer: Observer, *, at_work: bool = False) -> Capture:
        self._must_exist(sandbox)
        files = self._store.capture(self._tree(sandbox), observer, at_work=at_work)
        if _is_replaced(sandbox):
            gone = Unheld(_GIT, "it is no longer a folder; a rollback removes it")
            return replace(files, unheld=(*files.unheld, gone))
        if not (Path(sandbox.path) / _GIT).exists():
            return files
        bare, tree = self._context.bare_of(sandbox), _git_directory(sandbox)
        lasting = sandbox.path in self._watched
        whole = self._whole.capture(sandbox, bare, tree, observer, lasting=lasting)
        for _ in range(_TRIES if at_work else 0):
            # Twice the same, or a branch may name what was written after the folders of objects were read.
            before, whole = whole, self._whole.capture(sandbox, bare, tree, observer, lasting=lasting)
            whole = replace(whole, size_bytes=before.size_bytes + whole.size_bytes)
            if whole.snapshot == before.snapshot:
                return _joined(files, whole)
        if at_work:
            raise TreeUnsteady(path=_GIT)
        return _joined(files, whole)

    def publish(self, sandbox: Sandbox, publication: Publication) -> str:
        return self._publishing(sandbox).publish(lambda: self._commit(sandbox, publication))

    def republish(self, sandbox: Sandbox, publications: Sequence[Publication]) -> Mapping[CheckpointId, str]:
        return self._publishing(sandbox).republish(publications, lambda _: None)

    def borrow_again(self, sandbox: Sandbox) -> None:
        repository = self._context.opened(sandbox.resource, Path(sandbox.location))
        borrow_again(self._context, repository, sandbox)

    def _publishing(self, sandbox: Sandbox) -> Publishing:
        location = Path(sandbox.location)
        return Publishing(self._context, sandbox, lambda: self._context.opened(sandbox.resource, location))

    def lacking(
        self, sandbox: Sandbox, snapshots: Iterable[Snapshot]
    ) -> Mapping[Snapshot, tuple[Damage, ...]]:
        """Return the objects that git directories need and that nothing holds any longer."""
        asked = [snapshot for snapshot in snapshots if len(snapshot.roots) > 1]
        roots = dict.fromkeys(snapshot.roots[1] for snapshot in asked)
        found = self._whole.lacking(self._context.bare_of(sandbox), roots, sandbox.location)
        return {each: found[each.roots[1]] for each in asked if each.roots[1] in found}

    def _commit(self, sandbox: Sandbox, publication: Publication) -> str:
        commits = self._open.pop(sandbox.path, None)
        if commits is not None and _is_replaced(sandbox):
            commits.close()
            commits = None
        commits = commits or self._commits(sandbox)
        try:
            commit = commits.publish(publication)
            if sandbox.path in self._watched and not _is_replaced(sandbox):
                self._open[sandbox.path] = commits
            return commit
        finally:
            if sandbox.path not in self._open:
                commits.close()

    def holding(
        self, snapshots: Iterable[Snapshot], contents: Iterable[StoredContent]
    ) -> tuple[Snapshot, ...]:
        return holding_blobs(self._store, snapshots, contents)

    def retire(self, sandbox: Sandbox, kept: Collection[CheckpointId]) -> None:
        self._context.repositories.retire(sandbox, kept)

    def compare(
        self, sandbox: Sandbox, snapshot: Snapshot, leaving: frozenset[str] = frozenset()
    ) -> tuple[PathChange, ...]:
        self._must_exist(sandbox)
        changes = [*self._store.compare(_only(snapshot, 0), replace(self._tree(sandbox), leaving=leaving))]
        if len(snapshot.roots) > 1:
            found = _inside(self._store.compare(_only(snapshot, 1), _git_directory(sandbox)))
            changes += [each for each in found if not self._has_followed(each)]
        elif _is_replaced(sandbox):
            changes.append(PathChange(_GIT, ChangeAction.REMOVED))
        return _sorted(changes)

    def _has_followed(self, change: PathChange) -> bool:
        """Return whether a file differs because it followed a project that was moved."""
        return bool(self._context.moves) and change.path.endswith(f"/{ALTERNATES}")

    def trees(self, sandbox: Sandbox) -> tuple[WorkingTree, ...]:
        return (self._tree(sandbox), _git_directory(sandbox), real_tree_of(sandbox, _GIT))

    def park(self, sandbox: Sandbox, *, room: int = 0) -> None:
        self._context.repositories.release(sandbox)
        super().park(sandbox, room=room)
        self._store.forget_tree(_git_directory(sandbox))

    def remove(self, sandbox: Sandbox) -> None:
        """Remove the working copy, its commits, and the pins in the user's repository; what is gone is fine."""
        self._context.repositories.release(sandbox)
        remove_tree(Path(sandbox.path), self._home)
        self._store.forget_tree(self._tree(sandbox))
        self._store.forget_tree(_git_directory(sandbox))

    def restore(
        self,
        sandbox: Sandbox,
        snapshot: Snapshot,
        observer: Observer,
        known: Snapshot | None = None,
        *,
        spare: bool = False,
    ) -> tuple[PathChange, ...]:
        self._must_exist(sandbox)
        return self._restore(sandbox, snapshot, observer)

    def _restore(self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer) -> tuple[PathChange, ...]:
        self._clear_for(sandbox, snapshot)
        changes = self._store.restore(_only(snapshot, 0), self._tree(sandbox), observer)
        return _sorted([*changes, *self._restore_git_directory(sandbox, snapshot, observer)])

    def _clear_for(self, sandbox: Sandbox, snapshot: Snapshot) -> None:
        """Remove what is in the place of a git directory and not a folder: a restore works in folders."""
        self._whole.forget(sandbox)
        place = Path(sandbox.path) / _GIT
        if place.is_symlink() or place.is_file() or len(snapshot.roots) == 1:
            remove_tree(place, self._home)

    def _restore_git_directory(
        self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer
    ) -> Sequence[PathChange]:
        if len(snapshot.roots) == 1:
            return ()
        with _time_kept(Path(sandbox.path)):
            changes = self._store.restore(_only(snapshot, 1), _git_directory(sandbox), observer)
            follow_in(Path(sandbox.path) / _GIT, self._context.moves)
        return [each for each in _inside(changes) if not self._has_followed(each)]

    def _repository(self, resource: Resource, location: Path) -> Repository:
        super().check(resource, location)
        return self._context.opened(resource.name, location)

    def _commit_of(self, resource: Resource, repository: Repository, revision: str) -> str:
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

    def _commits(self, sandbox: Sandbox) -> Commits:
        bare = self._context.bare_of(sandbox)
        own = bare.path / "nothing" if _is_replaced(sandbox) else Path(sandbox.path) / _GIT
        return Commits(bare, sandbox, self._store, self._indexes, index=own / "index", rules=own / "info")

    def _tree(self, sandbox: Sandbox) -> WorkingTree:
        return replace(super()._tree(sandbox), excluded=frozenset({_GIT, *sandbox.excluded}))


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


def _joined(files: Capture, git: Capture) -> Capture:
    return Capture(
        snapshot=Snapshot((*files.snapshot.roots, *git.snapshot.roots)),
        size_bytes=files.size_bytes + git.size_bytes,
        files=files.files,
        unheld=(*files.unheld, *(Unheld(f"{_GIT}/{u.path}".rstrip("/"), u.reason) for u in git.unheld)),
        busy=(*files.busy, *(f"{_GIT}/{path}" for path in git.busy)),
    )
