"""Runs the tool of a step and records the call."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.groups_at_work import GroupsAtWork
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.confinement_rules import ConfinementService
from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.appearance_rules import AppearanceService
from mulligan.boundaries import act
from mulligan.domain.checkpoints.store_report import Capture
from mulligan.domain.history.correction import guidance_of
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.interpolation import (
    PLAN_HANDLE,
    VARIANT,
    RunValues,
    replace_references,
    run_environment,
)
from mulligan.domain.plans.step import Step, ToolUse, milliseconds
from mulligan.domain.plans.tool import CallStatus, ToolCall, ToolDeclaration, Undo
from mulligan.domain.resources.appearance import Appearance
from mulligan.domain.resources.bounds import Bounds
from mulligan.domain.text.ids import CallId
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.domain.views.printed import LOGGED, CallInterrupted, printed_in
from mulligan.errors import (
    NotBuiltYet,
    PathEscapes,
    RollbackDisabled,
    SubplansFailed,
    SystemFailed,
    ToolFailed,
)
from mulligan.ports import Clock, Ids, StepHost, Toolbox, ToolRequest

# Errors that fail a step. Any other (a checkpoint that failed, a plan taken over) stops the whole plan.
CALL_FAILURES = (ToolFailed, SubplansFailed, PathEscapes, SystemFailed, NotBuiltYet, RollbackDisabled)
_NAMED_PATHS = 5  # of those that a tool changed and should not have


class ToolCallService(Struct, kw_only=True, frozen=True, eq=False):
    """Calls tools."""

    toolbox: Toolbox
    manager: CheckpointManager
    rules: ConfinementService
    appearances: AppearanceService
    ids: Ids
    clock: Clock

    def declaration(self, use: ToolUse) -> ToolDeclaration:
        """Return the declaration of the step's tool."""
        return self.toolbox.tool(use.tool).declaration

    def declarations(self) -> Mapping[str, ToolDeclaration]:
        """Return the declarations of all tools."""
        return self.toolbox.declarations()

    def announce(self, run: Run, step: Step, use: ToolUse) -> ToolCall:
        """Return the record of a call that is about to run."""
        return ToolCall(
            call_id=CallId(self.ids.new()),
            plan_id=run.plan.plan_id,
            seq=0,  # assigned when it is written
            line=run.plan.line,
            done_seq=None,
            step_index=run.step_index,
            step_name=step.name,
            tool=use.tool,
            resource=run.plan.definition.resource(use.resource).name,
            arguments=use.args,
            status=CallStatus.RUNNING,
            output=None,
            detail={},
            error=None,
            superseded=False,
            started_at=self.clock.now(),
            duration_ms=None,
            undo=self.declaration(use).undo,
        )

    def call(
        self, run: Run, step: Step, use: ToolUse, call: ToolCall, host: StepHost, groups: GroupsAtWork
    ) -> Json:
        """Run the tool and return its output; its end is recorded with the next commit."""
        tool = self.toolbox.tool(use.tool)
        declared = tool.declaration
        args = replace_references(use.args, declared, values_of(run))
        timeout = step.timeout if step.timeout is not None else declared.timeout
        appearance = self.appearances.of(run) if declared.at_real_path else None
        bounds = self.rules.bounds(run, appearance)
        request = tool_request(run, call, args, timeout, bounds, appearance)
        try:
            with self.manager.tool_at_work(run) as before:
                with act("call.run"), groups.during():
                    result = tool.call(request, host)
                if before is not None and not declared.writes:
                    self._refuse_changes(run, declared, before)
        except CALL_FAILURES as exc:
            printed = exc.facts.pop("printed", None)  # for the record only
            error = self.rules.explain(exc, request.root, request.bounds, run.sandboxes)
            detail: JsonObject = {"hint": error.next_step}
            if printed is not None:
                detail |= {
                    "exit_status": cast("Json", error.facts.get("exit_status")),
                    "printed": cast("Json", printed),
                }
            # A column of text: PostgreSQL keeps no NUL, which programs may print.
            failed = replace(
                call, status=CallStatus.FAILED, detail=detail, error=error.text.replace("\0", "\\0")
            )
            self._ended(run, failed, ())
            raise error from exc.__cause__
        except CallInterrupted as exc:
            run.interrupted = replace(
                call, status=CallStatus.INTERRUPTED, detail=exc.printed.stored(None), error=None
            )
            raise
        # An `undo` gets the arguments of the call: what they refer to may have changed by then.
        detail = {**result.detail, "arguments": args} if call.undo is Undo.POSSIBLE else result.detail
        done = replace(call, status=CallStatus.DONE, output=result.output, detail=detail)
        self._ended(run, done, result.messages)
        return result.output

    def _refuse_changes(self, run: Run, declared: ToolDeclaration, before: tuple[Capture, ...]) -> None:
        """Fail a call that changed sandboxes although its tool declares not to write."""
        if run.in_place:
            return  # others may have changed the real resource in the meantime
        paths = self.manager.changed_since(run, before)
        if paths:
            more = f" and {len(paths) - _NAMED_PATHS} more" if len(paths) > _NAMED_PATHS else ""
            raise ToolFailed(
                tool=declared.name,
                reason=f"declares that it does not write, but changed {', '.join(paths[:_NAMED_PATHS])}{more}",
                paths=list(paths),
                hint="declare the tool with writes=True, or let it leave the sandboxes alone",
            )

    def _ended(self, run: Run, call: ToolCall, messages: Sequence[str]) -> None:
        now = self.clock.now()
        duration = milliseconds(call.started_at, now)
        printed = printed_in(call.detail, call.output)
        data: JsonObject = {
            "call_id": call.call_id,
            "index": call.step_index,
            "step": call.step_name,
            "tool": call.tool,
            "status": call.status.value,
            "duration_ms": duration,
            "error": call.error,
            "exit_status": call.detail.get("exit_status"),
            **(printed.bounded(LOGGED).content() if printed else {}),
        }
        run.note(replace(call, duration_ms=duration), Entry(type=EventType.TOOL_CALLED, data=data, at=now))
        for text in messages:
            run.note(Entry(type=EventType.MESSAGE, data={"step": call.step_name, "message": text}, at=now))
            run.inform(f"step {call.step_name!r}: {text}")


def values_of(run: Run) -> RunValues:
    """Return the values that references of this run have."""
    return RunValues(
        variables=run.plan.definition.variables,
        outputs=dict(run.outputs),
        guidance=guidance_of(run.decisions),
    )


def tool_request(
    run: Run,
    call: ToolCall,
    args: Mapping[str, Json],
    timeout: float | None,
    bounds: Bounds | None,
    appearance: Appearance | None = None,
) -> ToolRequest:
    """Return the request of a call over the run's sandboxes, with arguments whose references are replaced."""
    paths = {s.resource: Path(s.path) for s in run.sandboxes}
    folders = [Path(s.path) for s in run.sandboxes if s.type.traits.is_folder]
    values = values_of(run)
    handed = run_environment(values, args)
    number = run.plan.definition.variant
    variant = {VARIANT: str(number)} if number else {}
    return ToolRequest(
        call_id=call.call_id,
        plan_id=run.plan.plan_id,
        step_name=call.step_name,
        args=args,
        root=paths[call.resource],
        script_root=folders[0] if folders else None,
        sandboxes=paths,
        variables=values.variables,
        outputs=values.outputs,
        memory=run.memory,
        guidance=values.guidance,
        environment={**handed.variables, **variant, PLAN_HANDLE: run.plan.handle},
        large_values=handed.files,
        timeout=timeout,
        bounds=bounds,
        appearance=appearance,
        streams=run.streams,
    )
