"""Runs the child plans of a step and merges their results."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService
from mulligan.application.plans.new_plans import add_plan, new_plan
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run
from mulligan.application.subplans.child_merge import ChildMerging, MergedChild
from mulligan.application.subplans.child_plans import ChildPlans, with_theirs
from mulligan.domain.checkpoints.checkpoint import PlanState
from mulligan.domain.history.lines import NEVER, is_live, live_segments
from mulligan.domain.plans.decision import DecisionType, Question
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.plans.step import ChildPlan, MergeStrategy, Pick, Step, SubplanMode, Subplans
from mulligan.domain.plans.subplan import (
    Child,
    Spawn,
    child_definition,
    may_start,
    merge_order,
    merged_name,
    next_to_merge,
)
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import (
    ChildConstrained,
    Conflicted,
    Interrupted,
    MulliganError,
    SubplanConflicts,
    SubplansFailed,
    ToolFailed,
)
from mulligan.ports import Clock, Crew, Ended, Engine, Ids, SnapshotStore
from mulligan.rows.database import Database


class _Going(Struct, kw_only=True):
    """The progress of the children of one step."""

    step: Step
    subplans: Subplans
    number: int
    order: tuple[ChildPlan, ...]
    there: dict[str, Child]  # recorded ones, by name
    merged: set[str]
    running: dict[PlanId, str]
    failed: dict[str, str]  # reasons, by name
    errors: dict[str, MulliganError]  # with which they failed, by name; none of those whose merge failed
    conflict: MulliganError | None

    @property
    def is_halted(self) -> bool:
        """Return whether no other child may start."""
        return self.conflict is not None or (bool(self.failed) and self.subplans.fail_fast)

    def waiting(self) -> list[ChildPlan]:
        """Return the children that have not started."""
        busy = {*self.merged, *self.running.values(), *self.failed}
        return [c for c in self.order if c.name not in busy and not self.is_done(c.name)]

    def is_done(self, name: str) -> bool:
        """Return whether a child can be merged."""
        return name in self.there and self.there[name].is_done and name not in self.failed


class SubplanService(Struct, kw_only=True, frozen=True, eq=False):
    """The child plans of one step: made, run, merged."""

    database: Database
    store: SnapshotStore
    manager: CheckpointManager
    checkpoints: CheckpointService
    children: ChildPlans
    merging: ChildMerging
    engine: Engine
    ids: Ids
    clock: Clock

    def run(self, run: Run, step: Step, subplans: Subplans, number: int) -> Sequence[Child]:
        """Run the children of a step and merge them; `number` distinguishes several spawns of one step.

        After a stop, merged children are in the sandboxes already, and complete ones are merged without another run.
        Raise SubplansFailed if a child failed after its retries, SubplanConflicts if a merge has conflicts.
        """
        going = self._find(run, step, subplans, number)
        if subplans.merge_strategy is MergeStrategy.PICK and going.there:
            self._go_on_with_variants(run, going)
        if going.waiting():
            self.checkpoints.auto_create_if_configured(
                run, CheckpointType.ON_SUBPLAN_SPAWN, {"step": step.name}, between_steps=False
            )
        if subplans.mode is SubplanMode.PARALLEL:
            self._spawn(run, going, going.waiting())
        with self.engine.crew(run.observer) as crew:
            while True:
                self._merge_ready(run, going)
                self._start_ready(run, going, crew)
                if not going.running:
                    break
                self._note_end(run, going, crew.next_ended(), crew)
        self._end_unstarted(run, going)
        if going.conflict is not None:
            raise going.conflict
        picks = subplans.merge_strategy is MergeStrategy.PICK
        if going.failed and not (picks and any(map(going.is_done, going.there))):
            raise SubplansFailed(
                reason="; ".join(f"{name}: {reason}" for name, reason in going.failed.items()),
                children={name: going.there[name].plan_id for name in going.failed},
                **_not_started(going),
            )
        return tuple(going.there[child.name] for child in subplans.plans if child.name in going.there)

    # --- which children there are --------------------------------------------------------------------------

    def _find(self, run: Run, step: Step, subplans: Subplans, number: int) -> _Going:
        """Find the children of an earlier run of the step, and end those that it no longer has."""
        plan_id, index = run.plan.plan_id, run.step_index
        wanted = {c.name: child_definition(run.plan.definition, c, run.sandboxes) for c in subplans.plans}
        with self.database.reading() as db:
            of_step = [
                child
                for child in db.children.list(plan_id)
                if (child.spawn.step_index, child.spawn.number) == (index, number)
                and child.plan.state is not State.CANCELLED
            ]
            kept = {c.name: c for c in of_step if c.plan.definition == wanted.get(c.name)}
            gone = with_theirs(db, [c for c in of_step if kept.get(c.name) is not c])
            segments = live_segments(db.history.lines(plan_id), run.plan.line, NEVER)
            behind = [c for c in kept.values() if not is_live(segments, c.spawn.line, c.spawn.seq)]
        going = _Going(
            step=step,
            subplans=subplans,
            number=number,
            order=merge_order(subplans),
            there=kept,
            merged={c.name for c in subplans.plans if merged_name(number, c.name) in run.merged},
            running={},
            failed={},
            errors={},
            conflict=None,
        )
        if gone or behind:
            self.children.refuse_busy(gone)
            self._go_on_with(run, behind, gone, "its step has other child plans now")
        return going

    def _go_on_with(self, run: Run, behind: Sequence[Child], gone: Sequence[Child], why: str) -> None:
        """Record that the plan, on its present line, keeps the children in `behind`; cancel those in `gone`."""
        now = self.clock.now()
        entries = [_spawned(child.plan, now, again=True) for child in behind]
        with run.commit("subplan.adopt") as commit:
            for child, event in zip(behind, commit.record(*entries), strict=True):
                commit.db.children.move(child.plan_id, run.plan.line, event.seq)
            self.children.cancel(commit.db, gone, why, now)
            sandboxes = self.children.forget_sandboxes(commit.db, gone)
        self.children.remove(sandboxes)

    def _spawn(self, run: Run, going: _Going, children: Sequence[ChildPlan]) -> None:
        """Record new child plans, to be forked from the present contents of the sandboxes."""
        new = [child for child in children if child.name not in going.there]
        if not new:
            return
        now = self.clock.now()
        parent = run.plan
        guidance = tuple(d for d in run.decisions if d["type"] == DecisionType.USER_INTERVENTION)
        start = PlanState(step_index=0, outputs={}, memory=run.memory, decisions=guidance)
        plans = [
            new_plan(
                PlanId(self.ids.new()),
                child_definition(parent.definition, child, run.sandboxes),
                parent.plan_id,
                replace(start, outputs={**run.outputs, **child.outputs}),
                now,
            )
            for child in new
        ]
        entries = [_spawned(plan, now, again=False) for plan in plans]
        # Held until the rows are committed, which then refer to what the children are forked from.
        with run.showing_later(), self.store.hold():
            captures = zip(run.sandboxes, self.manager.capture(run), strict=True)
            bases = {sandbox.resource: capture.snapshot for sandbox, capture in captures}
            with run.commit("subplan.spawn") as commit:
                for plan, event in zip(plans, commit.record(*entries), strict=True):
                    spawn = Spawn(
                        parent_plan_id=parent.plan_id,
                        step_index=run.step_index,
                        number=going.number,
                        position=[c.name for c in going.order].index(plan.name),
                        line=parent.line,
                        seq=event.seq,
                    )
                    child = add_plan(commit.db, plan)
                    commit.db.children.add(child.plan_id, spawn, bases)
                    going.there[child.name] = Child(plan=child, spawn=spawn)

    # --- how they go ---------------------------------------------------------------------------------------

    def _start_ready(self, run: Run, going: _Going, crew: Crew) -> None:
        limit = _limit(run, going)
        for child in going.waiting():
            if going.is_halted or len(going.running) >= limit:
                return
            if may_start(child, going.subplans, going.merged):
                self._spawn(run, going, [child])
                plan_id = going.there[child.name].plan_id
                going.running[plan_id] = child.name
                crew.start(plan_id, retries=going.subplans.max_retries)

    def _note_end(self, run: Run, going: _Going, ended: Ended, crew: Crew) -> None:
        name = going.running.pop(ended.plan_id)
        run.inform(*(f"{name}: {text}" for text in ended.messages))
        with self.database.reading() as db:
            plan = db.plans.get(ended.plan_id)
        going.there[name] = Child(plan=plan, spawn=going.there[name].spawn)
        match ended.error:
            case None:
                if going.subplans.merge_strategy is MergeStrategy.PICK:
                    self._release(run, going, [going.there[name]])
            case Interrupted() if going.is_halted:
                return  # it was stopped on purpose
            case Conflicted() as error:
                going.conflict = going.conflict or ChildConstrained(
                    plan_id=run.plan.plan_id,
                    child=name,
                    child_plan_id=plan.plan_id,
                    count=error.facts["count"],
                    conflicts=[],  # they are the child's
                )
            case error:
                going.failed[name], going.errors[name] = error.text, error
                if going.subplans.fail_fast and going.subplans.merge_strategy is not MergeStrategy.PICK:
                    crew.stop()

    def _merge_ready(self, run: Run, going: _Going) -> None:
        if going.subplans.merge_strategy is MergeStrategy.PICK:
            return
        while not (going.conflict or going.failed):
            child = next_to_merge(going.order, going.merged)
            if child is None or not going.is_done(child.name):
                return
            self._merge(run, going, going.there[child.name])

    def _merge(self, run: Run, going: _Going, child: Child) -> None:
        strategy = going.subplans.merge_strategy
        merged = self.merging.merge(run, child, strategy)
        if merged.conflicts and strategy is MergeStrategy.FAIL_ON_CONFLICT:
            paths = ", ".join(f"{conflict.path} ({conflict.reason})" for conflict in merged.conflicts)
            going.failed[child.name] = f"it is in conflict with what was merged before: {paths}"
            return
        going.merged.add(child.name)
        run.merged.append(merged_name(going.number, child.name))
        run.note(Entry(type=EventType.SUBPLAN_MERGED, data=_merged_data(child, merged), at=self.clock.now()))
        run.inform(*(f"{child.name}: {text}" for text in merged.notes))
        if merged.conflicts:
            going.conflict = _conflicts_of(run, child.name, going.step.name, merged)
            return
        self.checkpoints.auto_create_if_configured(
            run,
            CheckpointType.AFTER_SUBPLAN,
            {"step": going.step.name, "child": child.name},
            between_steps=False,
        )

    # --- variants ------------------------------------------------------------------------------------------

    def narrowed(self, run: Run, question: Question) -> Question:
        """Return the question of a step; where it asks which variant to take, with those that can be taken."""
        following = run.plan.definition.steps[run.step_index + 1 : run.step_index + 2]
        if not (following and isinstance(following[0].action, Pick)):
            return question
        names = [child.name for child in self._variants(run, following[0].action) if child.is_done]
        return replace(question, alternatives=tuple(n for n in question.alternatives if n in names))

    def take(self, run: Run, pick: Pick) -> None:
        """Take over the result of the variant that was chosen."""
        chosen = run.outputs.get(pick.chosen_in)
        child = next((c for c in self._variants(run, pick) if c.name == chosen and c.is_done), None)
        if child is None:
            raise ToolFailed(tool="pick", reason=f"there is no finished variant {chosen!r}")
        name = merged_name(child.spawn.number, child.name)
        if name in run.merged:  # with conflicts, which are resolved now
            return
        merged = self.merging.merge(run, child, MergeStrategy.PICK)
        run.merged.append(name)
        data = _merged_data(child, merged) | {"picked": True}
        run.note(Entry(type=EventType.SUBPLAN_MERGED, data=data, at=self.clock.now()))
        if merged.conflicts:
            raise _conflicts_of(run, child.name, run.plan.definition.steps[run.step_index].name, merged)

    def _variants(self, run: Run, pick: Pick) -> list[Child]:
        """Return the children of the step that ran the variants, except those that were cancelled."""
        names = [step.name for step in run.plan.definition.steps]
        index = names.index(pick.variants)
        with self.database.reading() as db:
            found = db.children.list(run.plan.plan_id)
        return [c for c in found if c.spawn.step_index == index and c.plan.state is not State.CANCELLED]

    def _go_on_with_variants(self, run: Run, going: _Going) -> None:
        """Record which variants of an earlier run continue, and give back what those have that are finished."""
        self._release(run, going, [child for child in going.there.values() if child.is_done])
        now = self.clock.now()
        again = [_spawned(c.plan, now, again=True) for c in going.there.values() if not c.is_done]
        run.record(run.plan, *again)

    def _release(self, run: Run, going: _Going, finished: Sequence[Child]) -> None:
        """Give the sandboxes of finished variants back: their checkpoints hold the results, others start in them.

        As many stay parked as run at once, so that the next variants, and the next try, find one each.
        """
        if not finished:
            return
        with run.commit("variant.finish") as commit:
            sandboxes = self.children.forget_sandboxes(commit.db, finished)
        room = min(_limit(run, going), len(going.order)) + 1  # one for the plan of the next try
        self.children.remove(sandboxes, room=room)

    def _end_unstarted(self, run: Run, going: _Going) -> None:
        """Cancel children that will not start, because another failed and the step is `fail_fast`."""
        if not (going.failed and going.subplans.fail_fast):
            return
        with self.database.reading() as db:
            unstarted = [
                going.there[c.name]
                for c in going.waiting()
                if c.name in going.there and not db.sandboxes.list(going.there[c.name].plan_id)
            ]
        if unstarted:
            self._go_on_with(run, (), unstarted, "another child of its step failed")


def _limit(run: Run, going: _Going) -> int:
    """Return how many children may run at once."""
    return going.subplans.max_parallel or run.settings.max_parallel


def _not_started(going: _Going) -> dict[str, Any]:
    """Return the facts of commands that could not be started, if none of them could."""
    errors = [going.errors.get(name) for name in going.failed]
    numbers = [e.facts.get("errno") for e in errors if e is not None and e.facts.get("started") is False]
    return {"started": False, "errno": numbers[0]} if numbers and len(numbers) == len(errors) else {}


def _merged_data(child: Child, merged: MergedChild) -> JsonObject:
    return {
        "plan_id": child.plan_id,
        "name": child.name,
        "paths": merged.paths,
        "conflicts": len(merged.conflicts),
    }


def _conflicts_of(run: Run, child: str, step: str, merged: MergedChild) -> SubplanConflicts:
    return SubplanConflicts(
        plan_id=run.plan.plan_id,
        child=child,
        step=step,
        count=len(merged.conflicts),
        conflicts=[conflict.to_json() for conflict in merged.conflicts],
    )


def _spawned(plan: Plan, at: datetime, *, again: bool) -> Entry:
    data: JsonObject = {"plan_id": plan.plan_id, "name": plan.name, "again": again}
    return Entry(type=EventType.SUBPLAN_SPAWNED, data=data, at=at)
