"""The command `run`: any command as a plan of one step, without a file."""

from __future__ import annotations

import errno
import shlex
import sys
from typing import TYPE_CHECKING, cast

import click
from msgspec.structs import asdict, replace

from mulligan.cli.answers.answer import Answer, Block, Line
from mulligan.cli.answers.status_answer import status_answer
from mulligan.cli.commands.declaration import command
from mulligan.domain.resources.resource import Strategy
from mulligan.errors import Interrupted, MulliganError, StepFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import Struct

    from mulligan.api.project import Project
    from mulligan.application.queries.plan_queries import PlanStatus
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
    exit status is in the answer: 0 gives exit code 0, any other 1.
    """
    from mulligan.api.command_place import command_place

    place = command_place(invocation.around, invocation.project_option, resource, in_place=in_place)
    project = invocation.project_in(str(place.project))
    try:
        status, execution = project.run_command(
            words, resource=place.resource, folder=place.folder, name=name
        )
    except Interrupted as exc:
        raise _interrupted(exc) from exc
    error = execution.error
    told = execution.messages
    if error is not None:
        answer = status_answer(status, _with_next(error, words, status.plan_id), told)
        exit_status = error.facts.get("exit_status")
    else:
        answer = _applied(project, status, told) if apply else _succeeded(invocation, project, status, told)
        exit_status = 0
    return replace(answer, data={**_fields(answer.data), "exit_status": exit_status})


run.allow_interspersed_args = False  # options after the first word of the command are the command's


def _succeeded(invocation: Invocation, project: Project, status: PlanStatus, told: Sequence[str]) -> Answer:
    answer = status_answer(status, None, told)
    if invocation.format.is_document or not sys.stdout.isatty():
        return answer
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
    return replace(answer, blocks=blocks)


def _did_something(project: Project, plan_id: str) -> bool:
    """Whether there is anything to apply or undo; a git directory can change where no file does."""
    since_the_first = project.checkpoints.list(plan_id)[1:]
    return not since_the_first or any(checkpoint.modified for checkpoint in since_the_first)


def _applied(project: Project, status: PlanStatus, told: Sequence[str]) -> Answer:
    """Apply the result; where that is refused the plan stands as it is, and the answer says both."""
    from mulligan.cli.answers.apply_answer import apply_answer

    try:
        applied, done = project.apply(status.plan_id)
    except MulliganError as exc:
        return status_answer(project.status(status.plan_id), exc, told)
    answer = apply_answer(applied, done, done_as="applied")
    # In place nothing was merged, and there is nothing for unapply to take back.
    back = [Line(f"undo it:   mulligan plan unapply {status.plan_id}")] if done.applied else []
    return replace(answer, blocks=[*answer.blocks, *back], messages=[*told, *answer.messages])


def _with_next(error: MulliganError, words: Sequence[str], plan_id: str) -> MulliganError:
    """The error of a failed command with what to do next, which is not to correct a plan file."""
    if not isinstance(error, StepFailed):
        return error
    if error.facts.get("errno") == errno.ENOENT:
        hint = _not_started(words)
    else:
        hint = f"`mulligan plan resume {plan_id}` runs it again"
        if kept := error.facts.get("checkpoint"):
            hint = f"what it did was taken back; `mulligan plan diff {plan_id} --to {kept}` shows it, {hint}"
    return StepFailed(hint=hint, **error.facts)


def _not_started(words: Sequence[str]) -> str:
    """What to do about a program that is not there: a line of shell has no program of its own."""
    line = " ".join(words)
    if shlex.quote(words[0]) == words[0] and not set(line) & set("|&;<>$`"):
        if "/" in words[0]:
            return f"is {words[0]} the right name? a path is looked for from the folder the command starts in"
        return (
            f"is {words[0]} the right name? COMMAND is looked for in PATH, or give its path (`./{words[0]}`)"
        )
    return (
        "COMMAND is a program and its words; a line of shell needs one: "
        f"`mulligan run -- sh -c {shlex.quote(line)}`"
    )


def _interrupted(exc: Interrupted) -> Interrupted:
    """The error of Ctrl-C with both ways on."""
    plan_id = exc.facts["plan_id"]
    hint = f"`mulligan plan resume {plan_id}` runs it again, `mulligan undo` takes back what it did"
    return Interrupted(plan_id=plan_id, hint=hint)


def _fields(data: object) -> dict[str, object]:
    """The fields of an answer's data, whichever kind it is."""
    if isinstance(data, dict):
        return cast("dict[str, object]", data)
    return asdict(cast("Struct", data))
