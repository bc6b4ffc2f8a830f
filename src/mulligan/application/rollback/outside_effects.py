"""Undoes effects of tool calls outside the sandboxes, before the sandboxes are restored."""

from collections.abc import Callable
from typing import cast

from msgspec import Struct

from mulligan.application.runs.commit import Entry
from mulligan.application.runs.confinement_rules import ConfinementService
from mulligan.application.runs.run import Run
from mulligan.application.runs.tool_calls import tool_request
from mulligan.boundaries import act
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.history.lines import live_segments
from mulligan.domain.history.undo import Undoing, described, plan_undoing
from mulligan.domain.plans.decision import Choice
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.tool import ToolCall, Undo
from mulligan.domain.text.ids import DecisionId, GroupId
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.errors import MulliganError, PlanTakenOver, ToolFailed
from mulligan.ports import Clock, Toolbox
from mulligan.rows.database import Database


class UndoService(Struct, kw_only=True, frozen=True, eq=False):
    """Calls the `undo` of every call that a return supersedes, newest first."""

    database: Database
    toolbox: Toolbox
    rules: ConfinementService
    clock: Clock

    def plan(self, run: Run, target: CheckpointGroup) -> Undoing:
        """Return what a return to the group does to effects outside, without loading a tool."""
        plan_id = run.plan.plan_id
        with self.database.reading() as db:
            segments = live_segments(db.history.lines(plan_id), target.line, target.seq)
            return plan_undoing(db.tool_calls.list_external(plan_id), segments)

    def refuse_where_impossible(self, undoing: Undoing) -> None:
        """Refuse a return whose tools may not be loaded."""
        for call in undoing.undone:
            self.toolbox.require(call.tool)

    def carry_out(self, run: Run, undoing: Undoing) -> tuple[str, ...]:
        """Call every `undo` and record it at once; return the calls whose `undo` failed."""
        self.refuse_where_impossible(undoing)
        try:
            failed = [described(call) for call in undoing.undone if not self._undo(run, call)]
        finally:
            self.toolbox.forget_processes()
        texts = [f"effects outside the sandboxes remain: {described(call)}" for call in undoing.irreversible]
        again = "was undone by an earlier return and is not done again"
        for text in (*texts, *(f"{again}: {described(call)}" for call in undoing.not_redone)):
            run.announce(text, self.clock.now())
        return tuple(failed)

    def _undo(self, run: Run, call: ToolCall) -> bool:
        """Undo one call; a failure is announced, and does not prevent the undo of other calls."""
        error: MulliganError | None = None
        host = _Undoing(run, call, self.clock)
        try:
            args = cast("JsonObject", call.detail["arguments"])
            request = tool_request(run, call, args, None, self.rules.bounds(run, None))
            with act("undo.run"):
                self.toolbox.undo(call.tool, request, call.output, host)
        except PlanTakenOver:
            raise
        except MulliganError as exc:
            error = exc
        data: JsonObject = {
            "call_id": call.call_id,
            "step": call.step_name,
            "tool": call.tool,
            "status": (Undo.FAILED if error else Undo.DONE).value,
            "error": error.text if error else None,
        }
        entry = Entry(type=EventType.TOOL_UNDONE, data=data, at=self.clock.now())
        with run.commit("undo.record") as commit:
            commit.db.tool_calls.set_undo(call.call_id, Undo.FAILED if error else Undo.DONE)
            commit.record(entry)
        if error:
            run.announce(f"could not be undone: {described(call)}: {error.text}", self.clock.now())
        return error is None


class _Undoing(Struct, frozen=True, eq=False):
    """The host of a tool that undoes a call: the plan is going back, so it refuses almost everything."""

    run: Run
    call: ToolCall
    clock: Clock

    def record_decision(self, choice: Choice, metadata: JsonObject) -> DecisionId:  # noqa: ARG002 - of the port
        """Refuse: the decision would be superseded at once."""
        raise self._refusal("record a decision")

    def checkpoint(self, label: str, metadata: JsonObject) -> GroupId:  # noqa: ARG002 - of the port
        """Refuse: the sandboxes are about to be restored."""
        raise self._refusal("take a checkpoint")

    def spawn(self, document: JsonObject) -> Json:  # noqa: ARG002 - of the port
        """Refuse: a return starts nothing new."""
        raise self._refusal("run child plans")

    def log(self, message: str) -> None:
        """Write a line into the plan's log."""
        data: JsonObject = {"step": self.call.step_name, "message": message}
        self.run.note(Entry(type=EventType.LOG, data=data, at=self.clock.now()))

    def output(self, data: bytes) -> None:
        """Show output of the tool, live."""
        self.run.observer.output(self.run.plan.plan_id, data)

    def save_memory(self, memory: JsonObject) -> None:
        """Ignore it: the plan's memory comes back with the group."""

    def while_waiting(self, now: float, learn: Callable[[], None]) -> float | None:  # noqa: ARG002 - of the port
        """Do nothing: the sandboxes are about to be restored."""
        return None

    def _refusal(self, what: str) -> ToolFailed:
        return ToolFailed(
            tool=self.call.tool,
            reason=f"an undo cannot {what}: the plan is going back",
            hint="undo only what the call did outside the sandboxes",
        )
