"""Commands that move a project in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Line
from mulligan.cli.answers.plain_words import no_repository
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import command, everywhere
from mulligan.domain.text.plural import counted
from mulligan.domain.text.sizes import size_text

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation


@everywhere
@click.group(cls=SuggestingGroup, name="project")
def group() -> None:
    """Move a project in one file: its plans, checkpoints and sandboxes."""


@command(group, "export", example="mulligan project export saved.mulligan")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if there is one.")
def export(invocation: Invocation, file: Path, force: bool) -> Answer:
    """Write the project home into FILE: plans, checkpoints, sandboxes, settings and tools.

    The files of the project folder are not in it. Of a shared project it holds the rows and all packs, but not what
    other machines work on in place. It is refused while a plan runs. FILE is complete, or not there.
    """
    done = invocation.project().export(file, force=force)
    said = f"{done.file}: {counted(done.files, 'file')}, {size_text(done.size_bytes)}"
    return Answer(data=done, blocks=[Line(said)])


@command(group, "import", example="mulligan project import saved.mulligan other")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("path", default=".")
@click.option("--home", metavar="PATH", help="Where the project home is to be.")
@click.option(
    "--database", metavar="URL", help="The PostgreSQL server that is to hold the plans: a shared project."
)
@click.option(
    "--store", metavar="URL", help="The bucket for the packs of such a project, s3://BUCKET/PREFIX."
)
def import_file(
    invocation: Invocation, file: Path, path: str, home: str | None, database: str | None, store: str | None
) -> Answer:
    """Make the project of the folder PATH (the current one) from FILE, which `project export` wrote.

    PATH has no project yet. Everything is checked first. A git checkout in it needs the commits that the plans began
    with. Tools of the project have to be trusted again.

    A project of one machine becomes a shared one with --database, and with --store its packs go into a bucket. Without
    them a shared project becomes one of this machine alone.
    """
    project = invocation.imported_project(file, path, home, database, store)
    damaged = project.checkpoints.verify(quick=True).damaged
    plans = project.plans()
    lines = [
        Line(f"project made {project.folder}"),
        Line(f"home: {project.home}, {counted(len(plans), 'plan')}"),
    ]
    missing = project.checkpoints.missing_repositories()
    messages = [no_repository(missing)] if missing else []
    if damaged and not missing:
        messages.append(f"{counted(len(damaged), 'checkpoint')} damaged: see `mulligan checkpoint verify`")
    data = {
        "project": str(project.folder),
        "home": str(project.home),
        "plans": len(plans),
        "damaged": len(damaged),
    }
    return Answer(data=data, blocks=lines, messages=messages, warn=bool(messages))
