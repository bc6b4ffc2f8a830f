"""The arguments of a tool call, against what the tool declares to take."""

import re
from collections.abc import Mapping

from mulligan.domain.plans.interpolation import OPENING, references
from mulligan.domain.plans.tool import ArgumentType, ToolDeclaration
from mulligan.domain.resources.placement import stays_inside
from mulligan.domain.text.json_value import Json
from mulligan.errors import ReferenceInvalid
from mulligan.planfile.document_value import Value
from mulligan.planfile.references import Names
from mulligan.planfile.yaml_document import Items, shorten

_LARGEST_WHOLE = 10**300  # nobody means more, and JSON of other programs ends long before
_MODE = re.compile(r"0o[0-7]{1,4}|0*[0-7]{3,4}")


def read_args(args: Value | None, tool: Value, declaration: ToolDeclaration, names: Names) -> dict[str, Json]:
    """The arguments as the tool will get them, but for references, which are only checked."""
    known = [argument.name for argument in declaration.arguments]
    given: Mapping[str, Value] = {} if args is None else args.keys(known)
    place = tool if args is None else args
    for argument in declaration.arguments:
        if argument.required and argument.name not in given:
            raise place.wrong(f"{declaration.name} needs the argument `{argument.name}`")
    _check_one_of(given, place, declaration)
    read: dict[str, Json] = {}
    for argument in declaration.arguments:
        if argument.name in given:
            value = given[argument.name]
            read[argument.name] = _read(argument.type, value, names)
            needed = argument.required or argument.name in declaration.exactly_one_of
            if needed and isinstance(value.node, Items) and not value.items():
                raise value.wrong("the list is empty")
    return read


def _check_one_of(given: Mapping[str, Value], place: Value, declaration: ToolDeclaration) -> None:
    one_of = declaration.exactly_one_of
    present = [name for name in one_of if name in given]
    if one_of and len(present) != 1:
        choice = ", ".join(f"`{name}`" for name in one_of)
        found = "more than one is there" if present else "none is there"
        where = given[present[1]] if present else place
        raise where.wrong(f"{declaration.name} needs one of {choice}; {found}")


def _read(type: ArgumentType, value: Value, names: Names) -> Json:
    match type:
        case ArgumentType.TEXT:
            return _text(value, names)
        case ArgumentType.TEXT_LIST:
            return [_text(item, names) for item in value.items()]
        case ArgumentType.TEXT_MAP:
            return {key.key_text: _text(entry, names) for key, entry in value.entries()}
        case ArgumentType.PATH:
            return _path(value, names)
        case ArgumentType.COMMAND:
            return _command(value, names)
        case ArgumentType.FUNCTION:
            return _function(value)
        case ArgumentType.MODE:
            return _mode(value)
        case ArgumentType.FLAG:
            return value.flag()
        case ArgumentType.WHOLE:
            return value.whole(-_LARGEST_WHOLE, _LARGEST_WHOLE)
        case ArgumentType.NUMBER:
            return _number(value)
        case ArgumentType.LIST:
            value.items()
        case ArgumentType.MAP:
            value.entries()
        case ArgumentType.ANYTHING:
            pass
    names.check_all(value)
    return value.json()


def _text(value: Value, names: Names) -> Json:
    text = value.text()
    names.check(value)
    return text


def _path(value: Value, names: Names) -> Json:
    text = value.text()
    if not text or "\0" in text:
        raise value.wrong(f"{shorten(text)} is not a path")
    # With a reference in it, where it leads is only known when it runs; the tool looks again.
    if text.startswith("/") or (OPENING not in text and not stays_inside(text)):
        raise value.wrong(f"{shorten(text)} leads outside the sandbox")
    names.check(value)
    return text


def _command(value: Value, names: Names) -> Json:
    text = value.text()
    if not text.strip() or "\0" in text:
        raise value.wrong("the command is empty" if not text.strip() else "a command cannot hold NUL")
    if OPENING not in text:
        return text
    reason = f"`{OPENING}` is not replaced in a command, where a value could become code"
    try:
        list(references(text))
    except ReferenceInvalid:
        instead = "MULLIGAN_VAR_NAME, MULLIGAN_OUTPUT_STEP or MULLIGAN_GUIDANCE"
        raise value.wrong(f"{reason}; use {instead}") from None
    first, *_ = names.check(value)
    raise value.wrong(f"{reason}; its environment has the same", f"${first.environment_name}")


def _mode(value: Value) -> Json:
    text = value.text()
    if not _MODE.fullmatch(text):
        raise value.wrong(f"expected a file mode such as 0644, found {shorten(text)}")
    return f"{int(text.removeprefix('0o'), 8):04o}"


def _number(value: Value) -> Json:
    number = value.json()
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise value.unexpected("a number")
    return number


def _function(value: Value) -> Json:
    text = value.text()
    module, _, name = text.partition(":")
    if not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise value.wrong(f"expected a function as module:name, found {shorten(text)}")
    return text
