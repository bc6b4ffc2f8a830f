"""The page of the Python API, written from the docstrings and signatures of what `mulligan` gives."""

import inspect
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import msgspec

import mulligan

_PLACES = re.compile(r"\b(?:collections\.abc|typing|pathlib|datetime|mulligan(?:\.[a-z_]+)+)\.")


def the_api() -> str:
    """Functions first, then what a program holds in its hands, then what it is given back."""
    public: dict[str, Any] = {name: getattr(mulligan, name) for name in mulligan.__all__ if name != "errors"}
    functions = [name for name, value in public.items() if inspect.isfunction(value)]
    answers = [name for name, value in public.items() if _is_answer(value)]
    held = [name for name in public if name not in (*functions, *answers)]
    parts = [
        "## Functions",
        _rows((_called(f"mulligan.{name}", public[name]), public[name]) for name in functions),
        *(_held(name, public[name]) for name in held),
        "## Answers",
        "Frozen values with the fields of the [JSON answers](json.md).",
        *(_answer(name, public[name]) for name in answers),
    ]
    return "\n\n".join(parts) + "\n"


def _is_answer(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, msgspec.Struct)


def _held(name: str, cls: type) -> str:
    members = [
        (_spelled(member, value), value)
        for own in (cls, *(base for base in cls.__bases__ if base.__module__.startswith("mulligan.api")))
        for member, value in vars(own).items()
        if not member.startswith("_") and _is_told(value)
    ]
    told = f"## {name}\n\n{_prose(cls)}"
    return f"{told}\n\n{_rows(members)}" if members and not issubclass(cls, str | Exception) else told


def _is_told(value: object) -> bool:
    return inspect.isfunction(value) or isinstance(value, property | cached_property)


def _spelled(name: str, value: Any) -> str:
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, cached_property):
        value = value.func
    else:
        return _called(name, value)
    return f"{name}: {_type(inspect.signature(value).return_annotation)}"


def _called(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    spelled = signature.replace(
        parameters=[p.replace(annotation=inspect.Parameter.empty) for p in parameters],
        return_annotation=inspect.Signature.empty,
    )
    return f"{name}{spelled} -> {_type(signature.return_annotation)}"


def _answer(name: str, cls: type[msgspec.Struct]) -> str:
    fields = ", ".join(f"`{field}`" for field in cls.__struct_fields__)
    return f"**{name}**: {_prose(cls)} {fields}."


def _rows(members: Iterable[tuple[str, Any]]) -> str:
    lines = [f"| `{spelled.replace('|', chr(92) + '|')}` | {_cell(value)} |" for spelled, value in members]
    return "\n".join(["| | |", "|---|---|", *lines])


def _cell(value: Any) -> str:
    return _prose(value.func if isinstance(value, cached_property) else value).replace("|", "\\|")


def _prose(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").split())


def _type(annotation: Any) -> str:
    return _PLACES.sub(
        "", annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    )
