"""Commands on tools."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Line, Table
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import command, everywhere
from mulligan.cli.invocation import Invocation

if TYPE_CHECKING:
    from mulligan.api.project_tools import ToolView

_DECLARED = ("writes", "read_only", "checkpointable", "idempotent", "side_effects", "timeout", "undo")


@everywhere
@click.group(cls=SuggestingGroup, name="tool")
def group() -> None:
    """List, show and trust tools."""


@command(group, "list", example="mulligan tool list")
def list_tools(invocation: Invocation) -> Answer:
    """List the tools that plans can use: built in, of the project's tools.py, and of installed packages.

    A tools.py that is not trusted is named, and not loaded.
    """
    found = invocation.project().tools.list()
    standing = found.tools_file
    messages = list(found.problems)
    if standing.problem:
        messages.append(f"{standing.path} {standing.problem}: see `mulligan tool trust`")
    return Answer(data=found, blocks=[_table(found.tools)], messages=messages, warn=bool(messages))


@command(group, "show", example="mulligan tool show write_file")
@click.argument("tool", metavar="NAME")
def show(invocation: Invocation, tool: str) -> Answer:
    """Show what a tool takes and what it declares."""
    view = invocation.project().tools.show(tool)
    lines = [Line(f"{view.name} ({view.origin})", title=True)]
    lines += [Line(f"  {text}" if text else "") for text in view.doc.splitlines()]
    lines += [Line(f"  {field}: {_text(getattr(view, field))}") for field in _DECLARED]
    lines.append(Line(f"  works on: {', '.join(view.resource_types)}"))
    rows = tuple((a.name, a.type.value, "required" if a.required else "") for a in view.arguments)
    return Answer(data=view, blocks=[*lines, *([Table(("ARGUMENT", "TYPE", ""), rows)] if rows else [])])


@command(group, "trust", example="mulligan tool trust")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def trust(invocation: Invocation, yes: bool) -> Answer:
    """Say that the project's tools.py may run, with the content it has now.

    Shows which content that is before anything of it runs. Once the content changes, mulligan asks again.
    """
    project = invocation.project()
    standing = project.tools.standing()
    if not yes and standing.status != "trusted":
        invocation.ask_for_trust(standing, f"{standing.path} {standing.problem}.")
    done = project.tools.trust(standing.sha256)
    word = "is trusted already" if standing.status == "trusted" else "is trusted from now on"
    return Answer(data=done, blocks=[Line(f"{done.path} {word}: sha256 {done.sha256}"), _table(done.tools)])


def _table(tools: "Sequence[ToolView]") -> Table:
    rows = tuple((t.name, t.origin, _declared(t), t.summary) for t in tools)
    return Table(("TOOL", "FROM", "DECLARES", ""), rows)


def _declared(tool: "ToolView") -> str:
    words = [word for word in ("writes", "read_only", "idempotent", "undo") if getattr(tool, word)]
    if tool.writes and not tool.checkpointable:
        words.append("not checkpointable")
    return ", ".join([*words, *tool.side_effects])


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"  # pyright: ignore[reportUnknownArgumentType] - any of the fields
    return "none" if value is None else str(value)
