"""The requests that tools get, for a step and for its undo."""

from collections.abc import Mapping
from pathlib import Path

from mulligan.application.runs.run import Run
from mulligan.domain.history.correction import guidance_of
from mulligan.domain.plans.interpolation import RunValues, run_environment
from mulligan.domain.plans.tool import ToolCall
from mulligan.domain.resources.bounds import Bounds
from mulligan.domain.text.json_value import Json
from mulligan.ports import ToolRequest


def values_of(run: Run) -> RunValues:
    """Return the values that references of this run have."""
    return RunValues(
        variables=run.plan.definition.variables,
        outputs=dict(run.outputs),
        guidance=guidance_of(run.decisions),
    )


def tool_request(
    run: Run, call: ToolCall, args: Mapping[str, Json], timeout: float | None, bounds: Bounds | None
) -> ToolRequest:
    """Return the request of a call over the run's sandboxes, with arguments whose references are replaced."""
    paths = {s.resource: Path(s.path) for s in run.sandboxes}
    scripts = next((s.path for s in run.sandboxes if s.type.traits.is_folder), None)
    values = values_of(run)
    handed = run_environment(values, args)
    return ToolRequest(
        call_id=call.call_id,
        plan_id=run.plan.plan_id,
        step_name=call.step_name,
        args=args,
        root=paths[call.resource],
        script_root=None if scripts is None else Path(scripts),
        sandboxes=paths,
        variables=values.variables,
        outputs=values.outputs,
        memory=run.memory,
        guidance=values.guidance,
        environment=handed.variables,
        large_values=handed.files,
        timeout=timeout,
        bounds=bounds,
    )
