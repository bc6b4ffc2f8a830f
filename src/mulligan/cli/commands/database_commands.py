"""Commands on the database of a shared project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Line
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import command, everywhere

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation


@everywhere
@click.group(cls=SuggestingGroup, name="database")
def group() -> None:
    """Look after the database of a project."""


@command(group, "upgrade", example="mulligan database upgrade", codes=(0, 1, 2, 3))
def upgrade(invocation: Invocation) -> Answer:
    """Bring the tables in a PostgreSQL server to the version of this program.

    No other command does that, and an older program refuses newer tables: upgrade mulligan on all machines that use
    them, then run this once. A database in a file is brought up to date whenever it is opened.
    """
    found, known = invocation.project().upgrade_database()
    said = f"upgraded from version {found} to {known}" if found != known else f"version {known} already"
    return Answer(data={"found": found, "version": known}, blocks=[Line(f"database: {said}")])
