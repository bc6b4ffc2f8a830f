"""`@mulligan.tool`: what a declaration says, and what it refuses where it stands."""

import functools
import sys
from types import ModuleType

import pytest

import mulligan
from mulligan.adapters.tools.user_tools.tool_decorator import ATTRIBUTE, declared_by
from mulligan.domain.resources.resource import ResourceType


def facts(function):
    return getattr(function, ATTRIBUTE).facts


def test_a_function_stays_itself_and_takes_its_name_and_summary():
    @mulligan.tool
    def greet(context, who: str):
        """Say hello.

        And more.
        """
        return f"hello {who}"

    assert greet(None, who="Ada") == "hello Ada"
    assert facts(greet) == {
        "name": "greet",
        "summary": "Say hello.",
        "doc": "Say hello.\n\nAnd more.",
        "arguments": [{"name": "who", "type": "text", "required": True}],
        "resource_types": sorted(ResourceType),
        "writes": True,
        "read_only": False,
        "checkpointable": True,
        "idempotent": False,
        "side_effects": [],
        "timeout": None,
        "undoable": False,
    }


def test_a_tool_can_be_given_a_name():
    assert facts(mulligan.tool("put-page")(lambda_tool()))["name"] == "put-page"
    assert facts(mulligan.tool(name="put-page")(lambda_tool()))["name"] == "put-page"
    assert facts(mulligan.tool()(lambda_tool()))["name"] == "a_tool"
    with pytest.raises(ValueError, match="cannot be a tool's name"):
        mulligan.tool("")(lambda_tool())


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, (True, False, True)),
        ({"writes": True}, (True, False, True)),
        ({"checkpointable": False}, (True, False, False)),
        ({"read_only": True}, (False, True, False)),
        ({"writes": False}, (False, False, False)),
        ({"writes": False, "checkpointable": True}, (False, False, True)),
    ],
)
def test_writers_are_checkpointable_unless_they_say_otherwise(given, wanted):
    found = facts(mulligan.tool(**given)(lambda_tool()))
    assert (found["writes"], found["read_only"], found["checkpointable"]) == wanted


def lambda_tool():
    def a_tool(context): ...

    return a_tool


def test_all_that_can_be_declared():
    def undo(context, arguments, result): ...

    @mulligan.tool(
        name="put-page",
        idempotent=True,
        side_effects=("external", "network"),
        timeout=2.5,
        undo=undo,
        resource_types=["sqlite"],
    )
    def put(context): ...

    found = getattr(put, ATTRIBUTE)
    assert found.undo is undo
    assert found.facts["name"] == "put-page"
    assert found.facts["idempotent"]
    assert found.facts["side_effects"] == ["external", "network"]
    assert found.facts["timeout"] == 2.5
    assert found.facts["undoable"]
    assert found.facts["resource_types"] == ["sqlite"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"read_only": True, "writes": True}, "read_only and writes contradict"),
        ({"read_only": True, "side_effects": ["external"]}, "read_only and the side effect 'external'"),
        ({"name": "two words"}, "cannot be a tool's name"),
        ({"writes": 1}, "writes must be True or False"),
        ({"checkpointable": "yes"}, "checkpointable must be True or False"),
        ({"side_effects": "external"}, "side_effects must be a list of texts"),
        ({"side_effects": [1]}, "side_effects must be a list of texts"),
        ({"timeout": 0}, "timeout must be a number of seconds"),
        ({"timeout": True}, "timeout must be a number of seconds"),
        ({"timeout": "1"}, "timeout must be a number of seconds"),
        ({"undo": "undo"}, "undo must be a function"),
        ({"resource_types": ["folder"]}, "resource_types must be some of"),
        ({"resource_types": []}, "resource_types must be some of"),
    ],
)
def test_contradictions_are_refused_where_they_are_declared(given, reason):
    with pytest.raises((ValueError, TypeError), match=reason):
        mulligan.tool(**given)(lambda_tool())


def test_arguments_are_read_off_the_signature():
    @mulligan.tool
    def f(
        context,
        a,
        b: str,
        c: int = 1,
        *,
        d: float,
        e: bool = False,
        g: list | None = None,
        h: "dict[str, str]",
        i: list[str] = [],  # noqa: B006 - how users write it
        j: dict[str, int] = {},  # noqa: B006 - likewise
        k: "str|int" = "",
        l: dict = {},  # noqa: B006, E741 - likewise
    ): ...

    found = {a["name"]: (a["type"], a["required"]) for a in facts(f)["arguments"]}
    assert found == {
        "a": ("anything", True),
        "b": ("text", True),
        "c": ("whole number", False),
        "d": ("number", True),
        "e": ("true or false", False),
        "g": ("list", False),
        "h": ("mapping of texts", True),
        "i": ("list of texts", False),
        "j": ("anything", False),
        "k": ("anything", False),
        "l": ("mapping", False),
    }


async def a_coroutine(context): ...


def a_generator(context):
    yield


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (a_coroutine, "neither async nor a generator"),
        (a_generator, "neither async nor a generator"),
        (lambda: None, "cannot be a tool's name"),
    ],
)
def test_only_plain_functions_are_tools(function, reason):
    with pytest.raises((ValueError, TypeError), match=reason):
        mulligan.tool(function)


def test_every_parameter_must_have_a_name_and_the_first_is_the_context():
    def nothing(): ...
    def keyword(*, context): ...
    def many(context, *args): ...
    def more(context, **kwargs): ...
    def unnamed(context, a, /): ...

    for function in (nothing, keyword):
        with pytest.raises(TypeError, match="first parameter must be for the StepContext"):
            mulligan.tool(function)
    for function in (many, more, unnamed):
        with pytest.raises(TypeError, match="no name that a plan could use"):
            mulligan.tool(function)


def test_the_tools_of_a_module_are_found_once_each():
    module = ModuleType("some")

    @mulligan.tool
    def one(context): ...

    vars(module).update(one=one, again=one, number=1, sys=sys)
    assert list(declared_by(module)) == ["one"]
    assert declared_by(one)["one"].function is one
    assert declared_by(print) == {}

    @mulligan.tool(name="one")
    def other(context): ...

    vars(module)["other"] = other
    with pytest.raises(ValueError, match="two tools are called 'one'"):
        declared_by(module)


def test_what_wraps_a_tool_is_what_is_called():
    @mulligan.tool
    def one(context): ...

    @functools.wraps(one)
    def wrapper(context): ...

    assert declared_by(wrapper)["one"].function is wrapper
