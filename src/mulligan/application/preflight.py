"""What is refused before anything runs, tool and step named."""

from collections.abc import Mapping

from mulligan.domain.plan import PlanDefinition
from mulligan.domain.step import Subplans, ToolUse
from mulligan.domain.tool import ToolDeclaration
from mulligan.errors import NotBuiltYet, ToolNotCheckpointable


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
                raise NotBuiltYet(feature=f"the tool {name!r} (step {step.name!r})")
            case ToolUse(tool=name):
                _check_policy(definition, step.name, tools[name])
            case _:
                pass


def _check_policy(definition: PlanDefinition, step: str, tool: ToolDeclaration) -> None:
    policy = definition.rollback_policy
    if policy.enabled and policy.require_checkpoints and tool.writes and not tool.checkpointable:
        raise ToolNotCheckpointable(step=step, tool=tool.name)
