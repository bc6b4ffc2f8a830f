"""The declarations of built-in tools: all of them write, and only to sandboxes."""

from mulligan.domain.plans.tool import Argument, ToolDeclaration
from mulligan.domain.resources.resource import ResourceType

FOLDERS = frozenset(type for type in ResourceType if type.traits.is_folder)
EVERY_RESOURCE = frozenset(ResourceType)


def declare(
    name: str,
    summary: str,
    *arguments: Argument,
    exactly_one_of: tuple[str, ...] = (),
    resource_types: frozenset[ResourceType],
    idempotent: bool,
    at_real_path: bool = False,
) -> ToolDeclaration:
    """Declare a tool that writes to sandboxes and nowhere else."""
    return ToolDeclaration(
        name=name,
        summary=summary,
        arguments=arguments,
        exactly_one_of=exactly_one_of,
        resource_types=resource_types,
        writes=True,
        read_only=False,
        checkpointable=True,
        idempotent=idempotent,
        side_effects=(),
        timeout=None,
        at_real_path=at_real_path,
    )
