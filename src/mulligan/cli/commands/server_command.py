"""The command `serve`: the local server of a project."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from mulligan.cli.answers.answer import Answer, Line
from mulligan.cli.commands.declaration import command
from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation
    from mulligan.domain.server.words import ServerStatus

group = click.Group("mulligan")


@command(group, "serve", example="mulligan serve --status", codes=(0, 1, 2, 3, 130))
@click.option("--status", "wanted", flag_value="status", help="Show the server that runs, if one does.")
@click.option("--stop", "wanted", flag_value="stop", help="End the server that runs, if one does.")
@click.option("--detach", "wanted", flag_value="detach", help="Start it in the background, and return once it answers.")
def serve(invocation: Invocation, wanted: str | None) -> Answer:
    """Run the local server of this project, which makes hooks of agents and short commands faster.

    It watches folders and keeps code and database open between two calls. It starts automatically with the first hook
    of an agent (`server.start`), and ends after `server.idle-timeout` without a call. Everything works without it.
    """
    from mulligan.api.operations import server_operations

    project = invocation.project()
    match wanted:
        case "status":
            return _described(server_operations.server_status(project.home, invocation.around))
        case "stop":
            stopped = server_operations.stop_server(project.home, invocation.around)
            said = "the server has ended" if stopped else "no server runs for this project"
            return Answer(data={"running": False, "stopped": stopped}, blocks=[Line(said)])
        case "detach":
            return _described(server_operations.start_server(project, invocation.around))
        case _:
            return _serve(invocation)


def _serve(invocation: Invocation) -> Answer:
    from mulligan.api.operations.server_operations import run_server
    from mulligan.server.request_answers import answer

    if invocation.format.is_document:
        raise UsageWrong(
            reason="a server that runs has nothing to say as a document",
            hint="start it with `mulligan serve --detach`, and look at it with `mulligan serve --status`",
        )
    project = invocation.project()

    def started() -> None:
        sys.stderr.write(f"serving {project.folder}; Ctrl-C ends it\n")
        sys.stderr.flush()

    ran = run_server(project, invocation.around, answer, started)
    said = "the server has ended" if ran else "a server runs for this project already"
    return Answer(data={"running": not ran}, blocks=[Line(said)])


def _described(status: ServerStatus | None) -> Answer:
    if status is None:
        return Answer(data={"running": False}, blocks=[Line("no server runs for this project")])
    lines = [
        Line(f"a server runs: process {status.pid}, {status.memory_bytes / 1e6:.0f} MB"),
        Line(f"requests answered: {status.requests}; trees watched: {status.watched_trees}"),
        Line(f"idle for {status.idle_seconds:.0f} s; it ends after {status.idle_timeout_seconds:.0f} s"),
    ]
    return Answer(data={"running": True, **asdict(status)}, blocks=lines)
