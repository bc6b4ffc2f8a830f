"""Checks before anything runs, which name the tool and the step."""

from collections.abc import Mapping

from msgspec.structs import replace

from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.plans.step import Subplans, ToolUse
from mulligan.domain.plans.tool import ToolDeclaration
from mulligan.domain.text.json_value import Json
from mulligan.errors import ToolArgumentsUnfit, ToolMissing, ToolNotCheckpointable


def check_before_running(definition: PlanDefinition, tools: Mapping[str, ToolDeclaration]) -> None:
    """Refuse missing tools, arguments they do not take, and tools that the rollback policy does not allow."""
    policy = definition.rollback_policy
    requires_checkpoints = policy.enabled and policy.require_checkpoints
    for step in definition.steps:
        match step.action:
            case Subplans(plans=children):
                for child in children:
                    check_before_running(replace(definition, steps=child.steps), tools)
            case ToolUse(tool=name) if name not in tools:
                raise ToolMissing(tool=name, step=step.name, known=", ".join(sorted(tools)))
            case ToolUse(tool=name, args=args):
                if requires_checkpoints and tools[name].writes and not tools[name].checkpointable:
                    raise ToolNotCheckpointable(step=step.name, tool=name)
                _check_arguments(step.name, args, tools[name])
            case _:
                pass


def _check_arguments(step: str, args: Mapping[str, Json], tool: ToolDeclaration) -> None:
    """Check the arguments of a recorded step again: a tool of the user may have changed since."""
    missing = [a.name for a in tool.arguments if a.required and a.name not in args]
    unknown = [name for name in args if tool.argument(name) is None]
    if missing:
        raise ToolArgumentsUnfit(step=step, tool=tool.name, reason=f"needs the argument `{missing[0]}`")
    if unknown:
        raise ToolArgumentsUnfit(step=step, tool=tool.name, reason=f"takes no argument `{unknown[0]}`")
