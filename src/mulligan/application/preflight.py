"""What is refused before anything runs, tool and step named."""

from collections.abc import Mapping

from mulligan.domain.json_value import Json
from mulligan.domain.plan import PlanDefinition
from mulligan.domain.step import Subplans, ToolUse
from mulligan.domain.tool import ToolDeclaration
from mulligan.errors import NotBuiltYet, ToolArgumentsUnfit, ToolMissing, ToolNotCheckpointable


def check_before_running(definition: PlanDefinition, tools: Mapping[str, ToolDeclaration]) -> None:
    """Refuse what this version cannot do, and tools the plan's rollback policy does not allow."""
    for step in definition.steps:
        match step.action:
            case Subplans():
                raise NotBuiltYet(
                    feature=f"running subplans (step {step.name!r})",
                    hint="write the child plans' steps into the plan itself",
                )
            case ToolUse(tool=name) if name not in tools:
                raise ToolMissing(tool=name, step=step.name, known=", ".join(sorted(tools)))
            case ToolUse(tool=name, args=args):
                _check_policy(definition, step.name, tools[name])
                _check_arguments(step.name, args, tools[name])
            case _:
                pass


def _check_policy(definition: PlanDefinition, step: str, tool: ToolDeclaration) -> None:
    policy = definition.rollback_policy
    if policy.enabled and policy.require_checkpoints and tool.writes and not tool.checkpointable:
        raise ToolNotCheckpointable(step=step, tool=tool.name)


def _check_arguments(step: str, args: Mapping[str, Json], tool: ToolDeclaration) -> None:
    """Look again at the arguments of a recorded step: a tool of the user's own may have changed since."""
    missing = [a.name for a in tool.arguments if a.required and a.name not in args]
    unknown = [name for name in args if tool.argument(name) is None]
    if missing:
        raise ToolArgumentsUnfit(step=step, tool=tool.name, reason=f"needs the argument `{missing[0]}`")
    if unknown:
        raise ToolArgumentsUnfit(step=step, tool=tool.name, reason=f"takes no argument `{unknown[0]}`")
