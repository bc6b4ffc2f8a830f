"""Bytes: the snapshot store, and the sandboxes that are captured into it and restored from it."""

# pyright: reportReturnType=none
# (a method of a protocol has no body)
from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from mulligan.domain.checkpoints.checkpoint import Checkpoint
    from mulligan.domain.checkpoints.snapshot import Root, Snapshot
    from mulligan.domain.checkpoints.store_report import Capture, Damage, Leftovers, PathChange, Survey, Swept
    from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Strategy
    from mulligan.domain.text.ids import CheckpointId, PlanId
    from mulligan.domain.trees.tree_difference import StoredContent, TreeDifference, TreeEntry, TreeItem
    from mulligan.ports.apply_order import ApplyOrder, Composed
    from mulligan.ports.world import Observer


class WorkingTree(Struct, frozen=True, kw_only=True):
    """A folder to capture or restore."""

    path: Path
    cache_key: str  # names the stat cache of this tree; one tree, one key
    excluded: frozenset[str]  # paths inside it, relative, that are neither captured nor touched
    patterns: tuple[str, ...] = ()  # of further such paths, as in .gitignore
    real: bool  # a user's own: what a restore writes there is durable before it replaces anything
    leaving: frozenset[str] = frozenset()  # excluded paths that will be gone by the time of a restore
    only: tuple[str, ...] = ()  # paths that a restore may touch, with what is below them; empty: all of it


class SandboxOrder(Struct, frozen=True, kw_only=True):
    """A sandbox that is to be made: of what, and where."""

    plan_id: PlanId
    resource: Resource
    location: Path  # of the real thing
    path: Path  # path of the working copy
    excluded: frozenset[str]  # paths inside it, relative, that belong to other resources of the plan
    include_ignored: bool  # git-checkout only: copy what git ignores too
    patterns: tuple[str, ...] = ()  # of paths, as in .gitignore, that are copied but belong to no snapshot


class Replacement(Struct, frozen=True, kw_only=True):
    """A file of a user's folder that is replaced by another one, or removed."""

    name: str
    new: Path | None  # what comes under that name, a file or symlink of ours; it is used up
    found: os.stat_result | None  # what may be taken out; None: the name is free


class Publication(Struct, frozen=True, kw_only=True):
    """A checkpoint of one sandbox that other programs are to find, and when it was taken."""

    checkpoint: Checkpoint  # without a `sandbox_ref`, where it was never published
    after: Checkpoint | None  # the checkpoint that it follows
    at: datetime


class StoredTrees(Protocol):
    """Reads what is stored; all that screens and comparisons need."""

    def hold(self) -> AbstractContextManager[None]:
        """Keep the sweep from deleting anything meanwhile.

        What is found inside stays until it is read, and what is captured until its rows are committed.
        """

    def difference(self, old: Root, new: Root, within: Sequence[str] = ()) -> tuple[TreeDifference, ...]:
        """Return the differences of two trees, path by path, sorted by bytes; equal folders are not opened.

        A folder is listed if it is new, gone, changed itself, or became empty or stopped being so; differences
        below it are listed separately. mtimes do not count. With `within` only those of these paths, of what is below
        them, and of the folders around them are returned, and no other folders are opened.
        """

    def read(self, content: StoredContent) -> bytes:
        """The bytes of a file that a difference named, verified; SnapshotDamaged where they are not there."""

    def pieces(self, content: StoredContent) -> Iterator[bytes]:
        """Yield the bytes of such a file in pieces of bounded size, each verified."""

    def item(self, root: Root, path: str) -> TreeEntry | None:
        """Return what a tree has at a path ("." for the tree itself) or None; only folders on the way are read."""

    def items(self, root: Root, path: str, *, recursive: bool) -> Sequence[TreeItem]:
        """Return what a folder of a tree holds, in the order of names, with all below it if `recursive`."""

    def head(self, content: StoredContent, length: int) -> bytes:
        """The first bytes of such a file; costs as much as one piece of it."""


class SnapshotStore(StoredTrees, Protocol):
    """Keeps trees of files by content, durably."""

    def watch(self, tree: WorkingTree, *, others_at_work: bool) -> AbstractContextManager[None]:
        """While it is open, looking at this tree costs what changed; in any doubt all of it is scanned.

        Nothing is touched yet: the watch is set up by the first look, before its scan. With `others_at_work`
        processes that nobody ends may be writing: what they have mapped to write is read every time.
        """

    def at_work_briefly(self) -> AbstractContextManager[None]:
        """While it is open, a tree that is watched need not be, where another process reports what changes in it.

        For work that looks a few times and ends, and never asks whether something `stirred`.
        """

    def listen(self) -> None:
        """Hear from the next look on what happens in watched trees, for work that asks whether something `stirred`."""

    @property
    def keeps_watches(self) -> bool:
        """True where watches stay open when their work is done, for the next work on the same tree."""
        ...

    def unwatchable(self) -> str:
        """Return why no tree here can be watched; empty where that is possible."""

    def unseen(self, tree: WorkingTree) -> str:
        """Return why the watch over a tree does not hear of writes, where it was set up; empty: it does."""

    def stirred(self, tree: WorkingTree) -> bool:
        """Return whether something was written to a watched tree since this was last asked, or it was looked at."""

    def at_once(self) -> AbstractContextManager[None]:
        """Let all looks of this thread meanwhile be of one moment: what others have mapped to write is asked once."""

    def survey(self, tree: WorkingTree, observer: Observer) -> Survey:
        """Count what a capture would hold."""

    def surveys_kept(self) -> AbstractContextManager[None]:
        """Let a tree that is surveyed meanwhile, and then captured, be captured as the survey found it."""

    def folders_with(self, tree: WorkingTree, name: str) -> tuple[str, ...]:
        """Return the folders of a tree that had a name in them when it was captured last, sorted; "." is the tree."""

    def folders_leaving_out(self, tree: WorkingTree) -> tuple[Path, ...] | None:
        """Return the folders of a tree in which something was excluded at its last look; None: nothing is known of it.

        Every folder with a project home, or with what leads to one, is among them.
        """

    def matched(self, tree: WorkingTree) -> tuple[str, ...]:
        """Return the paths that the tree's patterns leave out, sorted; nothing below a folder that is one of them."""

    def capture(self, tree: WorkingTree, observer: Observer, *, at_work: bool = False) -> Capture:
        """Store the tree durably: when this returns, a power cut loses nothing of it.

        Equal contents give equal ids. Only what changed since the last capture with this cache key is read.
        What cannot be held (sockets, devices, unreadable files) is listed, never dropped silently. With `at_work`
        programs are writing: what they have mapped is read too, and they wait for no lock of ours.
        """

    def put(self, contents: Iterable[bytes]) -> tuple[StoredContent, ...]:
        """Store contents that no tree has, durably, in their order; equal bytes are equal contents."""

    def graft(self, root: Root, edits: Mapping[str, TreeEntry | None], at_ns: int) -> Root:
        """Store, durably, a copy of a tree with these paths edited; None: removed.

        A given folder keeps its content, a file in its place drops it. Each path needs folders around it, in the
        tree or among the edits: ValueError where there are none. The result equals a capture of the same tree. The
        cost is that of the edits: folders without an edit are not opened. mtimes of all else stay, but folders in
        which a name came, went or changed get `at_ns`.
        """

    def without(self, roots: Iterable[Root], paths: Sequence[str]) -> Mapping[Root, Root]:
        """Store, durably, copies of trees without these paths, and return them; a tree that has none stays itself.

        All mtimes stay, those of the folders around too.
        """

    def kept_contents(self, contents: Iterable[StoredContent]) -> Collection[StoredContent]:
        """Return those of these contents that are in the store, whether something needs them or not."""

    def compare(self, snapshot: Snapshot, tree: WorkingTree) -> tuple[PathChange, ...]:
        """Return what a restore would do to the tree, path by path, sorted; touch nothing.

        All that the restore would need is read and verified: a damaged snapshot is refused here already.
        """

    def restore(
        self,
        snapshot: Snapshot,
        tree: WorkingTree,
        observer: Observer,
        known: Snapshot | None = None,
        *,
        spare: bool = False,
    ) -> tuple[PathChange, ...]:
        """Make the tree exactly what the snapshot holds, and say what was touched, sorted.

        In a real tree nothing is replaced or removed but what `known` holds there (None: what the restore itself
        finds first). TreeChanged where something else is there, at whatever instant it came: it stays, or is put
        back, and the tree may be in between. FileInUse, with nothing touched, where a program has a file open for
        writing that would lose its name. With `spare`, paths that are the same in `known` and in the snapshot are
        left alone, whatever is there now: others may be writing them all the time.

        All that is needed is read and verified first: a damaged snapshot is refused with nothing touched.
        The folder is made when it is missing. Only what differs is touched; untouched files keep inode and
        mtime. What the tree has that no snapshot can hold stays. Cut off anywhere, running it again
        completes it.
        """

    def create(
        self, snapshot: Snapshot, tree: WorkingTree, observer: Observer, like: WorkingTree | None
    ) -> None:
        """Make a tree of ours that nobody has seen yet, exactly what the snapshot holds.

        `like` is a tree that holds much of the same, as the last capture of it found: files that have not changed
        since are copied from there, or shared with it where the filesystem can. The others come from the store. Cut
        off anywhere, running it again completes it.
        """

    def reserve(self, sizes: Mapping[Path, int]) -> AbstractContextManager[None]:
        """Keep bytes free on the disks of these places, for what follows the end of this; SystemFailed if too few.

        Where a filesystem has no files without a name, it keeps none.
        """

    def replace_files(self, folder: Path, replacements: Sequence[Replacement]) -> None:
        """Replace single files of a user's folder, by the rules of `restore`: TreeChanged, FileInUse.

        All that was found goes before the first of what is new comes, in their order. Cut off in between,
        `recover` puts back what is not known, and the names are free or taken by what is new.
        """

    def changed_where(self, tree: WorkingTree, known: Snapshot, target: Snapshot) -> tuple[str, ...]:
        """Return the paths in which two snapshots differ, and the tree now differs from the first of them.

        If the tree was captured as `known` by this store, nothing else of it is looked at; nor by a `restore` that
        spares what is the same in both.
        """

    def recover(self, tree: WorkingTree) -> tuple[str, ...]:
        """Put back what a killed restore had taken out of a real tree and was not its own; return where it is now.

        Repeatable. To be called before anything is decided by what the tree holds.
        """

    def verify(
        self, snapshots: Iterable[Snapshot], *, quick: bool, observer: Observer
    ) -> Mapping[Snapshot, tuple[Damage, ...]]:
        """Give what is wrong with each damaged snapshot; `quick` looks at presence and structure only."""

    def sweep(
        self,
        live: Callable[[], Collection[Snapshot]],
        *,
        dry_run: bool,
        observer: Observer,
        thorough: bool = False,
    ) -> Swept:
        """Delete what no live snapshot needs, while others capture and restore; a dry run only counts.

        Packs with little garbage stay as they are; if `thorough`, every one of them is written again without it.

        `live` returns all snapshots that rows name at the time of the call. It is called several times: objects that
        a capture found in the store and reused meanwhile are not deleted. A snapshot whose folders cannot be read is
        SnapshotDamaged, and nothing more is deleted: the objects that it needs are unknown. Interrupted at any
        point, it leaves bytes that the next sweep deletes.
        """

    def has_grown(self, factor: float, at_least: int) -> bool:
        """Return whether the store has grown, by factor and bytes, since the last sweep."""

    def clear_leftovers(self, trees: Iterable[WorkingTree], *, dry_run: bool) -> Leftovers:
        """Remove what killed processes left behind, and what is remembered of other trees than these."""

    def mark_new(self, tree: WorkingTree) -> None:
        """Remember a tree as the restore that has just made it left it, beside what later looks learn of it."""

    def move_mark(self, old: WorkingTree, new: WorkingTree) -> bool:
        """Let that follow a tree to another place; return False where nothing is remembered: the tree is too small."""

    def adopt(self, snapshot: Snapshot, tree: WorkingTree, observer: Observer) -> bool:
        """Make a tree of ours that another plan worked in exactly what a new one of this snapshot would be.

        Only what is as `mark_new` found it is kept, and all else written again, whatever it holds. Return False where
        something is in the tree, or is done to it, that this cannot set right: remove it then. The next work that
        watches the tree knows from now on what others change in it.
        """

    def adopted(self, tree: WorkingTree, place: WorkingTree) -> None:
        """Take note that a tree was moved to its place right after it was adopted."""

    def forget_tree(self, tree: WorkingTree) -> None:
        """Drop what is remembered of a tree that is no more."""


class SandboxKind(Protocol):
    """Makes, captures and restores one kind of sandbox."""

    type: ResourceType
    strategy: Strategy

    def check(self, resource: Resource, location: Path) -> None:
        """Refuse a real thing that this kind cannot work on."""

    def survey(self, order: SandboxOrder, observer: Observer) -> Survey:
        """Count what a sandbox would copy."""

    def create(self, order: SandboxOrder, observer: Observer) -> tuple[Sandbox, Capture]:
        """Make the plan's working copy of what the capture holds. Cut off anywhere, running it again completes it."""

    def fork(self, order: SandboxOrder, parent: Sandbox, snapshot: Snapshot, observer: Observer) -> Sandbox:
        """Make a working copy of one of the parent's snapshots, which is its base; repeatable like `create`."""

    def fill(self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer) -> None:
        """Make a working copy that no row refers to, and that is still missing, of a snapshot; nothing is pinned."""

    def give_git_directory(self, sandbox: Sandbox) -> None:
        """Give a copy of the files of a real checkout, if it is one, a git directory of its own, as the real one is."""

    def exists(self, sandbox: Sandbox) -> bool:
        """Return whether the working copy exists."""

    def watch(self, sandbox: Sandbox, *, others_at_work: bool) -> AbstractContextManager[None]:
        """Watch the sandbox: meanwhile captures, comparisons and restores cost what changed, where possible.

        With `others_at_work`, processes that no step ends may be writing.
        """

    def lenders(self, sandbox: Sandbox) -> Sequence[tuple[str, str]]:
        """Return the folders that it borrows from, each with a second place at which it looks for the same.

        Something else may take the place of the real resource, with all folders in it.
        """

    def capture(self, sandbox: Sandbox, observer: Observer, *, at_work: bool = False) -> Capture:
        """Store the working copy durably.

        With `at_work` programs are writing, which neither fail nor wait because of it: TreeUnsteady or DatabaseBusy
        where they leave no moment at which a whole state can be read.
        """

    def unseen(self, sandbox: Sandbox) -> str:
        """Return why writes to the watched working copy go unnoticed; empty: they are noticed."""

    def stirred(self, sandbox: Sandbox) -> bool:
        """Return whether something was written to it since this was last asked, or it was captured."""

    def publish(self, sandbox: Sandbox, publication: Publication) -> str:
        """Return the name that other programs know a checkpoint by, its `sandbox_ref`, before a row has it."""

    def republish(self, sandbox: Sandbox, publications: Sequence[Publication]) -> Mapping[CheckpointId, str]:
        """Publish all of them again, oldest first, if one cannot be found; return the names they have then."""

    def borrow_again(self, sandbox: Sandbox) -> None:
        """Keep what a working copy that was made again borrows from the real thing, as `create` does."""

    def lacking(
        self, sandbox: Sandbox, snapshots: Iterable[Snapshot]
    ) -> Mapping[Snapshot, tuple[Damage, ...]]:
        """Give what snapshots of it need, is not in the store, and is gone: objects that a git directory borrows."""

    def holding(
        self, snapshots: Iterable[Snapshot], contents: Iterable[StoredContent]
    ) -> Collection[Snapshot]:
        """Return the snapshots that hold one of these contents elsewhere than as a file: among git's own objects."""

    def pin_again(self, sandbox: Sandbox, snapshots: Iterable[Snapshot]) -> None:
        """Pin what snapshots need of a real repository from elsewhere that has it, such as a clone."""

    def retire(self, sandbox: Sandbox, kept: Collection[CheckpointId]) -> None:
        """Take back what was published of all checkpoints but those kept, after their rows are gone."""

    def compare(
        self, sandbox: Sandbox, snapshot: Snapshot, leaving: frozenset[str] = frozenset()
    ) -> tuple[PathChange, ...]:
        """Return what a restore would do, after reading and verifying all it needs; touch nothing.

        `leaving` are paths inside it that belong to other resources, and will be gone by then.
        """

    def restore(
        self,
        sandbox: Sandbox,
        snapshot: Snapshot,
        observer: Observer,
        known: Snapshot | None = None,
        *,
        spare: bool = False,
    ) -> tuple[PathChange, ...]:
        """Make the working copy exactly what the snapshot holds; idempotent.

        In a real thing only what `known` holds is replaced: ChangedMeanwhile where others were there, whose work
        stays. None: what the restore itself finds may be replaced. With `spare`, files of a real folder that are the
        same in both are left alone, whatever they hold now.
        """

    def carry_over(self, source: Path, sandbox: Sandbox) -> None:
        """Copy into the working copy, from another one or from the real thing, what belongs to no snapshot of it."""

    def restore_paths(
        self,
        sandbox: Sandbox,
        snapshot: Snapshot,
        paths: Sequence[str],
        observer: Observer,
        known: Snapshot | None = None,
    ) -> tuple[PathChange, ...]:
        """As `restore`, for these paths of the files alone; all else is left as it is, whatever the snapshot holds.

        A database is restored as a whole. The git directory of a checkout is not touched.
        """

    def recover(self, sandbox: Sandbox) -> tuple[str, ...]:
        """Put back what a killed restore had taken out of a real thing and was not its own; return where it is now."""

    def same(self, sandbox: Sandbox, one: Snapshot, other: Snapshot) -> bool:
        """Return whether two of its snapshots are the same to their users: a database by what SQLite reads."""

    def why_not_taken(self, ours: Root, theirs: Root) -> str:
        """Return why a real thing that holds `ours` cannot become `theirs` as a whole; empty: it can."""

    def changed_by_others(
        self, sandbox: Sandbox, target: Snapshot, before: Snapshot, observer: Observer
    ) -> Sequence[str]:
        """Return the absolute paths that match neither snapshot: changes of others while a return was interrupted.

        Paths on the way from one to the other are the return's own doing. Always empty for private sandboxes.
        """

    def moved(self, real: Sandbox, one: Snapshot, other: Snapshot) -> Sequence[str]:
        """Return the differences of two snapshots other than files, as absolute paths: the position of a checkout."""

    def changed_where(
        self, real: Sandbox, before: Snapshot, written: Snapshot, observer: Observer
    ) -> Sequence[str]:
        """Return the files that others changed since `before` was captured, of those that `written` changes too.

        The paths are absolute. Of a thing that is merged as a whole, any change counts.
        """

    def taken_back(
        self, real: Sandbox, present: Snapshot, written: Snapshot, before: Snapshot
    ) -> tuple[tuple[Root, ...], Sequence[str]]:
        """Return the non-file roots after undoing `written`, and the paths left alone because others changed them."""

    def committed(self, real: Sandbox, before: Snapshot, after: Snapshot) -> Collection[str] | None:
        """Return the paths that commits between two snapshots changed, and that are now as committed.

        None: no commit was made, and no other one checked out, or the resource has no commits.
        """

    def trees(self, sandbox: Sandbox) -> Sequence[WorkingTree]:
        """The trees that are captured and restored for it: the working copy's, and the real thing's."""

    def branch_of(self, real: Sandbox) -> str | None:
        """Return the branch that a real checkout is on; None: it is on none, or the resource has no branches."""

    def branch_in(self, snapshot: Snapshot) -> str | None:
        """Return the branch that a snapshot of a real checkout has checked out; None as for `branch_of`."""

    def move_between(self, one: Snapshot, other: Snapshot) -> str:
        """Describe how a real checkout moves from one snapshot to another: branch or commit; empty: it does not."""

    def refuse_apply(self, real: Sandbox, *, commit: bool) -> None:
        """Refuse a real resource, given as an in-place sandbox, that cannot take changes in its current state."""

    def compose(self, order: ApplyOrder) -> Composed:
        """Store what the real thing is to become, as a snapshot that `restore` takes; nothing real is touched.

        Called on the kind of what is to change, `order.real`.
        """

    def export(self, snapshot: Snapshot, target: Path, observer: Observer) -> None:
        """Write the snapshot's files into a new folder."""

    def park(self, sandbox: Sandbox, *, room: int = 0) -> None:
        """Remove the sandbox of a plan that is over, but keep a large working copy for the next plan to adopt.

        Of one resource as many are kept as the settings say; for the time being `room`, where that is more.
        """

    def remove(self, sandbox: Sandbox) -> None:
        """Remove the working copy; one that is gone already is fine."""


class SandboxKinds(Protocol):
    """All kinds of sandboxes this version can make."""

    def of(self, sandbox: Sandbox) -> SandboxKind:
        """The kind that made this sandbox; OnAnotherHost for one that another machine has."""

    def come_from(self, places: Sequence[tuple[str, str]]) -> None:
        """Take note of places on other machines, each with the one here: sandboxes come from there."""

    def choose(self, resource: Resource, strategy: Strategy) -> SandboxKind:
        """The kind for a resource under the setting `sandbox.strategy`; NotBuiltYet or a refusal by name."""
