"""Commands on settings."""

import click

from mulligan.cli.answers.answer import Answer, Line, Table
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import command, everywhere
from mulligan.cli.invocation import Invocation
from mulligan.config import Entry


@click.group(cls=SuggestingGroup, name="config")
@everywhere
def group() -> None:
    """Look at and change settings."""


@command(group, "list", example="mulligan config list")
def list_settings(invocation: Invocation) -> Answer:
    """Show every setting with its value and where it comes from."""
    entries = invocation.project().config.list()
    rows = tuple((e.key, e.origin, _text(e)) for e in entries)
    return Answer(data={"settings": entries}, blocks=[Table(("KEY", "FROM", "VALUE"), rows)])


@command(group, "get", example="mulligan config get sandbox.strategy")
@click.argument("key")
def get(invocation: Invocation, key: str) -> Answer:
    """Show one setting."""
    entry = invocation.project().config.get(key)
    return Answer(data=entry, blocks=[Line(_text(entry))])


@command(group, "set", example="mulligan config set sandbox.checkpoint.auto-create-on before_step,on_error")
@click.argument("key")
@click.argument("value")
def set_setting(invocation: Invocation, key: str, value: str) -> Answer:
    """Set KEY to VALUE for this project.

    A list of words is comma separated, one of paths colon separated; `[]` is an empty one.
    """
    entry = invocation.project().config.set(key, value)
    return Answer(data=entry, blocks=[Line(f"{entry.key} = {_text(entry)} ({entry.origin})")])


@command(group, "unset", example="mulligan config unset sandbox.strategy")
@click.argument("key")
def unset(invocation: Invocation, key: str) -> Answer:
    """Forget what this project sets KEY to."""
    config = invocation.project().config
    was_set = config.unset(key)
    entry = config.get(key)
    word = "unset" if was_set else "was not set"
    data = {"key": entry.key, "value": entry.value, "origin": entry.origin, "was_set": was_set}
    return Answer(data=data, blocks=[Line(f"{entry.key} {word}; now {_text(entry)} ({entry.origin})")])


def _text(entry: Entry) -> str:
    match entry.value:
        case None:
            return "(not set)"
        case bool():
            return str(entry.value).lower()
        case list():
            words = [str(item) for item in entry.value]
            return (":" if any("/" in word for word in words) else ",").join(words) or "[]"
        case _:
            return str(entry.value)
