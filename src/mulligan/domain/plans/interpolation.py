"""`${{ … }}`: how a step's arguments name variables, outputs of earlier steps and guidance.

Values are put into text, never into a shell command, where one could become code: a command finds the same
values in its environment. What is put in is not looked at again: a variable may hold `${{` as it is.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import cast

from msgspec import Struct

from mulligan.domain.plans.tool import ArgumentType, ToolDeclaration
from mulligan.domain.text.json_value import Json, canonical_json
from mulligan.errors import ReferenceInvalid

OPENING, _CLOSING = "${{", "}}"
_LARGEST_IN_ENVIRONMENT = 64 * 1024  # bytes; Linux takes 128 KiB a variable, and about 2 MiB of all together
_ALL_IN_ENVIRONMENT = 1024 * 1024  # bytes: the rest is for the user's own variables and the arguments
_SHORT = 200  # characters
_PATH = 256  # bytes, more or less: of a file that holds a value
_OUTPUT_NAME = re.compile(r"MULLIGAN_OUTPUT_\w+")
PLAN_HANDLE = "MULLIGAN_PLAN"  # the variable with the handle of the plan that a process belongs to
VARIANT = "MULLIGAN_VARIANT"  # the variable with the number of the variant, of a try


class ReferenceKind(Enum):
    """The kind of thing that a reference names."""

    VARIABLE = "variable"
    OUTPUT = "output"
    GUIDANCE = "guidance"


class Reference(Struct, frozen=True):
    """One `${{ … }}`, understood."""

    kind: ReferenceKind
    name: str  # of the variable or step; empty for guidance

    @property
    def environment_name(self) -> str:
        """The environment variable in which a command finds the same value."""
        match self.kind:
            case ReferenceKind.GUIDANCE:
                return "MULLIGAN_GUIDANCE"
            case ReferenceKind.VARIABLE:
                return f"MULLIGAN_VAR_{_word(self.name)}"
            case ReferenceKind.OUTPUT:
                return _output_variable(self.name)


@lru_cache(maxsize=1 << 16)  # every step hands on the outputs of all steps before it
def _output_variable(step: str) -> str:
    return f"MULLIGAN_OUTPUT_{_word(step)}"


def _word(name: str) -> str:
    # Letters of any script stay, so that names without Latin letters do not all become the same.
    return "".join(c if c.isalnum() else "_" for c in name.upper())


GUIDANCE = Reference(ReferenceKind.GUIDANCE, "")


def variable(name: str) -> Reference:
    """The reference to a variable."""
    return Reference(ReferenceKind.VARIABLE, name)


def output_of(step: str) -> Reference:
    """The reference to a step's output."""
    return Reference(ReferenceKind.OUTPUT, step)


def file_variable(environment_name: str) -> str:
    """The environment variable that holds the path where the value itself does not fit."""
    return f"{environment_name}_FILE"


def references(text: str) -> Iterator[Reference]:
    """Every reference in the text, in order; ReferenceInvalid for one that cannot be understood."""
    return (piece for piece in _pieces(text) if isinstance(piece, Reference))


def _pieces(text: str) -> Iterator[str | Reference]:
    """Cut the text into what stands for itself and what is replaced."""
    position = 0
    while (opening := text.find(OPENING, position)) >= 0:
        closing = text.find(_CLOSING, opening)
        if closing < 0:
            raise ReferenceInvalid(reason=f"a `{OPENING}` has no `{_CLOSING}`")
        yield text[position:opening]
        yield _understood(text[opening + len(OPENING) : closing].strip())
        position = closing + len(_CLOSING)
    yield text[position:]


def _understood(inner: str) -> Reference:
    if inner == "guidance":
        return GUIDANCE
    if inner.startswith("steps.") and inner.endswith(".output") and len(inner) > len("steps..output"):
        return output_of(inner.removeprefix("steps.").removesuffix(".output"))
    if not is_variable_name(inner):
        shown = inner if len(inner) <= 60 else inner[:57] + "…"
        understood = "a variable's name, steps.NAME.output and guidance"
        raise ReferenceInvalid(reason=f"`{OPENING} {shown} {_CLOSING}` is none of {understood}")
    return variable(inner)


def is_variable_name(name: str) -> bool:
    """Return whether this can be the name of a variable: a word of letters, digits, `_` and `-`."""
    return name.replace("-", "_").isidentifier() and not name.startswith("-")


class RunValues(Struct, frozen=True, kw_only=True):
    """The values of references at one moment of a run."""

    variables: Mapping[str, str]
    outputs: Mapping[str, Json]  # by step name
    guidance: str

    def text_of(self, reference: Reference) -> str:
        """Return the text that replaces a reference; a value that is not a text as JSON."""
        match reference.kind:
            case ReferenceKind.GUIDANCE:
                return self.guidance
            case ReferenceKind.VARIABLE if reference.name in self.variables:
                return self.variables[reference.name]
            case ReferenceKind.OUTPUT if reference.name in self.outputs:
                return _as_text(self.outputs[reference.name])
            case _:
                raise ReferenceInvalid(reason=f"there is no {reference.kind.value} {reference.name!r}")


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def replace_references(
    args: Mapping[str, Json], declaration: ToolDeclaration, values: RunValues
) -> dict[str, Json]:
    """The arguments with every reference replaced, in nested values too; a command stays as it is."""
    commands = {each.name for each in declaration.arguments if each.type is ArgumentType.COMMAND}
    return {name: value if name in commands else _replaced(value, values) for name, value in args.items()}


def _replaced(value: Json, values: RunValues) -> Json:
    match value:
        case str():
            return "".join(p if isinstance(p, str) else values.text_of(p) for p in _pieces(value))
        case list():
            return [_replaced(item, values) for item in value]
        case dict():
            return {key: _replaced(item, values) for key, item in value.items()}
        case _:
            return value


class RunEnvironment(Struct, frozen=True, kw_only=True):
    """The values of a run as environment variables of a tool's processes."""

    variables: Mapping[str, str]
    files: Mapping[str, str]  # …_FILE -> content: to be written to a file, the variable then holds its path


def run_environment(values: RunValues, args: Mapping[str, Json]) -> RunEnvironment:
    """Give every value its environment variable, or a file where it is too large or holds NUL.

    Of outputs that are too many for an environment the newest are handed over, and those that the arguments name.
    """
    variables: dict[str, str] = {}
    files: dict[str, str] = {}
    for name, text in values.variables.items():
        _hand_over(variables, files, variable(name).environment_name, text)
    _hand_over(variables, files, GUIDANCE.environment_name, values.guidance)
    room = _ALL_IN_ENVIRONMENT
    outputs = reversed(list(values.outputs.items()))
    for step, output in outputs:
        name = _output_variable(step)
        if type(output) is str and len(output) < _SHORT and "\0" not in output:  # as nearly all are
            variables[name] = output
            room -= len(name) + 4 * len(output)
        else:
            room -= len(name) + _hand_over(variables, files, name, _as_text(output))
        if room < 0:
            break
    named = _named_in(args) if room < 0 else frozenset[str]()
    for step, output in outputs if named else ():
        name = _output_variable(step)
        if name in named or file_variable(name) in named:
            _hand_over(variables, files, name, _as_text(output))
    return RunEnvironment(variables=variables, files=files)


def _hand_over(variables: dict[str, str], files: dict[str, str], name: str, text: str) -> int:
    """Put a value where a process finds it; return how much of an environment it takes."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > _LARGEST_IN_ENVIRONMENT or "\0" in text:
        files[file_variable(name)] = text
        return _PATH
    variables[name] = text
    return size


def _named_in(value: object) -> frozenset[str]:
    """Return the variables of outputs that are named in arguments."""
    return frozenset(_OUTPUT_NAME.findall(canonical_json(cast("Json", value))))
