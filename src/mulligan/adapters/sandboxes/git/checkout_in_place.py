"""Git checkouts in place: the real working tree, and the position in its git directory (HEAD, branch, index).

A snapshot has two roots: the files, and three small files for HEAD, the commit of the branch it names, and the
index. The rest of the git directory is the user's: commits, other branches, stashes, hooks and settings that a
plan makes stay after a rollback.
"""

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.folder.folder_copy import real_tree, with_ignore_file
from mulligan.adapters.sandboxes.folder.folder_in_place import InPlaceFolders
from mulligan.adapters.sandboxes.git.apply.checkout_apply import Applying, refuse_included
from mulligan.adapters.sandboxes.git.apply.not_carried import left_behind
from mulligan.adapters.sandboxes.git.apply.readiness import People, refuse_unready
from mulligan.adapters.sandboxes.git.apply.withdrawal import parent_to_return_to
from mulligan.adapters.sandboxes.git.checkout_copy import GitSandboxes
from mulligan.adapters.sandboxes.git.checkpoints.checkpoint_commits import Commits
from mulligan.adapters.sandboxes.git.checkpoints.publication import Publishing
from mulligan.adapters.sandboxes.git.creation.first_commit import commit_start
from mulligan.adapters.sandboxes.git.creation.sandbox_creation import Making
from mulligan.adapters.sandboxes.git.git_context import GitContext
from mulligan.adapters.sandboxes.git.position.index_contents import IndexContents
from mulligan.adapters.sandboxes.git.position.position import (
    BRANCHES,
    FILES_ALONE,
    STAGED,
    Position,
    Unstaged,
    commits_in,
    move_in_words,
    move_on,
    stamp,
    standing_in,
    standing_of,
)
from mulligan.adapters.sandboxes.git.position.position_diff import Standings, commits_lacking
from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import pins_of
from mulligan.adapters.sandboxes.git.repository.pins import pin_head, pin_known, pinned_trees
from mulligan.adapters.sandboxes.git.repository.stored_blobs import holding_blobs
from mulligan.adapters.sandboxes.git.repository.user_repository import (
    Repository,
    Unsuited,
    branch_named,
)
from mulligan.adapters.sandboxes.private_sandbox import work_folder
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.checkpoints.store_report import Capture, Damage, PathChange, Survey
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox
from mulligan.domain.text.ids import CheckpointId
from mulligan.domain.trees.tree_difference import StoredContent, changed_by_others
from mulligan.errors import Advice, ChangedMeanwhile, ResourceUnsuitable
from mulligan.ports import (
    ApplyOrder,
    Composed,
    Observer,
    Publication,
    SandboxOrder,
    Unobserved,
    WorkingTree,
)

_GIT = ".git"


class InPlaceCheckouts(InPlaceFolders):
    """Keeps and restores real checkouts."""

    type = ResourceType.GIT_CHECKOUT

    def __init__(self, context: GitContext) -> None:
        super().__init__(context.place)
        self._context = context
        self._git = context.git
        self._unstaged: set[Unstaged] = set()
        self._people: People = {}

    def check(self, resource: Resource, location: Path) -> None:
        super().check(resource, location)
        self._context.checked(resource.name, location)

    def survey(self, order: SandboxOrder, observer: Observer) -> Survey:
        order = with_ignore_file(order)
        return self._store.survey(
            real_tree(order.location, order.excluded | {_GIT}, order.patterns), observer
        )

    def create(self, order: SandboxOrder, observer: Observer) -> tuple[Sandbox, Capture]:
        """Keep what the checkout is now, and make the repository of its checkpoints; nothing is copied."""
        order = with_ignore_file(order)
        repository = self._context.opened(order.resource.name, order.path)
        bare = self._context.repositories.of(order.plan_id, order.resource.name)
        sandbox = replace(
            self._sandbox(order, Snapshot(())),
            excluded=tuple(sorted(Making(self._context, repository, order).left_out())),
            branch=repository.branch,
            git_dir=str(bare.path),
        )
        prefix = pins_of(order.plan_id, order.resource.name)
        bare.make(repository, filters=False)
        bare.note_pins(repository, prefix, (repository.git_dir,))
        capture = self.capture(sandbox, observer)
        borrowed = pinned_trees(self._git, repository.git_dir, prefix)
        index = repository.git_dir / "index"
        commit_start(bare, repository, repository.top, index, borrowed, sandbox.patterns)
        return replace(sandbox, base=capture.snapshot), capture

    def fork(self, order: SandboxOrder, parent: Sandbox, snapshot: Snapshot, observer: Observer) -> Sandbox:
        return GitSandboxes(self._context).fork_in_place(order, parent, snapshot, observer)

    def capture(self, sandbox: Sandbox, observer: Observer, *, at_work: bool = False) -> Capture:
        files = super().capture(sandbox, observer, at_work=at_work)
        # A pin keeps what it names from any prune. Without the repository no checkpoint needs it, and nobody
        # would remove it.
        if self._context.bare_of(sandbox).is_there:
            pins = pins_of(sandbox.plan_id, sandbox.resource)
            pin_head(self._git, self._repository_of(sandbox), pins)
        with self._position(sandbox) as (staged, _):
            standing = self._store.capture(staged, observer)
        return replace(
            files,
            snapshot=Snapshot((*files.snapshot.roots, *standing.snapshot.roots)),
            size_bytes=files.size_bytes + standing.size_bytes,
        )

    def publish(self, sandbox: Sandbox, publication: Publication) -> str:
        """Commit the checkpoint's files in a repository of the plan's own; the commit is its name."""
        repository, bare = self._repository_of(sandbox), self._context.bare_of(sandbox)
        indexes, index, rules = IndexContents(self._store), repository.git_dir / "index", _rules(repository)

        def commit() -> str:
            with closing(Commits(bare, sandbox, self._store, indexes, index=index, rules=rules)) as commits:
                return commits.publish(publication)

        return Publishing(self._context, sandbox, lambda: repository).publish(commit)

    def republish(self, sandbox: Sandbox, publications: Sequence[Publication]) -> Mapping[CheckpointId, str]:
        publishing = Publishing(self._context, sandbox, lambda: self._repository_of(sandbox))
        return publishing.republish(publications, _rules)

    def branch_of(self, real: Sandbox) -> str | None:
        return self._repository_of(real).branch

    def branch_in(self, snapshot: Snapshot) -> str | None:
        head = self._store.item(snapshot.roots[1], "HEAD")
        content = head.content if head is not None else None
        assert content is not None, "every position has one"
        return branch_named(self._store.read(content).decode("utf-8", "surrogateescape"))

    def move_between(self, one: Snapshot, other: Snapshot) -> str:
        return move_in_words(self._standing_in(one), self._standing_in(other))

    def _standing_in(self, snapshot: Snapshot) -> tuple[str | None, str | None]:
        found = (self._store.item(snapshot.roots[1], name) for name in ("HEAD", "branch"))
        texts = [
            self._store.read(item.content).decode("utf-8", "surrogateescape") if item and item.content else ""
            for item in found
        ]
        return standing_of(*texts)

    def lacking(
        self, sandbox: Sandbox, snapshots: Iterable[Snapshot]
    ) -> Mapping[Snapshot, tuple[Damage, ...]]:
        asked = [snapshot for snapshot in snapshots if len(snapshot.roots) > 1]
        found = self._context.found(Path(sandbox.path))
        if isinstance(found, Unsuited):
            return dict.fromkeys(asked, (Damage(sandbox.path, found.reason),))
        return commits_lacking(self._git, self._store, found, asked)

    def holding(
        self, snapshots: Iterable[Snapshot], contents: Iterable[StoredContent]
    ) -> tuple[Snapshot, ...]:
        return holding_blobs(self._store, snapshots, contents)

    def pin_again(self, sandbox: Sandbox, snapshots: Iterable[Snapshot]) -> None:
        """Pin the commits that positions name, where the repository of checkpoints knows the checkout."""
        if not Path(sandbox.path).is_dir():
            return  # the project came without its checkout
        found, bare = self._context.found(Path(sandbox.path)), self._context.bare_of(sandbox)
        if isinstance(found, Unsuited) or str(found.git_dir) not in bare.known_lenders():
            return
        names: set[str] = set()
        with self._place.workshop(sandbox.plan_id, sandbox.resource) as shop:
            roots = dict.fromkeys(snapshot.roots[1] for snapshot in snapshots if len(snapshot.roots) > 1)
            for number, root in enumerate(roots):
                tree = work_folder(shop, f"position-{number}")
                self._store.restore(Snapshot((root,)), tree, Unobserved())
                names |= commits_in(tree.path)
                self._store.forget_tree(tree)
        pin_known(self._git, found.git_dir, pins_of(sandbox.plan_id, sandbox.resource), names)

    def retire(self, sandbox: Sandbox, kept: Collection[CheckpointId]) -> None:
        self._context.repositories.retire(sandbox, kept)

    def compare(
        self, sandbox: Sandbox, snapshot: Snapshot, leaving: frozenset[str] = frozenset()
    ) -> tuple[PathChange, ...]:
        changes = super().compare(sandbox, Snapshot(snapshot.roots[:1]), leaving)
        with self._position(sandbox) as (staged, position):
            moved = self._store.compare(wanted := Snapshot(snapshot.roots[1:]), staged)
            about = ""
            if moved:
                present = standing_in(staged.path)
                self._store.restore(wanted, staged, Unobserved())
                about = move_in_words(present, standing_in(staged.path))
                position.require(staged.path)
        return (*_inside(moved, about), *changes)

    def changed_by_others(
        self, sandbox: Sandbox, target: Snapshot, before: Snapshot, observer: Observer
    ) -> tuple[str, ...]:
        """The paths that hold what is of neither, and HEAD, its branch or the index."""
        present = self.capture(sandbox, observer).snapshot
        files = changed_by_others(
            *(self._store.difference(present.roots[0], s.roots[0]) for s in (target, before))
        )
        with self._standings(sandbox) as (standings, _):
            moved = standings.of_neither(present.roots[1], target.roots[1], before.roots[1])
        return (*(f"{sandbox.path}/{path}" for path in files), *_in_git(sandbox, moved))

    def moved(self, real: Sandbox, one: Snapshot, other: Snapshot) -> tuple[str, ...]:
        with self._standings(real) as (standings, _):
            return _in_git(real, standings.apart(one.roots[1], other.roots[1]))

    def taken_back(
        self, real: Sandbox, present: Snapshot, written: Snapshot, before: Snapshot
    ) -> tuple[tuple[Root, ...], tuple[str, ...]]:
        """Return the earlier position; what others moved or staged meanwhile stays."""
        with self._standings(real) as (standings, shop):
            roots = (present.roots[1], written.roots[1], before.roots[1])
            root, left = standings.taken_back(*roots, work_folder(shop, "position"))
        return (root,), _in_git(real, left)

    def committed(self, real: Sandbox, before: Snapshot, after: Snapshot) -> Collection[str] | None:
        with self._standings(real) as (standings, _):
            return standings.committed(before.roots[1], after.roots[1])

    def restore(
        self,
        sandbox: Sandbox,
        snapshot: Snapshot,
        observer: Observer,
        known: Snapshot | None = None,
        *,
        spare: bool = False,
    ) -> tuple[PathChange, ...]:
        with self._position(sandbox) as (staged, position):  # first: what others move from now on is theirs
            files = None
            if known is not None:
                files = Snapshot(known.roots[:1])
                self._refuse_moved(sandbox, staged, snapshot.roots[1], known.roots[1])
            changes = super().restore(sandbox, Snapshot(snapshot.roots[:1]), observer, files, spare=spare)
            present = standing_in(staged.path)
            moved = self._store.restore(Snapshot(snapshot.roots[1:]), staged, observer)
            about = move_in_words(present, standing_in(staged.path))
            if moved:
                position.put_back(staged.path)
        return (*_inside(moved, about), *changes)

    def _refuse_moved(self, sandbox: Sandbox, position: WorkingTree, target: Root, known: Root) -> None:
        """Refuse a checkout whose position is neither the known one nor on the way to the target."""
        (present,) = self._store.capture(position, Unobserved()).snapshot.roots
        if present.id in (known.id, target.id):
            return
        standings = self._comparison(sandbox, position.path.parent)
        if moved := standings.of_neither(present, target, known):
            raise ChangedMeanwhile(plan_id=sandbox.plan_id, paths=", ".join(_in_git(sandbox, moved)))

    def refuse_apply(self, real: Sandbox, *, commit: bool) -> None:
        refuse_unready(self._git, self._repository_of(real), self._people, commit=commit)

    def compose(self, order: ApplyOrder) -> Composed:
        """The merged files and, on top of the commit that is checked out, one that holds what the plan changed.

        The commit is in the repository already, with no ref: restoring the snapshot moves the branch to it.
        """
        refuse_included(order.included)
        repository = self._repository_of(order.real)
        there = self._git.on(repository.git_dir, GIT_DIR=repository.git_dir)
        if order.withdraws is not None and (back := self._withdrawn(order, repository)) is not None:
            return back
        left = left_behind(self._store, order, there)
        if order.message is None:
            return replace(super().compose(order), notes=left.notes, combined=left.commits)
        with self._place.workshop(order.real.plan_id, order.real.resource) as shop:
            position = work_folder(shop, "position")
            self._store.restore(Snapshot(order.ours.roots[1:]), position, Unobserved())
            _, head = standing_in(position.path)
            applying = Applying(self._git, repository, self._store, order, shop, self._people)
            applied = applying.carry_out(head, position.path / "index", order.message)
            roots = order.ours.roots[1:]
            if applied.commit is not None or applied.staged:
                if applied.commit is not None:
                    move_on(position.path, applied.commit)
                stamp(position.path)
                roots = self._store.capture(position, Unobserved()).snapshot.roots
            self._store.forget_tree(position)
        return Composed(
            snapshot=Snapshot((order.files, *roots)),
            commit=applied.commit,
            uncommitted=applied.uncommitted,
            notes=left.notes,
            branch=repository.branch if applied.commit is not None else None,
            committed=applied.committed,
            combined=left.commits,
        )

    def _withdrawn(self, order: ApplyOrder, repository: Repository) -> Composed | None:
        """Return the checkout without the commit of an apply, its branch and index as before.

        None: only a commit that reverts it is safe. What the user staged since stays staged.
        """
        present, written, before = (side.roots[1] for side in (order.ours, order.base, order.theirs))
        with self._standings(order.real) as (standings, shop):
            if {"HEAD", "branch"}.intersection(standings.apart(present, written)):
                return None  # others committed since, or switched
            parent = parent_to_return_to(self._git, repository, order.withdraws or "")
            root, left = standings.taken_back(present, written, before, work_folder(shop, "position"))
        if parent is None or left:
            return None
        return Composed(
            snapshot=Snapshot((order.files, root)),
            commit=None,
            uncommitted=(),
            notes=(),
            branch=repository.branch,
            moved_back=parent,
        )

    def remove(self, sandbox: Sandbox) -> None:
        self._context.repositories.release(sandbox)

    def _tree(self, sandbox: Sandbox) -> WorkingTree:
        return real_tree(Path(sandbox.path), frozenset({_GIT, *sandbox.excluded}), sandbox.patterns)

    @contextmanager
    def _position(self, sandbox: Sandbox) -> Generator[tuple[WorkingTree, Position]]:
        """Return the current position as a folder that the store can capture."""
        with self._place.workshop(sandbox.plan_id, sandbox.resource) as shop:
            tree = work_folder(shop, "position")
            position = Position(self._git, self._repository_of(sandbox), sandbox.plan_id, self._unstaged)
            position.write_down(tree.path)
            try:
                yield tree, position
            finally:
                self._store.forget_tree(tree)

    @contextmanager
    def _standings(self, sandbox: Sandbox) -> Generator[tuple[Standings, Path]]:
        """Yield the comparison of stored positions, and the folder that it works in."""
        with self._place.workshop(sandbox.plan_id, sandbox.resource) as shop:
            yield self._comparison(sandbox, shop), shop

    def _comparison(self, sandbox: Sandbox, shop: Path) -> Standings:
        repository = self._repository_of(sandbox)
        return Standings(repository.through(self._git), repository.null_id, self._store, shop)

    def _repository_of(self, sandbox: Sandbox) -> Repository:
        """The user's repository. What a plan does to it is the plan's: there is no way back for one that is gone."""
        found = self._context.found(Path(sandbox.path))
        if isinstance(found, Unsuited) and found.lost:
            head = f"; where HEAD alone is damaged, write `ref: refs/heads/{sandbox.branch}` into it"
            raise ResourceUnsuitable(
                resource=sandbox.resource,
                path=sandbox.path,
                reason=f"{found.reason}; a checkpoint of a git directory holds only HEAD, branch and index",
                hint=Advice(
                    "put the git directory back, from a backup or a clone, then try again"
                    f"{head if sandbox.branch else ''}; ",
                    FILES_ALONE,
                ),
            )
        if isinstance(found, Unsuited):
            return self._context.opened(sandbox.resource, Path(sandbox.path))
        return found


def _rules(repository: Repository) -> Path:
    """Return the files with the user's ignore and filter rules outside of the working tree."""
    return repository.common_dir / "info"


def _in_git(sandbox: Sandbox, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{sandbox.path}/{_GIT}/{name}" for name in names)


def _inside(changes: tuple[PathChange, ...], about: str) -> tuple[PathChange, ...]:
    """Return the parts of the git directory that are put back, without those of other branches."""
    shown = (change for change in changes if change.path not in (".", BRANCHES, STAGED))
    return tuple(
        replace(change, path=f"{_GIT}/{change.path}", about="" if change.path == "index" else about)
        for change in shown
    )
