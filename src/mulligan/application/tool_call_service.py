"""Runs the tool of a step and keeps the record of the call."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mulligan.application.run import Entry, Run
from mulligan.boundaries import act
from mulligan.domain.event import EventType
from mulligan.domain.ids import CallId
from mulligan.domain.interpolation import RunValues, replace_references, run_environment
from mulligan.domain.json_value import Json, JsonObject
from mulligan.domain.resource import ResourceType
from mulligan.domain.step import Step, ToolUse
from mulligan.domain.tool import CallStatus, ToolCall, ToolDeclaration
from mulligan.errors import NotBuiltYet, PathEscapes, RollbackDisabled, SystemFailed, ToolFailed
from mulligan.ports import Clock, Ids, StepHost, Toolbox, ToolRequest

# What a call may end in. Anything else (a checkpoint that failed, a plan taken over) stops the whole plan.
CALL_FAILURES = (ToolFailed, PathEscapes, SystemFailed, NotBuiltYet, RollbackDisabled)


class ToolCallService:
    """One call of one tool."""

    def __init__(self, *, toolbox: Toolbox, ids: Ids, clock: Clock) -> None:
        """Take the tools from this box."""
        self._toolbox = toolbox
        self._ids = ids
        self._clock = clock

    def declaration(self, use: ToolUse) -> ToolDeclaration:
        """What the step's tool declares."""
        return self._toolbox.tool(use.tool).declaration

    def announce(self, run: Run, step: Step, use: ToolUse) -> ToolCall:
        """The record of a call that is about to run."""
        return ToolCall(
            call_id=CallId(self._ids.new()),
            plan_id=run.plan.plan_id,
            seq=0,  # given when it is written
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
            started_at=self._clock.now(),
            duration_ms=None,
        )

    def call(self, run: Run, step: Step, use: ToolUse, call: ToolCall, host: StepHost) -> Json:
        """Run the tool and give its output; how it ended is recorded with the next group."""
        tool = self._toolbox.tool(use.tool)
        request = self._request(run, step, use, call, tool.declaration)
        run.still = None  # from here on the sandboxes may change
        try:
            with act("call.run"):
                result = tool.call(request, host)
        except CALL_FAILURES as exc:
            failed = replace(call, status=CallStatus.FAILED, detail={"hint": exc.next_step}, error=exc.text)
            self._ended(run, failed, ())
            raise
        finally:
            run.still = None  # also after a checkpoint inside the tool, which then worked on
        done = replace(call, status=CallStatus.DONE, output=result.output, detail=result.detail)
        self._ended(run, done, result.messages)
        return result.output

    def _request(
        self, run: Run, step: Step, use: ToolUse, call: ToolCall, declared: ToolDeclaration
    ) -> ToolRequest:
        definition = run.plan.definition
        paths = {s.resource: Path(s.path) for s in run.sandboxes}
        scripts = next(s.path for s in run.sandboxes if s.type is not ResourceType.SQLITE)
        # Guidance is empty until a correction gives some.
        values = RunValues(variables=definition.variables, outputs=dict(run.outputs), guidance="")
        handed = run_environment(values)
        return ToolRequest(
            call_id=call.call_id,
            plan_id=run.plan.plan_id,
            step_name=step.name,
            args=replace_references(use.args, declared, values),
            root=paths[call.resource],
            script_root=Path(scripts),
            sandboxes=paths,
            variables=values.variables,
            outputs=values.outputs,
            memory=run.memory,
            guidance=values.guidance,
            environment=handed.variables,
            large_values=handed.files,
            timeout=step.timeout if step.timeout is not None else declared.timeout,
        )

    def _ended(self, run: Run, call: ToolCall, messages: Sequence[str]) -> None:
        now = self._clock.now()
        duration = int((now - call.started_at).total_seconds() * 1000)
        data: JsonObject = {
            "call_id": call.call_id,
            "step": call.step_name,
            "tool": call.tool,
            "status": call.status.value,
            "duration_ms": duration,
            "error": call.error,
        }
        run.pending += [
            replace(call, duration_ms=duration),
            Entry(type=EventType.TOOL_CALLED, data=data, at=now),
        ]
        for text in messages:
            told: JsonObject = {"step": call.step_name, "message": text}
            run.pending.append(Entry(type=EventType.MESSAGE, data=told, at=now))
            run.told.append(f"step {call.step_name!r}: {text}")
