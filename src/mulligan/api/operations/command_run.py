"""Runs a command without a plan file, and applies its result where that is asked for."""

from __future__ import annotations

import errno
import shlex
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.errors import Advice, Interrupted, MulliganError, NextStep, StepFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.api.operations.command_place import CommandPlace
    from mulligan.api.project import Project
    from mulligan.application.apply.apply_preparation import Application
    from mulligan.application.queries.plan_queries import PlanStatus


class CommandRun(Struct, frozen=True, kw_only=True):
    """A command that ran as a plan of one step."""

    status: PlanStatus
    exit_status: object  # of the command itself; None where it did not start
    application: Application | None  # of a result that was applied
    error: MulliganError | None  # what stopped the command, or its apply
    messages: tuple[str, ...]


def run_command_in(
    project: Project, place: CommandPlace, words: Sequence[str], *, name: str | None, apply: bool
) -> CommandRun:
    """Run the command there; with `apply` bring what it made into the real resource.

    An apply that is refused leaves the plan as it is, and is the error.
    """
    try:
        status, execution = project.run_command(
            words, resource=place.resource, folder=place.folder, name=name
        )
    except Interrupted as exc:
        plan_id = exc.facts["plan_id"]
        again, back = NextStep("resume", plan=plan_id), NextStep("undo", plan="latest")
        hint = Advice(again, " runs it again, ", back, " takes back what it did")
        raise Interrupted(plan_id=plan_id, hint=hint) from exc
    error, application, exit_status = execution.error, None, 0
    if error is not None:
        exit_status = error.facts.get("exit_status")
        error = _with_next(error, words, status.plan_id)
    elif apply:
        try:
            status, application = project.apply(status.plan_id)
            error = application.error
        except MulliganError as exc:
            status, error = project.status(status.plan_id), exc
    return CommandRun(
        status=status,
        exit_status=exit_status,
        application=application,
        error=error,
        messages=execution.messages,
    )


def _with_next(error: MulliganError, words: Sequence[str], plan_id: str) -> MulliganError:
    """The error of a failed command with what to do next, which is not to correct a plan file."""
    if not isinstance(error, StepFailed):
        return error
    again = Advice(NextStep("resume", plan=plan_id), " runs it again")
    if error.facts.get("errno") == errno.ENOENT:
        again = _not_started(words)
    elif kept := error.facts.get("checkpoint"):
        made = NextStep("diff", plan=plan_id, new=kept)
        again = Advice("what it did was taken back; ", made, " shows it, ", again)
    return StepFailed(hint=again, **error.facts)


def _not_started(words: Sequence[str]) -> Advice:
    """Say what to do about a program that does not exist: a line of shell has no program of its own."""
    line = " ".join(words)
    if shlex.quote(words[0]) != words[0] or set(line) & set("|&;<>$`"):
        shell = NextStep("run_command", words=("sh", "-c", line))
        return Advice("a command is a program and its words; a line of shell needs one: ", shell)
    if "/" in words[0]:
        where = "a path is looked for from the folder the command starts in"
    else:
        where = f"it is looked for in PATH, or give its path (`./{words[0]}`)"
    return Advice(f"is {words[0]} the right name? {where}")
