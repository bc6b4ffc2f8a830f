"""Tools that this version knows of but cannot run; preflight refuses a plan that uses one, by name."""

from mulligan.domain.resource import ResourceType
from mulligan.domain.tool import Argument, ArgumentType, ToolDeclaration

LATER_TOOLS = {
    "sql": ToolDeclaration(
        name="sql",
        summary="run SQL on a database resource in one transaction",
        arguments=(
            Argument("statements", ArgumentType.TEXT_LIST, required=False),
            Argument("script", ArgumentType.PATH, required=False),
        ),
        exactly_one_of=("statements", "script"),
        resource_types=frozenset({ResourceType.SQLITE}),
        writes=True,
        read_only=False,
        checkpointable=True,
        idempotent=False,
        side_effects=(),
        timeout=None,
    ),
}
