"""The command `run`: any command as a plan of one step, without a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Block, Line
from mulligan.cli.answers.status_answer import status_answer
from mulligan.cli.commands.declaration import command
from mulligan.domain.resources.resource import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.api.operations.command_run import CommandRun
    from mulligan.api.project import Project
    from mulligan.api.results import PlanStatus
    from mulligan.cli.invocation import Invocation

group = click.Group("mulligan")


@command(group, "run", example="mulligan run -- sed -i s/v1/v2/ api.txt", codes=(0, 1, 2, 3, 4, 130))
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option(
    "--resource",
    metavar="PATH",
    help="The folder to work on; unless given the git checkout around the current folder, or else that folder.",
)
@click.option("--in-place", is_flag=True, help="Work on the real folder itself, with the same way back.")
@click.option("--apply", is_flag=True, help="Apply the result when the command succeeded.")
@click.option("--name", metavar="N", help="The plan's name; the command itself unless given.")
def run(
    invocation: Invocation,
    words: tuple[str, ...],
    resource: str | None,
    in_place: bool,
    apply: bool,
    name: str | None,
) -> Answer:
    """Run any command in a sandbox of the current folder, with a way back; no plan file is needed.

    COMMAND is a program and its words, taken literally; for a line of shell: mulligan run -- sh -c 'a && b'.
    In a git checkout it works on all of it, uncommitted work included, and starts in the same subfolder. Nothing
    real changes before `mulligan plan apply` (or with --apply, --in-place); `mulligan undo` takes it back. Its own
    exit status is in the answer: for 0 the exit code is 0, for any other 1.
    """
    from mulligan.api.operations.command_place import command_place
    from mulligan.api.operations.command_run import run_command_in
    from mulligan.api.replies import run_reply

    place = command_place(invocation.around, invocation.project_option, resource, in_place=in_place)
    project = invocation.project_in(str(place.project))
    ran = run_command_in(project, place, words, name=name, apply=apply)
    return Answer.drawn(run_reply(ran), _blocks(invocation, project, ran))


run.allow_interspersed_args = False  # options after the first word of the command are the command's


def _blocks(invocation: Invocation, project: Project, ran: CommandRun) -> Sequence[Block]:
    status, applied = ran.status, ran.application
    if applied is not None:
        from mulligan.cli.answers.apply_answer import apply_answer

        # In place nothing was merged, and there is nothing for unapply to take back.
        back = [Line(f"undo it:   mulligan plan unapply {status.plan_id}")] if applied.applied else []
        return [*apply_answer(status, applied, done_as="applied").blocks, *back]
    if ran.error is not None or invocation.format.is_document or not sys.stdout.isatty():
        return status_answer(status, ran.error).blocks
    return _succeeded(project, status)


def _succeeded(project: Project, status: PlanStatus) -> Sequence[Block]:
    from mulligan.cli.answers.diff_answer import short_diff

    title = f"plan {status.name} ({status.plan_id}) is {status.phase}/{status.state}, exit status 0"
    blocks: list[Block] = [Line(title, title=True), *short_diff(project.diff(status.plan_id), status.plan_id)]
    in_place = any(sandbox.strategy is Strategy.IN_PLACE for sandbox in status.sandboxes)
    if _did_something(project, status.plan_id):
        blocks.append(
            Line(f"{'keep it: ' if in_place else 'apply it:'}  mulligan plan apply {status.plan_id}")
        )
        blocks.append(Line("undo it:   mulligan undo"))
    elif in_place:  # until it is ended no other plan works in place there
        blocks.append(Line(f"end it:    mulligan plan apply {status.plan_id}"))
    return blocks


def _did_something(project: Project, plan_id: str) -> bool:
    """Return whether there is anything to apply or undo; a git directory can change without any file changing."""
    since_the_first = project.checkpoints.list(plan_id)[1:]
    return not since_the_first or any(checkpoint.modified for checkpoint in since_the_first)
