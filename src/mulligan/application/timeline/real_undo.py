"""Takes an entry of the timeline back in real resources, or brings it back, and keeps what others did since.

The change of the entry is merged in the other direction into the present contents, computed and stored first. An intent
records the old and the new contents, and then only the paths that differ are written: an apply works in the same way,
and an interrupted undo is put back as an interrupted apply is. The group of what was there is recorded together with
the end: an undo that was refused or cut off leaves none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.apply.real_change_service import RealChangeService
from mulligan.application.apply.snapshot_merge import MergeRules, MergeService, OnOverlap, Sides
from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService, own_moment, reason_for
from mulligan.application.paths.real_resources import RealResources
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.rollback.impact import Impact, RevertedChange, impact_of, reverted
from mulligan.application.rollback.outside_effects import UndoService
from mulligan.application.rollback.return_service import ReturnService
from mulligan.application.runs.commit import Commit
from mulligan.application.runs.run import Run
from mulligan.application.subplans.child_plans import ChildPlans
from mulligan.application.timeline.known_moments import Change, changes_around
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup, Reason
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import ChangeAction, PathChange
from mulligan.domain.history.timeline_entry import DeedKind, TimelineEntry, Turn
from mulligan.domain.history.undo import Undoing
from mulligan.domain.plans.intent import Intent, IntentKind, UndoWork
from mulligan.domain.plans.plan import Conflict, Phase, State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import MergeUnit, Sandbox, Strategy
from mulligan.domain.text.ids import CallId
from mulligan.domain.trees.real_change import RealChange
from mulligan.domain.trees.text_merge import Labels
from mulligan.domain.trees.tree_difference import TreeEntry, hidden_by
from mulligan.errors import Advice, ChangedMeanwhile, FileInUse, MulliganError, NextStep, UndoConflicted
from mulligan.ports import Clock, Observer, SandboxKinds, SnapshotStore
from mulligan.rows.database import Database

if TYPE_CHECKING:
    from mulligan.rows.transaction import Transaction

_SIDES = Labels(ours="others since", theirs="taking it back")
_NAMED = 5  # paths in a message
_TRIES = 5  # others may be saving repeatedly


class OnlyWork(Struct, frozen=True, kw_only=True):
    """The sessions, prompts and calls that an undo takes back, as rows that change with it."""

    entries: tuple[int, ...]  # prompts that do not count afterwards
    calls: tuple[CallId, ...]


class Turnaround(Struct, frozen=True, kw_only=True):
    """An entry to undo or redo in place, with the groups that say what it changed."""

    entry: TimelineEntry
    forward: bool
    base: (
        CheckpointGroup | None
    )  # the state with its change; None: the present contents, because it was cut off
    theirs: CheckpointGroup  # the state without it; forward, the other way round
    target: CheckpointGroup  # where its plan goes
    alone: bool  # its plan stays where it is: only files change
    state: tuple[Phase, State]  # of the plan afterwards
    keep_commits: bool = False  # branch and index stay where they are
    pieces: Mapping[str, Sequence[Change]] | None = (
        None  # of each resource, the newest first; None: base to theirs
    )
    only: OnlyWork | None = None  # the calls that it is about, instead of an entry
    apart: Mapping[str, Sequence[Change]] = MappingProxyType(
        {}
    )  # of each resource, the newest first: what stays

    def changes_of(self, resource: str, present: Snapshot) -> Sequence[Change]:
        """Return the changes of a resource to take back, the newest first."""
        if self.pieces is not None:
            return self.pieces.get(resource, ())
        base = self.base.snapshot_of(resource) if self.base else present
        return changes_around(base, self.theirs.snapshot_of(resource), self.apart.get(resource, ()))

    @property
    def of_real_paths(self) -> bool:
        """Return whether it is about a restore of real paths, which is not work of its plan."""
        return self.entry.kind is DeedKind.RESTORE

    @property
    def of_paths(self) -> bool:
        """Return whether it is about a restore of paths, which changes no state of its plan."""
        return self.entry.kind.is_restore


class Result(Struct, frozen=True, kw_only=True):
    """The result of an undo or redo in place, done or previewed."""

    changes: tuple[RevertedChange, ...]
    impact: Impact
    kept: CheckpointGroup | None  # of what was there before; None: a dry run
    messages: tuple[str, ...]


class _Merge(Struct, frozen=True, kw_only=True):
    """The present and the future contents of one sandbox."""

    change: RealChange
    conflicts: tuple[Conflict, ...]
    both: Mapping[str, TreeEntry | None]  # paths that the entry and others changed, as they are now
    shown: tuple[PathChange, ...]
    removed: tuple[str, ...]  # files that are not in the future contents
    commits_stay: bool = False  # made since a command began that was cut off: they may be the user's


class RealUndoService(Struct, kw_only=True, frozen=True, eq=False):
    """Undoes and redoes entries whose plan works in place."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    claims: PlanClaims
    manager: CheckpointManager
    checkpoints: CheckpointService
    returns: ReturnService
    undos: UndoService
    children: ChildPlans
    real_changes: RealChangeService
    merges: MergeService
    places: RealResources
    clock: Clock

    def preview(self, turn: Turnaround, observer: Observer) -> Result:
        """Return what it would do, without changing a resource or a row."""
        with self.claims.look(turn.entry.plan_id, observer) as claimed:
            return self.preview_in(claimed, turn)

    def preview_in(self, claimed: Run, turn: Turnaround) -> Result:
        """Return what it would do to a plan that is looked at."""
        run = self._over(claimed, turn)
        with self.database.reading() as db:
            changes = db.real_changes.list(run.plan.plan_id)
            cut_off = {c.real.resource: c for c in changes if c.act is IntentKind.UNDO}
        if cut_off:
            run.inform("an interrupted undo would be put back first")
        self.manager.require(run.sandboxes)
        with self.store.hold():
            present = {
                sandbox.resource: self.real_changes.way_back(run, cut_off[sandbox.resource])
                if sandbox.resource in cut_off
                else self.kinds.of(sandbox).capture(sandbox, run.observer).snapshot
                for sandbox in run.sandboxes
            }
            merges = [self._merge(s, present[s.resource], turn, (), run.plan.hidden) for s in run.sandboxes]
            if not cut_off and (busy := self._busy(run, turn, merges, ())):
                merges = self._merged(run, turn, busy)
        _refuse_conflicts(run, turn, merges)
        undoing = self._undoing(run, turn)
        return self._result(run, turn, merges, undoing, None, ())

    def carry_out(self, run: Run, turn: Turnaround) -> Result:
        """Do it to a plan that is claimed: all resources or none."""
        over = self._over(run, turn)
        with self.manager.watch_briefly(over):
            result = self._carry_out(over, turn)
        if over is not run:
            run.follow(over)
        return result

    def _over(self, run: Run, turn: Turnaround) -> Run:
        """Return the run over what is written to: the real resources, for a restore of their paths."""
        return run.over(self.places.of(run.plan, run.sandboxes)) if turn.of_real_paths else run

    def _carry_out(self, run: Run, turn: Turnaround) -> Result:
        self.manager.require(run.sandboxes)
        undoing = self._undoing(run, turn)
        self.undos.refuse_where_impossible(undoing)
        impact = self._impact(run, turn, undoing)
        undo = Turn(
            word="undo", undoes=turn.entry.number
        )  # or a redo, or of calls: both wait for nobody but who runs
        intent = self.real_changes.begin(run, self._work(run, turn), undo)
        with self.real_changes.all_or_none(run, intent, "nothing was changed; run the command again"):
            if undoing.undone:  # undo nothing outside for an undo that is refused
                with self.store.hold():
                    _refuse_conflicts(run, turn, self._merged(run, turn, ()))
            not_undone = self.undos.carry_out(run, undoing)
            merges = self._written(run, turn)
            kept = self._settle(run, intent, turn, merges)
        impact = replace(impact, undo_failed=not_undone)
        return self._result(run, turn, merges, undoing, kept, not_undone, impact)

    # --- files ---------------------------------------------------------------------------------------------

    def _written(self, run: Run, turn: Turnaround) -> list[_Merge]:
        """Merge and write; start again where someone saves meanwhile, and leave alone what never holds still."""
        left: set[tuple[str, str]] = set()  # resources and paths
        for attempt in range(1, _TRIES + 1):
            with run.showing_later(), self.store.hold():
                merges = self._merged(run, turn, left)
                if attempt < _TRIES and (busy := self._busy(run, turn, merges, left)):
                    left |= busy
                    continue
                _refuse_conflicts(run, turn, merges)
                self.real_changes.ready(run, [merge.change for merge in merges])
            try:
                self.real_changes.write(run, [merge.change for merge in merges])
            except (ChangedMeanwhile, FileInUse) as exc:
                self.real_changes.put_back(run, [merge.change for merge in merges])
                busy = _named(exc, merges)
                left |= busy
                if attempt == _TRIES or (isinstance(exc, FileInUse) and not busy):
                    raise
            else:
                texts = [
                    f"{resource}: {path} is being written and is left as it is" for resource, path in left
                ]
                run.inform(*sorted(texts))
                return merges
        raise AssertionError("the last attempt returns or raises")

    def _merged(self, run: Run, turn: Turnaround, left: Collection[tuple[str, str]]) -> list[_Merge]:
        captures = self.manager.capture(run)
        pairs = zip(run.sandboxes, captures, strict=True)
        hidden = run.plan.hidden
        return [self._merge(sandbox, capture.snapshot, turn, left, hidden) for sandbox, capture in pairs]

    def _merge(
        self,
        sandbox: Sandbox,
        ours: Snapshot,
        turn: Turnaround,
        left: Collection[tuple[str, str]],
        hidden: tuple[str, ...],
    ) -> _Merge:
        """Merge the changes one after the other into the present contents."""
        merges: list[_Merge] = []
        present = ours
        for change in turn.changes_of(sandbox.resource, ours):
            merges.append(self._merge_change(sandbox, present, change, turn, left, hidden))
            present = merges[-1].change.written
        if len(merges) == 1:
            return merges[0]
        conflicts = [conflict for merge in merges for conflict in merge.conflicts]
        both = {path: entry for merge in merges for path, entry in merge.both.items()}
        return self._merge_of(sandbox, ours, present, conflicts, both)

    def _merge_change(
        self,
        sandbox: Sandbox,
        ours: Snapshot,
        change: Change,
        turn: Turnaround,
        left: Collection[tuple[str, str]],
        hidden: tuple[str, ...],
    ) -> _Merge:
        name, base, theirs = sandbox.resource, change.base, change.theirs
        spared = {path for resource, path in left if resource == name}
        copied = sandbox.strategy is not Strategy.IN_PLACE
        if copied and not turn.of_paths:  # a copy is the plan's own: it goes there exactly
            return self._merge_of(sandbox, ours, theirs, (), {})
        if sandbox.type.traits.merged_by is MergeUnit.WHOLE:
            sides = Sides(base=base, ours=ours, theirs=theirs)
            whole = self.merges.take_whole(self.kinds.of(sandbox), sandbox, sides)
            found = [Conflict(resource=name, path=c.path, reason=c.reason) for c in whole.conflicts]
            return self._merge_of(sandbox, ours, Snapshot((whole.files,)), found, {})
        old, here, new = (snapshot.roots[0] for snapshot in (base, ours, theirs))
        rules = MergeRules(names=_SIDES, on_overlap=OnOverlap.STOP, included=None, exact=True)
        merged = self.merges.merge(old, here, new, rules)
        is_hidden = hidden_by(hidden)
        # Tools write their caches whenever they run: that is never in the way.
        caches = {d.path for d in merged.changed if is_hidden(d)}
        spared |= {c.path for c in merged.conflicts if c.path in caches}
        by_others = {d.path: d.new for d in self.store.difference(old, here)}
        both = {d.path: by_others[d.path] for d in merged.changed if d.path in by_others}
        files = merged.files
        if busy := {path: both[path] for path in spared if path in both}:
            files = self.store.graft(files, busy, 0)
        kind = self.kinds.of(sandbox)
        # Who made commits after a command was cut off is not known: they may be the user's, and stay.
        # What an agent was cut off in belongs to its call, until the next event.
        uncertain = turn.entry.is_cut_off and not turn.forward and turn.entry.kind is not DeedKind.PROMPT
        committed = kind.committed(sandbox, theirs, base) if uncertain else None
        if kept := {path: self.store.item(here, path) for path in committed or ()}:
            files = self.store.graft(files, kept, 0)
        if files.id == new.id:
            files = new  # with all its times
        conflicts = [
            Conflict(resource=name, path=c.path, reason=c.reason)
            for c in merged.conflicts
            if c.path not in spared and c.path not in kept
        ]
        if copied:
            return self._merge_of(sandbox, ours, Snapshot((files, *ours.roots[1:])), conflicts, both)
        if committed is not None or turn.keep_commits:
            merge = self._merge_of(sandbox, ours, Snapshot((files, *ours.roots[1:])), conflicts, both)
            return replace(merge, commits_stay=not turn.keep_commits)
        others, stay = kind.taken_back(sandbox, ours, base, theirs)
        own = {_part(path) for path in kind.moved(sandbox, base, theirs)}
        conflicts += [
            Conflict(resource=name, path=path, reason="others moved or staged something since")
            for path in stay
            if _part(path) in own
        ]
        return self._merge_of(sandbox, ours, Snapshot((files, *others)), conflicts, both)

    def _merge_of(
        self,
        sandbox: Sandbox,
        ours: Snapshot,
        written: Snapshot,
        conflicts: Sequence[Conflict],
        both: Mapping[str, TreeEntry | None],
    ) -> _Merge:
        found = self.store.difference(ours.roots[0], written.roots[0])
        files = [
            PathChange(d.path, ChangeAction.REMOVED if d.new is None else ChangeAction.RESTORED)
            for d in found
        ]
        kind = self.kinds.of(sandbox)
        moved = [path.removeprefix(f"{sandbox.path}/") for path in kind.moved(sandbox, ours, written)]
        about = kind.move_between(ours, written) if moved else ""
        position = [
            PathChange(path, ChangeAction.RESTORED, "" if path.endswith("/index") else about)
            for path in moved
        ]
        change = RealChange(
            act=IntentKind.UNDO, real=sandbox, before=ours, written=written, group_id=None, commit=None
        )
        removed = tuple(d.path for d in found if d.new is None and d.of_files)
        shown = (*position, *files)
        return _Merge(change=change, conflicts=tuple(conflicts), both=both, shown=shown, removed=removed)

    def _busy(
        self, run: Run, turn: Turnaround, merges: Sequence[_Merge], left: Collection[tuple[str, str]]
    ) -> set[tuple[str, str]]:
        """Return the conflicts in files that are being written at this moment: nobody can resolve those."""
        if not any(merge.conflicts for merge in merges):
            return set()
        again = {merge.change.real.resource: merge for merge in self._merged(run, turn, left)}
        found: set[tuple[str, str]] = set()
        for merge in merges:
            name = merge.change.real.resource
            now = again[name].both
            found |= {
                (name, c.path)
                for c in merge.conflicts
                if c.path in now and now[c.path] != merge.both.get(c.path)
            }
        return found

    # --- rows ----------------------------------------------------------------------------------------------

    def _work(self, run: Run, turn: Turnaround) -> UndoWork:
        number = turn.entry.number
        return UndoWork(
            target=turn.target.group_id,
            phase=turn.state[0],
            state=turn.state[1],
            log={"reason": "redo" if turn.forward else "undo", "entry": number},
            ends_children=True,
            undoes=None if turn.forward or turn.only else number,
            redoes=number if turn.forward else None,
            locations=tuple(s.path for s in run.sandboxes if s.strategy is Strategy.IN_PLACE),
        )

    def _settle(
        self, run: Run, intent: Intent, turn: Turnaround, merges: Sequence[_Merge]
    ) -> CheckpointGroup:
        """Record the group of what was there, and the plan where it is now, all in one transaction."""
        was = {m.change.real.resource: m.change.before for m in merges}
        now = {m.change.real.resource: m.change.written for m in merges}
        exact = all(now[s.resource].same_as(turn.target.snapshot_of(s.resource)) for s in run.sandboxes)
        with run.showing_later(), self.store.hold():
            before = self.checkpoints.stored(run, was)
            needless = turn.forward if turn.of_paths else exact and not turn.alone
            after = [] if needless else self.checkpoints.stored(run, now)
            with run.commit("undo.settle") as commit:
                reasons = _reasons(turn)
                kept = self.checkpoints.add_group(commit, run, reasons[0], before)
                work = intent.work
                assert isinstance(work, UndoWork), "it was made here"
                ready = replace(intent, work=replace(work, before=kept.group_id))
                changes = {m.change.real.resource: m.shown for m in merges}
                ended: Sequence[Sandbox] = ()
                if turn.alone:
                    if turn.only is None:
                        self._write_alone(commit.db, turn, kept)
                    commit.db.intents.close(intent.intent_id)
                else:
                    ended = self.returns.write(commit, run, ready, turn.target, changes)
                if after:
                    made = self.checkpoints.add_group(commit, run, reasons[1], after)
                    if turn.only is not None:
                        _write_only(commit, turn, turn.only, (kept, made), _count(merges))
                    elif not turn.forward:
                        commit.db.entries.undone_to(turn.entry.number, made.group_id)
                    if not turn.of_paths:
                        commit.afterwards(lambda: run.reset_to(made))
                elif commit.db.agents.any():  # what changes from here on is another's work
                    end = own_moment(turn.target, reasons[1].type)
                    commit.db.agents.add(replace(end, created_at=kept.created_at))
                commit.db.real_changes.remove(run.plan.plan_id, IntentKind.UNDO)
        self.children.remove(tuple(ended))
        return kept

    def _write_alone(self, db: Transaction, turn: Turnaround, kept: CheckpointGroup) -> None:
        entry, entries = turn.entry, db.entries
        if turn.forward and entry.kind is DeedKind.UNDO:
            entries.bring_back(entry)
            numbers = entry.detail.get("entries")
            for number in numbers if isinstance(numbers, list) else ():
                entries.count_again(int(str(number)))
            return
        if turn.forward:
            entries.redo(entry)
            return
        undone = replace(
            entry,
            undone=True,
            undone_from=kept.group_id,
            undone_to=None,
            undone_seq=kept.seq,
            after_group=entry.after_group or kept.group_id,
            detail={},
        )
        entries.undo(undone)

    def _undoing(self, run: Run, turn: Turnaround) -> Undoing:
        if turn.alone:
            return Undoing(undone=(), irreversible=(), not_redone=())
        return self.undos.plan(run, turn.target)

    def _impact(self, run: Run, turn: Turnaround, undoing: Undoing) -> Impact:
        if turn.alone:
            return Impact(
                child_plans_invalidated=0,
                decisions_discarded=0,
                tool_calls_undone=0,
                undo=(),
                undo_failed=(),
                irreversible=(),
            )
        with self.database.reading() as db:
            return impact_of(db, run.plan.plan_id, turn.target, undoing)

    def _result(
        self,
        run: Run,
        turn: Turnaround,
        merges: Sequence[_Merge],
        undoing: Undoing,
        kept: CheckpointGroup | None,
        not_undone: tuple[str, ...],
        impact: Impact | None = None,
    ) -> Result:
        changes = reverted({m.change.real.resource: m.shown for m in merges}, run.plan.hidden)
        return Result(
            changes=changes,
            impact=replace(impact or self._impact(run, turn, undoing), undo_failed=not_undone),
            kept=kept,
            messages=(*run.messages, *(() if turn.forward else _notes(merges))),
        )


def _count(merges: Sequence[_Merge]) -> int:
    return sum(len(merge.shown) for merge in merges)


def _write_only(
    commit: Commit,
    turn: Turnaround,
    only: OnlyWork,
    sides: tuple[CheckpointGroup, CheckpointGroup],
    files: int,
) -> None:
    """Record the undo of calls as an entry of its own, which a redo brings back; its prompts count no longer."""
    kept, made = sides
    db = commit.db
    entry = replace(
        turn.entry,
        line=commit.plan.line,
        before_group=kept.group_id,
        after_group=made.group_id,
        undone_from=kept.group_id,
        undone_to=made.group_id,
        files=files,
        detail={**turn.entry.detail, "entries": list(only.entries)},
    )
    number = db.entries.add_undo(replace(entry, seq=commit.next_seq()))
    for each in only.entries:
        own = db.entries.get(each).plan_id == kept.plan_id
        seq = kept.seq if own else db.plans.counters(db.entries.get(each).plan_id).seq
        db.entries.count_no_longer(each, seq)
    for call_id in only.calls:
        db.tool_calls.mark_undone(call_id, number)


def _notes(merges: Sequence[_Merge]) -> Iterator[str]:
    """Say what an undo leaves or removes in spite of appearances."""
    for merge in merges:
        if merge.commits_stay:
            yield f"{merge.change.real.resource}: commits since the command began stay, with the files in them"
    yield from _maybe_excluded(merges)


def _reasons(turn: Turnaround) -> tuple[Reason, Reason]:
    """Return the reasons of the groups before and after: a restore of paths changes no state of its plan."""
    if turn.of_paths:
        metadata = {name: turn.theirs.reason.metadata.get(name) for name in ("phase", "place")}
        pair = CheckpointType.PRE_RESTORE, CheckpointType.POST_RESTORE
        before, after = (reason_for(type, metadata, between_steps=False) for type in pair)
        return before, after
    return (
        reason_for(CheckpointType.PRE_ROLLBACK, {}, between_steps=False),
        reason_for(CheckpointType.POST_UNDO, {}, between_steps=True),
    )


def _maybe_excluded(merges: Sequence[_Merge]) -> Iterator[str]:
    """Say where files are kept that the entry added, if they may be excluded ones under other names.

    The entry may have moved an excluded file: no checkpoint from before has its contents, and an undo does not bring
    back its former name.
    """
    for merge in merges:
        real = merge.change.real
        if real.patterns and real.strategy is Strategy.IN_PLACE and merge.removed:
            more = len(merge.removed) - _NAMED
            named = ", ".join(merge.removed[:_NAMED]) + (f" and {more} more" if more > 0 else "")
            yield Advice(
                f"{real.resource}: an undo removes {named}, and keeps the contents in a checkpoint; "
                "if one was an excluded file before, under another name, ",
                NextStep("redo"),
                " brings it back",
            )


def _refuse_conflicts(run: Run, turn: Turnaround, merges: Sequence[_Merge]) -> None:
    found = [conflict for merge in merges for conflict in merge.conflicts]
    if found:
        named = ", ".join(f"{c.resource}: {c.path} ({c.reason})" for c in found)
        raise UndoConflicted(
            plan_id=run.plan.plan_id,
            count=len(found),
            paths=named,
            conflicts=[conflict.to_json() for conflict in found],
            hint=Advice(
                *(
                    "nothing was changed; ",
                    NextStep("diff", plan=str(turn.entry.number)),
                    " shows what it changed, ",
                ),
                *(
                    NextStep("timeline"),
                    " what was done since; undo that first, or move these paths away, and run",
                ),
                " the command again",
            ),
        )


def _named(failure: MulliganError, merges: Sequence[_Merge]) -> set[tuple[str, str]]:
    """Return the paths of a failure that others changed since the entry: they keep on doing so."""
    named = f", {failure.facts.get('paths', '')}, "
    return {
        (merge.change.real.resource, path)
        for merge in merges
        for path in merge.both
        if f", {merge.change.real.path}/{path}, " in named
    }


def _part(path: str) -> str:
    """Return the part of a git directory that a path names, without the entry of the index."""
    return path.partition(" (")[0]
