"""Runs a command without a plan file, and applies its result where that is asked for.

A front door that wraps a command answers with the command's own exit status, as `env` does.
"""

from __future__ import annotations

import errno
import os
import shlex
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mulligan.api.operations.plan_files import is_called_like_a_plan
from mulligan.domain.resources.resource import Strategy
from mulligan.errors import Advice, Interrupted, MulliganError, NextStep, StepFailed, TerminalMissing
from mulligan.ports import Streams

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mulligan.api.operations.command_place import CommandPlace
    from mulligan.api.project import Project
    from mulligan.application.apply.apply_preparation import Application
    from mulligan.application.queries.plan_queries import PlanStatus
    from mulligan.domain.views.printed import Printed
    from mulligan.wiring.surroundings import Surroundings

OWN_FAILURE, NOT_STARTED, NOT_FOUND = 125, 126, 127  # exit codes of a wrapper, beside those of its command
_OF_SIGNALS = 128
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class CommandRun(Struct, frozen=True, kw_only=True):
    """A command that ran as a plan of one step."""

    status: PlanStatus
    exit_status: int | None  # of the command itself; None where it did not start
    printed: Printed | None  # None: it did not start
    application: Application | None  # of a result that was applied
    error: MulliganError | None  # what stopped the command, or its apply
    messages: tuple[str, ...]
    full_screen: bool  # it tried to draw on the whole screen, and could not
    forgotten: bool = False  # it did not start, and its plan was removed

    @property
    def exit_code(self) -> int:
        """Return the exit code of a wrapper: that of the command, and others where it could not be run."""
        if self.error is None:
            return _wrapped(self.exit_status or 0)
        if isinstance(self.error, StepFailed) and self.exit_status is not None:
            return _wrapped(self.exit_status)
        return code_of(self.error)


class CommitWish(Struct, frozen=True, kw_only=True):
    """Options of the commit that an apply makes, as `Project.apply` takes them."""

    commit: bool | None = None
    message: str | None = None


def code_of(error: MulliganError) -> int:
    """Return the exit code of a wrapper for an error that is not its command's."""
    if isinstance(error, Interrupted):
        return error.exit_code
    number = error.facts.get("errno") if isinstance(error, StepFailed) else None
    return OWN_FAILURE if number is None else NOT_FOUND if number == errno.ENOENT else NOT_STARTED


def _wrapped(exit_status: int) -> int:
    return exit_status if exit_status >= 0 else _OF_SIGNALS - exit_status


def refuse_missing_program(around: Surroundings, place: CommandPlace, words: Sequence[str]) -> None:
    """Refuse a program that cannot be started where there is no project yet: none is made for it."""
    if not (place.is_new and words[0]) or (number := _why_not_started(around, place, words[0])) is None:
        return
    reason = f"{words[0]} could not be started: {os.strerror(number)}"
    facts = {"step": shlex.join(words), "tool": "shell", "errno": number, "started": False}
    raise with_next(StepFailed(reason=reason, **facts), words)


def _why_not_started(around: Surroundings, place: CommandPlace, program: str) -> int | None:
    """Return the errno with which the system would not start a program; None where it may."""
    start = place.project / place.resource.location / place.folder
    if "/" in program:
        files = [start / program]
    else:
        path = around.environ.get("PATH", os.defpath)
        files = [start / folder / program for folder in path.split(os.pathsep)]
    found = [file for file in files if os.path.lexists(file)]
    if any(file.is_file() and os.access(file, os.X_OK) for file in found):
        return None
    return errno.EACCES if found else errno.ENOENT


def own_streams(
    *, recorded_only: bool, interactive: bool, encoding: str, before: Callable[[], None]
) -> Streams:
    """Return the streams of this process for a command; TerminalMissing where an interactive one has none.

    With `recorded_only` the command prints nowhere, and reads only what is not a terminal: nobody would see a question.
    """
    reads = not (recorded_only and os.isatty(_STDIN))
    missing = [name for name, each in (("stdin", _STDIN), ("stdout", _STDOUT)) if not os.isatty(each)]
    if interactive and missing:
        raise TerminalMissing(
            reason=f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not one"
        )
    return Streams(
        stdin=_STDIN if reads else None,
        stdout=None if recorded_only else _STDOUT,
        stderr=None if recorded_only else _STDERR,
        encoding=encoding,
        interactive=interactive,
        before=before,
    )


def run_command_in(
    project: Project,
    place: CommandPlace,
    words: Sequence[str],
    *,
    name: str | None,
    apply: bool,
    streams: Streams | None = None,
    keep: bool = False,
    on: str | None = None,
    commit: CommitWish = CommitWish(),  # noqa: B008 - it is frozen
) -> CommandRun:
    """Run the command there; with `apply` bring what it made into the real resource.

    With `keep` what it did stays, whatever its exit status; `on` names a plan whose next step it is. An apply that is
    refused leaves the plan as it is, and is the error.
    """
    try:
        status, execution = project.run_command(
            words,
            resource=None if on else place.resource,
            folder=place.folder,
            name=name,
            keep=keep,
            on=on,
            streams=streams,
        )
    except Interrupted as exc:
        if exc.facts.get("kept") or exc.facts.get("cancelled"):
            raise
        plan_id = exc.facts["plan_id"]
        again, kept = NextStep("resume", plan=plan_id), NextStep("accept", plan=plan_id)
        hint = Advice(
            again, " runs it again, ", kept, " keeps what it did, ", NextStep("undo"), " takes that back"
        )
        raise Interrupted(plan_id=plan_id, hint=hint) from exc
    outputs = project.outputs(status.plan_id)
    printed = next((each for each in outputs if each.index == len(status.steps) - 1), None)
    ran = CommandRun(
        status=status,
        exit_status=printed.exit_status if printed else None,
        printed=printed.printed if printed else None,
        application=None,
        error=with_next(execution.error, words) if execution.error else None,
        messages=execution.messages,
        full_screen=printed is not None and printed.full_screen,
    )
    if isinstance(ran.error, StepFailed) and ran.error.facts.get("started") is False:
        return _without_step(project, ran, added=on is not None)
    return applied(project, ran, commit) if apply and ran.error is None else ran


def _without_step(project: Project, ran: CommandRun, *, added: bool) -> CommandRun:
    """Forget the plan of a command that did not start, or leave out the step where it was added to a plan.

    There is nothing to apply, to drop or to undo; where that fails, the answer says so.
    """
    status = ran.status
    try:
        if not added:
            if any(sandbox.strategy is Strategy.IN_PLACE for sandbox in status.sandboxes):
                project.cancel(status.plan_id, "its command did not start")  # it lets go of the real folder
            project.remove_plan(status.plan_id)
            return replace(ran, forgotten=True)
        if status.last_checkpoint_id is not None:
            project.rollback(status.plan_id, status.last_checkpoint_id)
            return replace(ran, status=project.status(status.plan_id))
    except MulliganError as exc:
        return replace(ran, messages=(*ran.messages, exc.text))
    return ran


def applied(project: Project, ran: CommandRun, wish: CommitWish) -> CommandRun:
    """Bring what a command made into the real resource; a refused apply is the error."""
    plan_id = ran.status.plan_id
    try:
        status, application = project.apply(plan_id, commit=wish.commit, message=wish.message)
    except MulliganError as exc:
        return replace(ran, status=project.status(plan_id), error=exc)
    return replace(ran, status=status, application=application, error=application.error)


def with_next(error: MulliganError, words: Sequence[str]) -> MulliganError:
    """The error of a failed command; where its program did not start, with what may be wrong with its words."""
    if not isinstance(error, StepFailed) or error.facts.get("started") is not False:
        return error
    return StepFailed(hint=_not_started(words, found=error.facts.get("errno") != errno.ENOENT), **error.facts)


def _not_started(words: Sequence[str], *, found: bool) -> Advice:
    """Say what to do about a program that does not exist, or is none: a line of shell has no program of its own."""
    line = " ".join(words)
    if os.path.isfile(words[0]) and is_called_like_a_plan(words[0]):  # noqa: PTH113 - never raises
        return Advice("did you mean ", NextStep("execute", plan=words[0]), "?")
    if found:
        return Advice(
            f"is {words[0]} a program for this system, and executable? See `ls -l {shlex.quote(words[0])}`"
        )
    if shlex.quote(words[0]) != words[0] or set(line) & set("|&;<>$`"):
        shell = NextStep("run_command", words=("sh", "-c", line))
        return Advice("a command is a program and its words; a line of shell needs one: ", shell)
    if "/" in words[0]:
        where = "a path is looked for from the folder the command starts in"
    else:
        where = f"it is looked for in PATH, or give its path (`./{words[0]}`)"
    return Advice(f"is {words[0]} the right name? {where}")
