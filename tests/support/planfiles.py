"""Plan files for tests: tools like the built-in ones, and reading in one word."""

from pathlib import Path

import pytest

from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.plans.tool import Argument, ArgumentType, ToolDeclaration
from mulligan.domain.resources.resource import Resource, ResourceType
from mulligan.errors import PlanFileInvalid
from mulligan.planfile import read_plan_file

FILES = frozenset({ResourceType.GIT_CHECKOUT, ResourceType.FS_DIRECTORY})
DATABASES = frozenset({ResourceType.SQLITE})
PROJECT = Path("/home/user/project")

WORKSPACE = Resource(
    name="workspace",
    type=ResourceType.FS_DIRECTORY,
    location=".",
    strategy=None,
    from_revision=None,
    create=False,
)


def declaration(
    name: str,
    *arguments: Argument,
    exactly_one_of: tuple[str, ...] = (),
    resource_types: frozenset[ResourceType] = FILES,
) -> ToolDeclaration:
    return ToolDeclaration(
        name=name,
        summary="",
        arguments=arguments,
        exactly_one_of=exactly_one_of,
        resource_types=resource_types,
        writes=True,
        read_only=False,
        checkpointable=True,
        idempotent=False,
        side_effects=(),
        timeout=None,
    )


def _required(name: str, kind: ArgumentType) -> Argument:
    return Argument(name, kind, required=True)


def _optional(name: str, kind: ArgumentType) -> Argument:
    return Argument(name, kind, required=False)


TOOLS = {
    tool.name: tool
    for tool in (
        declaration(
            "shell",
            _optional("command", ArgumentType.COMMAND),
            _optional("argv", ArgumentType.TEXT_LIST),
            _optional("cwd", ArgumentType.PATH),
            _optional("env", ArgumentType.TEXT_MAP),
            exactly_one_of=("command", "argv"),
            resource_types=frozenset(ResourceType),
        ),
        declaration(
            "write_file",
            _required("path", ArgumentType.PATH),
            _required("content", ArgumentType.TEXT),
            _optional("mode", ArgumentType.MODE),
        ),
        declaration("delete_file", _required("path", ArgumentType.PATH)),
        declaration(
            "edit_file",
            _required("path", ArgumentType.PATH),
            _required("old", ArgumentType.TEXT),
            _required("new", ArgumentType.TEXT),
            _optional("all", ArgumentType.FLAG),
        ),
        declaration(
            "sql",
            _optional("statements", ArgumentType.TEXT_LIST),
            _optional("script", ArgumentType.PATH),
            exactly_one_of=("statements", "script"),
            resource_types=DATABASES,
        ),
        declaration(
            "python",
            _required("function", ArgumentType.FUNCTION),
            _optional("kwargs", ArgumentType.MAP),
            resource_types=frozenset(ResourceType),
        ),
        declaration("notify", _optional("payload", ArgumentType.ANYTHING)),
        declaration("tidy"),
        declaration(
            "measure",
            _optional("whole", ArgumentType.WHOLE),
            _optional("number", ArgumentType.NUMBER),
            _optional("list", ArgumentType.LIST),
        ),
    )
}


def read(text: str | bytes) -> PlanDefinition:
    """The plan of a file with that text."""
    return read_plan_file(
        text.encode() if isinstance(text, str) else text,
        file="plan.yaml",
        project=PROJECT,
        declarations=TOOLS,
        default_resource=WORKSPACE,
    )


def refused(text: str | bytes) -> PlanFileInvalid:
    """The error of a file with that text, which names the file and a place in it."""
    with pytest.raises(PlanFileInvalid) as caught:
        read(text)
    facts = caught.value.facts
    line, column = facts["line"], facts["column"]
    assert isinstance(line, int)
    assert isinstance(column, int)
    assert line >= 1
    assert column >= 1
    assert facts["file"] == "plan.yaml"
    assert facts["path"]
    assert str(caught.value) == f"plan.yaml:{line}:{column}: {facts['path']}: {facts['reason']}"
    return caught.value


def place(error: PlanFileInvalid) -> tuple[object, object, object]:
    """Line, column and path of an error."""
    return error.facts["line"], error.facts["column"], error.facts["path"]


def with_step(step: str) -> str:
    """A plan file whose only step is given in flow style, in line 3 from column 5 on."""
    return f"name: p\nsteps:\n  - {step}\n"


def with_head(head: str) -> str:
    """A plan file that begins with the given lines."""
    return f"{head}\nname: p\nsteps:\n  - {{tool: tidy}}\n"
