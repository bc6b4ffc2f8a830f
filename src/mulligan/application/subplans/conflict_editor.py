"""The files of conflicts that a merge of child plans left: their sides, to look at, and a new content for one."""

import re

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.plans.guards import refuse_without_conflicts
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.runs.run import Run
from mulligan.application.subplans.child_merge import ChildMerging
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Conflict, Plan
from mulligan.domain.plans.subplan import Child
from mulligan.domain.resources.resource import MergeUnit, Sandbox
from mulligan.domain.text.ids import PlanId
from mulligan.domain.trees.line_diff import is_binary
from mulligan.domain.trees.text_merge import has_markers, ours_of_marked
from mulligan.domain.trees.tree_difference import Beside, EntryType, TreeEntry, path_and_around
from mulligan.errors import (
    ConflictChanged,
    ConflictNotEditable,
    ConflictUnknown,
    MarkersLeft,
)
from mulligan.ports import Clock, SandboxKinds, SnapshotStore, Unobserved
from mulligan.rows.database import Database

LARGEST_EDITED = 1 << 20  # bytes of a file
_ABSENT = "absent"
_LONE_RETURN = re.compile(rb"\r(?!\n)")


class ConflictSide(Struct, frozen=True, kw_only=True):
    """One version of a file in conflict."""

    name: str  # of the side, for people
    content: bytes | None  # of a text; None: `why` says why there is none to show
    why: str


class ConflictFile(Struct, frozen=True, kw_only=True):
    """A file in conflict: what both sides began with, what each made of it, and what the sandbox has there now."""

    plan_id: PlanId
    handle: str
    resource: str
    path: str
    reason: str
    base: ConflictSide
    ours: ConflictSide
    theirs: ConflictSide
    result: ConflictSide
    seen: str  # names what the sandbox has there now


class NewContent(Struct, frozen=True, kw_only=True):
    """The content that a file in conflict is to get."""

    content: bytes | None  # None: it is removed
    seen: str | None = None  # what it was edited from; None: whatever is there


class ConflictEditor(Struct, kw_only=True, frozen=True, eq=False):
    """Shows files in conflict, and writes what they are to become into the sandbox."""

    database: Database
    claims: PlanClaims
    manager: CheckpointManager
    merging: ChildMerging
    kinds: SandboxKinds
    store: SnapshotStore
    clock: Clock

    def show(self, plan_id: PlanId, path: str) -> ConflictFile:
        """Return the sides of a file in conflict; refuse what cannot be edited as a text. Nothing is changed."""
        with self.claims.look(plan_id, Unobserved()) as run, self.store.hold():
            plan = run.plan
            refuse_without_conflicts(plan)
            sandbox, conflict = _found(run, path)
            root = self._snapshot(run, sandbox).roots[0]
            entry = self._entry(plan, root, path)
            child = self._merged_last(plan)
            base, theirs = self._of_child(run, child, sandbox, path)
            return ConflictFile(
                plan_id=plan.plan_id,
                handle=plan.handle,
                resource=sandbox.resource,
                path=path,
                reason=conflict.reason,
                base=base,
                ours=self._ours(plan, sandbox, path, entry),
                theirs=theirs,
                result=self._side("in the sandbox now", entry),
                seen=_seen(entry),
            )

    def write(self, run: Run, path: str, new: NewContent) -> None:
        """Write a content into the sandbox of a claimed plan, unless its file is not as it was seen.

        Only this path is touched. After a power failure the file is as it was or as it is to be, and in conflict.
        """
        sandbox, _ = _found(run, path)
        with self.store.hold():
            present = self._snapshot(run, sandbox)
            entry = self._entry(run.plan, present.roots[0], path)
            if new.seen is not None and new.seen != _seen(entry):
                raise ConflictChanged(plan_id=run.plan.plan_id, path=path)
            edits = self._edits(run, present.roots[0], path, entry, new.content)
            if not edits:
                return
            grafted = self.store.graft(present.roots[0], edits, self._now_ns())
            wanted = Snapshot((grafted, *present.roots[1:]))
            self.manager.forget(run)
            self.kinds.of(sandbox).restore_paths(sandbox, wanted, [path], run.observer, present)

    # --- what there is -------------------------------------------------------------------------------------

    def _snapshot(self, run: Run, sandbox: Sandbox) -> Snapshot:
        captures = zip(run.sandboxes, self.manager.capture(run), strict=True)
        return next(capture.snapshot for each, capture in captures if each is sandbox)

    def _entry(self, plan: Plan, root: Root, path: str) -> TreeEntry | None:
        """Return what the sandbox has at a path; refuse what is not a text of a moderate size."""
        for folder in list(path_and_around(path))[:-1]:
            around = self.store.item(root, folder)
            if around is not None and not around.is_folder:
                raise _not_editable(plan, path, f"{folder} is not a folder")
        entry = self.store.item(root, path)
        if entry is not None and (reason := self._unfit(entry)):
            raise _not_editable(plan, path, reason)
        return entry

    def _unfit(self, entry: TreeEntry) -> str:
        """Return why an entry cannot be edited; empty where it can."""
        if entry.content is None:
            return f"it is a {entry.type}"
        if entry.content.size > LARGEST_EDITED:
            return f"it has {entry.content.size} bytes, more than {LARGEST_EDITED}"
        if entry.shared_with:
            return "the file has several names (hard links)"
        return unfit_text(self.store.read(entry.content))

    def _side(self, name: str, entry: TreeEntry | None) -> ConflictSide:
        if entry is None:
            return ConflictSide(name=name, content=None, why="there is no such file")
        reason = self._unfit(entry)
        content = None if reason or entry.content is None else self.store.read(entry.content)
        return ConflictSide(name=name, content=content, why=reason)

    def _ours(self, plan: Plan, sandbox: Sandbox, path: str, entry: TreeEntry | None) -> ConflictSide:
        """Return what the parent had before the merge: as a group holds it, or else as the markers have it."""
        with self.database.reading() as db:
            group = db.checkpoints.get(plan.current_group_id) if plan.current_group_id is not None else None
        if group is not None and group.state.merged == plan.progress.merged[:-1]:
            return self._side(plan.name, self.store.item(group.snapshot_of(sandbox.resource).roots[0], path))
        side = self._side(plan.name, entry)
        if side.content is None or not has_markers(side.content):
            return replace(side, content=None, why="no checkpoint holds it")
        return replace(side, content=ours_of_marked(side.content))

    def _merged_last(self, plan: Plan) -> Child | None:
        """Return the child plan whose merge left the conflicts."""
        with self.database.reading() as db:
            merged = db.events.newest(plan.plan_id, EventType.SUBPLAN_MERGED)
            children = db.children.list(plan.plan_id)
        named = merged.data.get("plan_id") if merged is not None else None
        return next((child for child in children if child.plan_id == named), None)

    def _of_child(
        self, run: Run, child: Child | None, sandbox: Sandbox, path: str
    ) -> tuple[ConflictSide, ConflictSide]:
        """Return what a child was forked from, and what it made of it."""
        if child is None:
            gone = ConflictSide(name="child", content=None, why="the child plan is forgotten")
            return replace(gone, name="before"), gone
        sides = self.merging.result_of(run, child)[sandbox.resource]
        before, after = (self.store.item(side.roots[0], path) for side in sides)
        return self._side(f"before {child.name}", before), self._side(child.name, after)

    # --- what it becomes -----------------------------------------------------------------------------------

    def _edits(
        self, run: Run, root: Root, path: str, entry: TreeEntry | None, content: bytes | None
    ) -> dict[str, TreeEntry | None]:
        if content is None:
            return {} if entry is None else {path: None}
        if has_markers(content):
            raise MarkersLeft(plan_id=run.plan.plan_id, paths=path)
        if len(content) > LARGEST_EDITED:
            raise _not_editable(run.plan, path, f"{len(content)} bytes are more than {LARGEST_EDITED}")
        if is_binary(content):
            raise _not_editable(run.plan, path, "the new content is binary")
        (stored,) = self.store.put([content])
        beside = Beside(mtime_ns=self._now_ns())
        if entry is not None:
            return {path: replace(entry, content=stored, beside=beside)}
        around = list(path_and_around(path))[:-1]
        missing = [folder for folder in around if self.store.item(root, folder) is None]
        made = {folder: _new(EntryType.FOLDER, beside) for folder in missing}
        return {**made, path: replace(_new(EntryType.FILE, beside), content=stored)}

    def _now_ns(self) -> int:
        return int(self.clock.now().timestamp() * 1_000_000) * 1000


def unfit_text(data: bytes) -> str:
    """Return why bytes cannot be edited as lines of text without a change of others; empty where they can."""
    if is_binary(data):
        return "it is binary"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "it is not UTF-8"
    ends = data.count(b"\n"), data.count(b"\r\n")
    if _LONE_RETURN.search(data) or ends[1] not in (0, ends[0]):
        return "its lines end in different ways"
    return ""


def _found(run: Run, path: str) -> tuple[Sandbox, Conflict]:
    """Return the conflict in a path, with its sandbox; refuse a path that has none, or is not of a text."""
    conflicts = [conflict for conflict in run.plan.conflicts if conflict.path == path]
    if not conflicts:
        known = ", ".join(conflict.path for conflict in run.plan.conflicts)
        raise ConflictUnknown(plan_id=run.plan.plan_id, path=path, known=known)
    if len(conflicts) > 1:
        raise _not_editable(run.plan, path, "several resources have a conflict under this name")
    sandbox = next(each for each in run.sandboxes if each.resource == conflicts[0].resource)
    if sandbox.type.traits.merged_by is MergeUnit.WHOLE:
        raise _not_editable(run.plan, path, f"it is a {sandbox.type.traits.noun}")
    return sandbox, conflicts[0]


def _not_editable(plan: Plan, path: str, reason: str) -> ConflictNotEditable:
    return ConflictNotEditable(plan_id=plan.plan_id, path=path, reason=reason)


def _seen(entry: TreeEntry | None) -> str:
    return _ABSENT if entry is None or entry.content is None else f"{entry.content.size}-{entry.content.id}"


def _new(type_: EntryType, beside: Beside) -> TreeEntry:
    folder = type_ is EntryType.FOLDER
    return TreeEntry(
        type=type_,
        mode=0o755 if folder else 0o644,
        content=None,
        target=b"",
        shared_with=b"",
        attributes=(),
        empty=False,
        beside=beside,
    )
