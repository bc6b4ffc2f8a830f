"""`@mulligan.tool`: makes a user's function a tool, and describes it to the runner.

It is loaded by the user's code and by the worker that calls it; it needs nothing but the standard library, for
the worker's interpreter need not have mulligan's dependencies.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar, overload

ATTRIBUTE = "__mulligan_tool__"  # where a function keeps what it declares
EXTERNAL = "external"
RESOURCE_TYPES = ("fs-directory", "git-checkout", "git-remote", "sqlite")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
# Annotations that say what an argument may be, as written or as a name; any other leaves it open.
_TYPES = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "list": "list",
    "dict": "mapping",
    "list[str]": "list of texts",
    "dict[str,str]": "mapping of texts",
}

Function = TypeVar("Function", bound=Callable[..., Any])
Undo = Callable[[Any, dict[str, Any], Any], object]


class Declared(NamedTuple):
    """A tool's declaration, and its functions."""

    function: Callable[..., Any]
    undo: Undo | None
    facts: dict[str, Any]


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(
    name: str | None = None,
    *,
    writes: bool | None = None,
    read_only: bool = False,
    checkpointable: bool | None = None,
    idempotent: bool = False,
    side_effects: Iterable[str] = (),
    timeout: float | None = None,
    undo: Undo | None = None,
    resource_types: Iterable[str] = RESOURCE_TYPES,
) -> Callable[[Function], Function]: ...
def tool(
    name: Function | str | None = None,
    *,
    writes: bool | None = None,
    read_only: bool = False,
    checkpointable: bool | None = None,
    idempotent: bool = False,
    side_effects: Iterable[str] = (),
    timeout: float | None = None,
    undo: Undo | None = None,
    resource_types: Iterable[str] = RESOURCE_TYPES,
) -> Function | Callable[[Function], Function]:
    """Make a function a tool that plans can call; the function itself stays as it is.

    Used as `@tool`, `@tool("name")` or `@tool(…)`; the default name is the function's. The function
    is called as `function(context, **args)` with a `StepContext` and the step's `args`, and the tool's output is
    what it returns (JSON). A tool writes unless it is `read_only`, and one that writes is checkpointable unless it
    says otherwise. `side_effects=["external"]` says that a call does something outside the sandboxes;
    `undo(context, arguments, result)` takes that back, and may be called more than once for one call.
    """

    def declare(function: Function) -> Function:
        import inspect  # here: a worker that only calls functions does not need it

        own = name if isinstance(name, str) else getattr(function, "__name__", "")
        effects = _texts("side_effects", side_effects)
        facts = {
            "name": own,
            "writes": not read_only if writes is None else writes,
            "read_only": read_only,
            "checkpointable": checkpointable,
            "idempotent": idempotent,
            "side_effects": effects,
            "timeout": timeout,
            "resource_types": _texts("resource_types", resource_types),
        }
        _refuse_contradictions(own, facts, undo)
        if checkpointable is None:
            facts["checkpointable"] = facts["writes"]
        facts["undoable"] = undo is not None
        facts["arguments"] = _arguments(own, function)
        facts["doc"] = inspect.getdoc(function) or ""
        facts["summary"] = facts["doc"].partition("\n")[0]
        setattr(function, ATTRIBUTE, Declared(function, undo, facts))
        return function

    return declare if name is None or isinstance(name, str) else declare(name)


def declared_by(found: object) -> dict[str, Declared]:
    """The tools of a module, or the one that a function is; refuses two of one name."""
    values: list[Any] = list(vars(found).values()) if isinstance(found, type(sys)) else [found]
    tools: dict[str, Declared] = {}
    for value in values:
        declared: object = getattr(value, "__dict__", {}).get(ATTRIBUTE)
        if isinstance(declared, Declared):
            name = declared.facts["name"]
            # What wraps a tool's function carries its declaration, and is what is meant.
            tool = Declared(value, declared.undo, declared.facts)
            if tools.setdefault(name, tool).function is not value:
                raise ValueError(f"two tools are called {name!r}")
    return tools


def _refuse_contradictions(name: str, facts: Mapping[str, Any], undo: object) -> None:
    """Refuse, where it is declared, what cannot be meant."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be a tool's name: a letter, then letters, digits, - and _")
    for flag in ("writes", "read_only", "checkpointable", "idempotent"):
        if not isinstance(facts[flag], bool) and not (flag == "checkpointable" and facts[flag] is None):
            raise TypeError(f"{name}: {flag} must be True or False")
    if facts["read_only"] and facts["writes"]:
        raise ValueError(f"{name}: read_only and writes contradict each other")
    if facts["read_only"] and EXTERNAL in facts["side_effects"]:
        raise ValueError(f"{name}: read_only and the side effect {EXTERNAL!r} contradict each other")
    timeout = facts["timeout"]
    if timeout is not None and (
        isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < 1e9
    ):
        raise ValueError(f"{name}: timeout must be a number of seconds greater than 0")
    if undo is not None and not callable(undo):
        raise TypeError(f"{name}: undo must be a function: undo(context, arguments, result)")
    unknown = [word for word in facts["resource_types"] if word not in RESOURCE_TYPES]
    if unknown or not facts["resource_types"]:
        raise ValueError(f"{name}: resource_types must be some of {', '.join(RESOURCE_TYPES)}")


def _texts(what: str, values: Iterable[str]) -> list[str]:
    listed: list[Any] = list(values)  # comes from the caller: it may be anything
    if isinstance(values, str) or not all(isinstance(value, str) for value in listed):
        raise TypeError(f"{what} must be a list of texts")
    return listed


def _arguments(name: str, function: Callable[..., Any]) -> list[dict[str, Any]]:
    """Return the arguments of a function after its context, read off its signature."""
    import inspect  # here: a worker that only calls functions does not need it

    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise TypeError(f"{name}: a tool is a plain function, neither async nor a generator")
    parameters = list(inspect.signature(function).parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or parameters[0].kind not in positional:
        raise TypeError(f"{name}: the first parameter must be for the StepContext")
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found: list[dict[str, Any]] = []
    for parameter in parameters[1:]:
        if parameter.kind not in by_name:
            raise TypeError(f"{name}: {parameter} has no name that a plan could use")
        required = parameter.default is inspect.Parameter.empty
        found.append({"name": parameter.name, "type": _type(parameter.annotation), "required": required})
    return found


def _type(annotation: object) -> str:
    """Return the word for an argument's type; an optional argument is left out of a plan to be None."""
    written = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    kinds = [word for word in written.replace(" ", "").split("|") if word != "None"]
    return _TYPES.get(kinds[0], "anything") if len(kinds) == 1 else "anything"
