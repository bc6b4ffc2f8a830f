"""Runs one step: the groups around it, its tool call or decision, and requests of the tool."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService, decided, reason_for
from mulligan.application.checkpoints.groups_at_work import GroupsAtWork, WorkGroupService
from mulligan.application.plans.guards import open_question
from mulligan.application.runs.commit import Commit, Entry, Record, step_data
from mulligan.application.runs.preflight import check_before_running
from mulligan.application.runs.run import Run
from mulligan.application.runs.step_failure import FailureService
from mulligan.application.runs.tool_calls import CALL_FAILURES, ToolCallService
from mulligan.application.subplans.subplan_service import SubplanService
from mulligan.boundaries import act
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup, Reason
from mulligan.domain.history.timeline_entry import DeedKind, DeedStatus, TimelineEntry
from mulligan.domain.plans.decision import Choice, Decision, DecisionType, Question
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Phase, PlanDefinition, State
from mulligan.domain.plans.step import (
    Milestone,
    Pick,
    Step,
    StepRecord,
    StepStatus,
    Subplans,
    ToolUse,
    about,
    milliseconds,
)
from mulligan.domain.plans.tool import Undo
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import DecisionId, GroupId
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.domain.text.names import label_problem
from mulligan.domain.trees.real_change import Snapshots
from mulligan.errors import (
    MulliganError,
    PlanFileInvalid,
    RollbackDisabled,
    ToolFailed,
    ToolNotCheckpointable,
    ToolTimedOut,
)
from mulligan.ports import Clock, Ids

# Reads the child plans that a tool of a step asks for, which may name these outputs.
ReadSpawn: TypeAlias = Callable[[JsonObject, PlanDefinition, str, Collection[str]], Subplans]


class ExecutePhase(Struct, kw_only=True, frozen=True, eq=False):
    """One step of a run, from its first group to its last."""

    checkpoints: CheckpointService
    manager: CheckpointManager
    work_groups: WorkGroupService
    calls: ToolCallService
    subplans: SubplanService
    read_spawn: ReadSpawn
    failures: FailureService
    ids: Ids
    clock: Clock

    def run_step(self, run: Run) -> None:
        """Run the next step, with its retries; raise StepFailed if the last try fails."""
        step = run.plan.definition.steps[run.step_index]
        due = self._due_before(run, step)
        for tries_left in range(step.retries, -1, -1):
            try:
                self._try(run, step, due)
            except CALL_FAILURES as exc:
                if step.keep and _began(exc):  # and may have done something
                    self.failures.keep(run, step, exc)
                    return
                if not tries_left:
                    raise self.failures.fail(run, step, exc) from exc
                self.failures.try_again(run, step, exc)
                due = []
            else:
                return

    def _try(self, run: Run, step: Step, due: Sequence[Reason]) -> None:
        begun = self.clock.now()
        match step.action:
            case ToolUse() as use if step.check:
                self._check(run, step, use, due, begun)
            case ToolUse() as use:
                self._use_tool(run, step, use, due, begun)
            case Choice() as choice:
                self._start(run, step, due, ())
                decision_id = self._note_decision(run, step, choice)
                self._complete(run, step, choice.chosen, begun)
                self._keep_decision(run, step, decision_id, {}, between_steps=True)
            case Question() as question:
                for reason in due:
                    self.checkpoints.create_checkpoint(run, reason)
                raise open_question(run.plan, self.subplans.narrowed(run, question))
            case Milestone():
                self._start(run, step, due, ())
                self._complete(run, step, None, begun)
            case Subplans() as subplans:
                self._start(run, step, due, ())
                self.subplans.run(run, step, subplans, 0)
                self._complete(run, step, None, begun)
            case Pick() as pick:
                self._start(run, step, due, ())
                self.subplans.take(run, pick)
                self._complete(run, step, run.outputs.get(pick.chosen_in), begun)
        if step.label is not None:
            self.take_labelled(run, step, step.label, {}, between_steps=True)
        self.checkpoints.auto_create_if_configured(
            run, CheckpointType.AFTER_STEP, {"step": step.name}, between_steps=True
        )
        if not run.plan.definition.rollback_policy.enabled:
            run.record(run.progressed())

    def _use_tool(self, run: Run, step: Step, use: ToolUse, due: Sequence[Reason], begun: datetime) -> None:
        writes = self.calls.declaration(use).writes
        metadata: JsonObject = {"step": step.name, "tool": use.tool}
        on_write = writes and self._fires(run, CheckpointType.ON_TOOL_WRITE)
        before_call = reason_for(CheckpointType.ON_TOOL_WRITE, metadata, between_steps=False)
        call = self.calls.announce(run, step, use)
        self._start(run, step, [*due, before_call] if on_write else due, [call])
        groups = self.work_groups.of(run, step, use.tool)
        host = StepInProgress(self, run, step, groups)
        output = self.calls.call(run, step, use, call, host, groups)
        if call.undo is not Undo.NOT_NEEDED:
            run.record(run.plan)  # at once: no later restore undoes its effects outside
        self._complete(run, step, output, begun)
        if writes:
            trigger = CheckpointType.ON_TOOL_WRITE_COMPLETE
            self.checkpoints.auto_create_if_configured(run, trigger, metadata, between_steps=True)

    def _check(self, run: Run, step: Step, use: ToolUse, due: Sequence[Reason], begun: datetime) -> None:
        """Run a check; its result is recorded, and what it wrote is dropped, so that the next group is as the last."""
        call = self.calls.announce(run, step, use)
        self._start(run, step, due, [call])
        groups = self.work_groups.of(run, step, use.tool)
        try:
            output = self.calls.call(run, step, use, call, StepInProgress(self, run, step, groups), groups)
        except CALL_FAILURES as exc:
            self._put_back(run)
            self.failures.count(run, step, exc)
        else:
            self._put_back(run)
            self._complete(run, step, output, begun)

    def _put_back(self, run: Run) -> None:
        """Bring the sandboxes back to the last group; a crash in between leaves a step that a resume begins again."""
        group = Snapshots({name: checkpoint.snapshot for name, checkpoint in run.latest.items()})
        with act("check.drop"):
            self.manager.restore(run, group, group)

    def _start(self, run: Run, step: Step, due: Sequence[Reason], records: Sequence[Record]) -> None:
        """Take the groups that are due before the step; record its start together with the last of them."""
        index, now = run.step_index, self.clock.now()
        started: list[Record] = [
            StepRecord(index=index, name=step.name, status=StepStatus.RUNNING, duration_ms=None),
            Entry(type=EventType.STEP_STARTED, data=step_data(index, step), at=now),
            *_on_timeline(run, step, now),
            *records,
        ]
        for reason in due[:-1]:
            self.checkpoints.create_checkpoint(run, reason)
        if due:
            self.checkpoints.create_checkpoint(run, due[-1], started)
            return
        # Without a group the plan does not progress: the rows show what happened, but a resume goes back to the
        # newest group and runs these steps again.
        run.record(run.plan, *started)

    def _complete(self, run: Run, step: Step, output: Json, begun: datetime) -> None:
        """Count the step. It is complete once it is recorded, together with the next group."""
        index, now = run.step_index, self.clock.now()
        duration = milliseconds(begun, now)
        data = step_data(index, step) | {"duration_ms": duration}
        run.note(
            StepRecord(index=index, name=step.name, status=StepStatus.DONE, duration_ms=duration),
            Entry(type=EventType.STEP_DONE, data=data, at=now),
        )
        run.outputs[step.name] = output
        run.merged = []
        run.step_index += 1

    def _due_before(self, run: Run, step: Step) -> list[Reason]:
        enabled = run.plan.definition.rollback_policy.enabled
        # A plan waits on a group, and a check goes back to one.
        needed = step.retries > 0 or isinstance(step.action, Question) or step.check
        due = enabled and (needed or CheckpointType.BEFORE_STEP in run.settings.triggers)
        before = reason_for(CheckpointType.BEFORE_STEP, {"step": step.name}, between_steps=True)
        return [before] if due else []

    def _fires(self, run: Run, trigger: CheckpointType) -> bool:
        return run.plan.definition.rollback_policy.enabled and trigger in run.settings.triggers

    # --- questions ---------------------------------------------------------------------------------------------

    def answer(self, run: Run, step: Step, choice: Choice) -> CheckpointGroup:
        """Record the answer to a question as the result of its step, with the group that a decision has.

        One act: the plan waits for it before, and afterwards only waits to be resumed.
        """
        begun = self.clock.now()
        decision_id = self._note_decision(run, step, choice)
        if not run.plan.definition.session:  # whose program asks between its steps
            self._complete(run, step, choice.chosen, begun)
        reason = reason_for(CheckpointType.DECISION, {"step": step.name}, between_steps=True)
        queued = run.progressed().moved_to(Phase.EXECUTE, State.QUEUED, begun)
        becomes = replace(queued, failure=None)
        return self.checkpoints.create_checkpoint(
            run, replace(reason, decision_id=decision_id), becomes=becomes
        )

    # --- steps that a program runs itself, in a session ------------------------------------------------------

    def begin_own(self, run: Run, name: str) -> Step:
        """Begin a step of the caller, with the group that is due before it."""
        step = Step(name=name, action=Milestone(), label=None, timeout=None, retries=0)
        self._start(run, step, self._due_before(run, step), ())
        return step

    def end_own(self, run: Run, step: Step, begun: datetime) -> None:
        """Count such a step, and take its group even where only `before_step` is on.

        The next step may start much later, and a completed step must not be lost if the program dies before.
        """
        self._complete(run, step, None, begun)
        run.steps.append(step.name)
        if self._fires(run, CheckpointType.AFTER_STEP) or self._fires(run, CheckpointType.BEFORE_STEP):
            after = reason_for(CheckpointType.AFTER_STEP, {"step": step.name}, between_steps=True)
            self.checkpoints.create_checkpoint(run, after)

    # --- what a tool can ask for while it runs -------------------------------------------------------------

    def record_decision(self, run: Run, step: Step, choice: Choice, metadata: JsonObject) -> DecisionId:
        """Record a choice inside a step together with its group: a rollback to that group keeps it."""
        decision_id = self._note_decision(run, step, choice)
        self._keep_decision(run, step, decision_id, metadata, between_steps=False)
        return decision_id

    def _note_decision(self, run: Run, step: Step, choice: Choice) -> DecisionId:
        decision = Decision(
            decision_id=DecisionId(self.ids.new()),
            plan_id=run.plan.plan_id,
            seq=0,  # assigned when it is written
            line=run.plan.line,
            parent_decision_id=None,  # the first live one of its step, when it is written
            type=DecisionType.CHOICE,
            step_index=run.step_index,
            step_name=step.name,
            choice=choice,
            superseded=False,
            created_at=self.clock.now(),
        )
        run.note(decision, decided(decision))
        run.decisions.append(decision.content())
        return decision.decision_id

    def _keep_decision(
        self, run: Run, step: Step, decision_id: DecisionId, metadata: JsonObject, *, between_steps: bool
    ) -> None:
        if not run.plan.definition.rollback_policy.enabled:
            run.record(run.plan)
            return
        reason = reason_for(
            CheckpointType.DECISION, {"step": step.name, **metadata}, between_steps=between_steps
        )
        self.checkpoints.create_checkpoint(run, replace(reason, decision_id=decision_id))

    def take_labelled(
        self, run: Run, step: Step | None, label: str, metadata: JsonObject, *, between_steps: bool
    ) -> CheckpointGroup:
        """Take a labelled group; in a session also between two steps."""
        problem = label_problem(label)
        if problem:
            raise ToolFailed(
                tool="checkpoint", reason=f"the label {label!r} {problem}", hint="choose another label"
            )
        if not run.plan.definition.rollback_policy.enabled:
            raise RollbackDisabled(plan_id=run.plan.plan_id)
        metadata = {"step": step.name, **metadata} if step else metadata
        reason = reason_for(CheckpointType.MANUAL, metadata, between_steps=between_steps)
        return self.checkpoints.create_checkpoint(run, replace(reason, label=label))

    def take_unnamed(self, run: Run, metadata: JsonObject) -> CheckpointGroup:
        """Take a group between two steps of a session."""
        if not run.plan.definition.rollback_policy.enabled:
            raise RollbackDisabled(plan_id=run.plan.plan_id)
        return self.checkpoints.create_checkpoint(
            run, reason_for(CheckpointType.MANUAL, metadata, between_steps=True)
        )

    def keep_present(self, run: Run, metadata: JsonObject, write: Callable[[Commit, GroupId], None]) -> None:
        """Take a group between two steps of a session if something differs from the last one; `write` adds rows."""
        if not run.plan.definition.rollback_policy.enabled:
            raise RollbackDisabled(plan_id=run.plan.plan_id)
        reason = reason_for(CheckpointType.MANUAL, metadata, between_steps=True)
        differs = run.state != run.plan.progress
        self.checkpoints.keep_present(run, reason, write, always=differs)

    def spawn(self, run: Run, step: Step, document: JsonObject, number: int) -> Json:
        """Run and merge child plans that a tool asks for; return the outputs of each."""
        try:
            subplans = self.read_spawn(document, run.plan.definition, step.name, run.outputs)
            asked = replace(run.plan.definition, steps=(replace(step, action=subplans),))
            check_before_running(asked, self.calls.declarations())
        except (PlanFileInvalid, ToolNotCheckpointable) as exc:
            raise ToolFailed(tool="spawn", reason=exc.text, hint=exc.next_step) from exc
        children = self.subplans.run(run, step, subplans, number)
        return [
            {
                "plan_id": child.plan_id,
                "name": child.name,
                "outputs": {
                    s.name: child.plan.progress.outputs.get(s.name) for s in child.plan.definition.steps
                },
            }
            for child in children
        ]

    def log(self, run: Run, step: Step | None, message: str) -> None:
        """Write a message of a tool or program into the log, with the next commit."""
        data: JsonObject = {"step": step.name if step else None, "message": message}
        run.note(Entry(type=EventType.LOG, data=data, at=self.clock.now()))


def _began(error: MulliganError) -> bool:
    """Return whether the command of a failed call ran."""
    return error.facts.get("exit_status") is not None or isinstance(error, ToolTimedOut)


def _on_timeline(run: Run, step: Step, at: datetime) -> list[TimelineEntry]:
    """Return the entry of a step; what child plans do belongs to the step of their parent."""
    if run.plan.parent_plan_id is not None:
        return []
    entry = TimelineEntry(
        number=0,  # assigned when it is written, as is `seq`
        plan_id=run.plan.plan_id,
        kind=DeedKind.RUN if run.plan.definition.command else DeedKind.STEP,
        title=about(step) or step.name,
        step_index=run.step_index,
        line=run.plan.line,
        seq=0,
        status=DeedStatus.RUNNING,
        created_at=at,
    )
    return [entry]


class StepInProgress(Struct, eq=False):
    """The host of a running tool: its requests to the plan. Each waits for the group that is being taken."""

    phase: ExecutePhase
    run: Run
    step: Step
    groups: GroupsAtWork
    spawned: int = 0

    def record_decision(self, choice: Choice, metadata: JsonObject) -> DecisionId:
        """Record a choice, with the checkpoint group that belongs to it."""
        self.groups.settle()
        return self.phase.record_decision(self.run, self.step, choice, metadata)

    def checkpoint(self, label: str, metadata: JsonObject) -> GroupId:
        """Take a labelled group now."""
        self.groups.settle()
        group = self.phase.take_labelled(self.run, self.step, label, metadata, between_steps=False)
        return group.group_id

    def spawn(self, document: JsonObject) -> Json:
        """Run child plans on the present contents of the sandboxes, and merge them."""
        self.groups.settle()
        number, self.spawned = self.spawned, self.spawned + 1
        return self.phase.spawn(self.run, self.step, document, number)

    def log(self, message: str) -> None:
        """Write a line into the plan's log."""
        self.groups.settle()
        self.phase.log(self.run, self.step, message)

    def output(self, data: bytes) -> None:
        """Show output of the tool, live."""
        self.run.observer.output(self.run.plan.plan_id, data)

    def save_memory(self, memory: JsonObject) -> None:
        """Keep the tool's `StepContext.state`."""
        self.groups.settle()
        self.run.memory = memory

    def while_waiting(self, now: float, learn: Callable[[], None]) -> float | None:
        """Take the group that is due while programs are at work."""
        return self.groups.serve(now, learn)
