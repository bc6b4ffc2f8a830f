"""Commands on settings."""

from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Line, Table
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import command, everywhere
from mulligan.cli.invocation import Invocation
from mulligan.config import Entry, setting_named
from mulligan.errors import ProjectNotFound, UsageWrong

if TYPE_CHECKING:
    from mulligan.api.project_settings import Configuration


@everywhere
@click.group(cls=SuggestingGroup, name="config")
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


_GLOBAL = click.option("--global", "user", is_flag=True, help="In the user's own file, for all projects.")


@command(group, "set", example="mulligan config set sandbox.exclude --add 'build/'")
@click.argument("key")
@click.argument("value")
@click.option("--add", is_flag=True, help="Add VALUE to the list that applies.")
@click.option("--remove", is_flag=True, help="Remove VALUE from the list that applies.")
@_GLOBAL
def set_setting(invocation: Invocation, key: str, value: str, add: bool, remove: bool, user: bool) -> Answer:
    """Set KEY to VALUE for this project, or for all projects of this user.

    A list of words or patterns is comma separated, one of paths colon separated; `[]` is an empty one. Without --add or
    --remove the whole list is replaced.
    """
    if add and remove:
        raise UsageWrong(reason="--add and --remove exclude each other", hint="leave one of them out")
    config = _config(invocation, user=user)
    act = config.add if add else config.remove if remove else config.set
    entry = act(key, value, user=user)
    return Answer(
        data=entry,
        blocks=[Line(f"{entry.key} = {_text(entry)} ({entry.origin})")],
        messages=_overruled(entry, user=user),
    )


@command(group, "unset", example="mulligan config unset sandbox.strategy")
@click.argument("key")
@_GLOBAL
def unset(invocation: Invocation, key: str, user: bool) -> Answer:
    """Forget what this project, or the user's own file, sets KEY to."""
    config = _config(invocation, user=user)
    was_set = config.unset(key, user=user)
    entry = config.get(key)
    word = "unset" if was_set else "was not set"
    data = {"key": entry.key, "value": entry.value, "origin": entry.origin, "was_set": was_set}
    return Answer(data=data, blocks=[Line(f"{entry.key} {word}; now {_text(entry)} ({entry.origin})")])


def _config(invocation: Invocation, *, user: bool) -> "Configuration":
    """The settings of the project; the user's own file can be changed without one."""
    try:
        return invocation.project().config
    except ProjectNotFound:
        if not user:
            raise
    from mulligan.api.project_settings import user_settings

    return user_settings(invocation.around)


def _overruled(entry: Entry, *, user: bool) -> list[str]:
    """Say where the value comes from, if that is not what was just written."""
    written = "user file" if user else "project file"
    return [] if entry.origin.startswith(written) else [f"it is set, but the {entry.origin} decides here"]


def _text(entry: Entry) -> str:
    match entry.value:
        case None:
            return "(not set)"
        case bool():
            return str(entry.value).lower()
        case list():
            words = [str(item) for item in entry.value]
            return setting_named(entry.key, entry.origin).type.separator.join(words) or "[]"
        case _:
            return str(entry.value)
