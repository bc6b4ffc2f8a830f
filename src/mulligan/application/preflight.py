"""What is refused before anything runs, tool and step named."""

from collections.abc import Mapping

from mulligan.config import Isolation, Settings
from mulligan.domain.plan import PlanDefinition
from mulligan.domain.step import Subplans, ToolUse
from mulligan.domain.tool import ToolDeclaration
from mulligan.errors import NotBuiltYet, ToolNotCheckpointable


def cautions(settings: Settings) -> tuple[str, ...]:
    """What the user must know of how a plan runs under these settings."""
    if settings.isolate is Isolation.AUTO:
        text = "tools are not confined to the sandboxes: isolation is not built yet"
        return (f"{text} (`mulligan config set sandbox.isolate off` says that you know)",)
    return ()


def check_before_running(
    definition: PlanDefinition, settings: Settings, tools: Mapping[str, ToolDeclaration]
) -> None:
    """Refuse what this version cannot do, and tools the plan's rollback policy does not allow."""
    if settings.isolate is Isolation.REQUIRED:
        raise NotBuiltYet(
            feature="confining tools (sandbox.isolate: required)",
            hint="set `sandbox.isolate` to `off`: tools then can write outside their sandboxes",
        )
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
