"""Calls of tools as tools get them, for a step that runs and for one that is undone."""

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
    """What references of this run stand for."""
    return RunValues(
        variables=run.plan.definition.variables,
        outputs=dict(run.outputs),
        guidance=guidance_of(run.decisions),
    )


def tool_request(
    run: Run, call: ToolCall, args: Mapping[str, Json], timeout: float | None, bounds: Bounds | None
) -> ToolRequest:
    """The call, with arguments in which references are replaced, over the run's sandboxes."""
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
