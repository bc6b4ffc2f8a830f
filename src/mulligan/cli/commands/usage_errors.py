"""Usage errors of click in our words: what is wrong, and what to type instead."""

import re

import click

from mulligan.cli.commands.declaration import example_of
from mulligan.domain.text.names import nearest_word
from mulligan.errors import UsageWrong

_TOO_MANY = re.compile(r"Got unexpected extra arguments? \((.*)\)", re.DOTALL)
_NO_CHOICE = re.compile(r"'(.*)' is not one of ", re.DOTALL)


def usage_error(exc: click.ClickException, command: str) -> UsageWrong:
    """The error of ours that says the same of a line that names this command."""
    context = exc.ctx if isinstance(exc, click.UsageError) else None
    see = f"see `{context.command_path if context else f'mulligan {command}'} --help`"
    match exc:
        case click.NoSuchOption():
            # Without the dashes, which make short words look alike.
            known = {option.lstrip("-"): option for option in exc.possibilities or ()}
            near = nearest_word(exc.option_name.lstrip("-"), known)
            meant = f"did you mean `{known[near]}`? " if near else ""
            return UsageWrong(reason=f"there is no option {exc.option_name}", hint=f"{meant}{see}")
        case click.MissingParameter(param=click.Parameter() as parameter):
            choices = f": {_choices(parameter)}" if isinstance(parameter.type, click.Choice) else ""
            example = example_of(context.command) if context else ""
            newest = "`latest` names the newest plan; " if parameter.name == "plan" else ""
            return UsageWrong(
                reason=f"{_name(parameter)} is missing{choices}",
                hint=f"{newest}for example: `{example}`; {see}" if example else see,
            )
        case click.BadParameter(param=click.Parameter() as parameter):
            return _bad_value(exc, parameter, see)
        case _:
            text = exc.format_message()
            if extra := _TOO_MANY.fullmatch(text):
                return UsageWrong(
                    reason=f"too many words: {extra[1]}",
                    hint=f"put quotes around a name that has spaces in it; {see}",
                )
            return UsageWrong(reason=_in_a_sentence(text), hint=see)


def _bad_value(exc: click.BadParameter, parameter: click.Parameter, see: str) -> UsageWrong:
    name = _name(parameter)
    if isinstance(parameter.type, click.Choice) and (given := _NO_CHOICE.match(exc.message)):
        near = nearest_word(given[1], parameter.type.choices)
        meant = f"did you mean `{near}`? " if near else ""
        return UsageWrong(
            reason=f"{name} cannot be {given[1]!r}", hint=f"{meant}allowed: {_choices(parameter)}"
        )
    if isinstance(parameter.type, click.IntRange):
        return UsageWrong(
            reason=f"{name}: {exc.message.split(' is not ')[0]} is not a whole number from {parameter.type.min} up",
            hint=see,
        )
    return UsageWrong(reason=f"{name}: {_in_a_sentence(exc.message)}", hint=see)


def _choices(parameter: click.Parameter) -> str:
    assert isinstance(parameter.type, click.Choice)
    return ", ".join(map(str, parameter.type.choices))


def _name(parameter: click.Parameter) -> str:
    """Return its name in the help."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    words = re.findall(r"[A-Z][A-Z_|]*", parameter.metavar or "")
    return words[0] if words else (parameter.name or "").upper()


def _in_a_sentence(text: str) -> str:
    """A sentence of click's as part of one of ours."""
    joined = " ".join(text.split()).removesuffix(".")
    return joined[:1].lower() + joined[1:]
