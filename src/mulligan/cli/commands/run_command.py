"""The commands `run` and `shell`: any command as a plan of one step, without a file."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec.structs import replace

from mulligan.cli.answers.answer import Answer, Block, Line
from mulligan.cli.answers.status_answer import status_answer, title
from mulligan.cli.commands.declaration import command, of_commits
from mulligan.domain.resources.resource import Strategy
from mulligan.errors import MulliganError, UsageWrong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.api.operations.command_run import CommandRun, CommitWish
    from mulligan.api.project import Project
    from mulligan.api.results import Application, PlanStatus
    from mulligan.cli.invocation import Invocation
    from mulligan.domain.trees.diff import Diff

_WELCOME = "this shell works in a sandbox; `exit` ends it"
_RECENT = 20  # entries of the timeline among which that of this command is
_APPLY, _KEEP, _DROP = "apply", "keep", "drop"
group = click.Group("mulligan")
_CODES = (0, 125, 126, 127, 128, 130)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _where_and_then(function: _Function) -> _Function:
    """Add the options of commands that run another one."""
    for option in (
        click.option("--name", metavar="N", help="The plan's name; that of the program unless given."),
        click.option("--drop", is_flag=True, help="Interactive: drop the result, without a question."),
        click.option(
            "--keep",
            is_flag=True,
            help="Keep what the command did, to be applied, whatever its exit status; interactive: do not ask.",
        ),
        click.option(
            "--on",
            is_flag=False,
            flag_value="",
            metavar="[PLAN]",
            help="Run it as the next step of PLAN, which is complete, in the same sandbox; "
            "the newest plan unless named.",
        ),
        click.option("--apply", is_flag=True, help="Apply the result when the command succeeded."),
        click.option(
            "--in-place", is_flag=True, help="Work on the real folder itself, with the same way back."
        ),
        click.option(
            "--resource",
            metavar="PATH",
            help="The folder to work on; unless given the git checkout around the current folder, or else that folder.",
        ),
    ):
        function = option(function)
    return of_commits(function)


@command(group, "run", example="mulligan run -- sed -i s/v1/v2/ api.txt", codes=_CODES)
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option(
    "-i", "--interactive", is_flag=True, help="Give the command the terminal, and ask what to do at its end."
)
@_where_and_then
def run(invocation: Invocation, words: tuple[str, ...], interactive: bool, **wishes: Any) -> Answer:
    """Run any command in a sandbox of the current folder, with a way back; no plan file is needed.

    COMMAND is a program and its words, taken literally; for a line of shell: mulligan run -- sh -c 'a && b'.
    In a git checkout it works on all of it, uncommitted work included, and starts in the same subfolder. Nothing
    real changes before `mulligan apply` (or with --apply, --in-place); `mulligan undo` takes it back. Input,
    output and exit status are the command's own; what mulligan has to say is on stderr.
    """
    return _run(invocation, words, interactive=interactive, **wishes)


run.allow_interspersed_args = False  # options after the first word of the command are the command's


@command(group, "shell", example="mulligan shell --keep", codes=_CODES)
@_where_and_then
def shell(invocation: Invocation, name: str | None, on: str | None, **wishes: Any) -> Answer:
    """Start your shell in a sandbox of the current folder, and ask at its end: apply, keep or drop.

    The same as `mulligan run -i -- $SHELL`.
    """
    import pwd

    words = (os.environ.get("SHELL") or pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh",)
    name = name or ("shell" if on is None else None)
    return _run(invocation, words, interactive=True, welcome=True, name=name, on=on, **wishes)


def _run(
    invocation: Invocation,
    words: tuple[str, ...],
    *,
    interactive: bool,
    welcome: bool = False,
    resource: str | None,
    in_place: bool,
    apply: bool,
    keep: bool,
    drop: bool,
    on: str | None,
    name: str | None,
    commit: bool | None,
    message: str | None,
) -> Answer:
    from mulligan.api.operations.command_place import command_place, place_on
    from mulligan.api.operations.command_run import (
        CommitWish,
        own_streams,
        refuse_missing_program,
        run_command_in,
    )
    from mulligan.api.replies import run_reply

    invocation.aside = True
    _refuse_contradictions(invocation, interactive=interactive, apply=apply, keep=keep, drop=drop)
    _refuse_unused(commit, message, applies=apply or interactive)
    streams = own_streams(
        recorded_only=invocation.format.is_document,
        interactive=interactive,
        encoding=sys.stderr.encoding or "utf-8",
        before=lambda: invocation.clear_screen(_WELCOME if welcome else ""),
    )
    if on is None:
        place = command_place(invocation.around, invocation.project_option, resource, in_place=in_place)
        refuse_missing_program(invocation.around, place, words)
        project = invocation.project_in(str(place.project))
    elif resource is not None or in_place or name is not None:
        raise UsageWrong(
            reason="--on names a plan, which has its resource and its name",
            hint="leave --resource, --in-place and --name out",
        )
    else:
        project = invocation.project()
        on = on or project.newest_for("extend")
        place = place_on(invocation.around, project, on)
    at_once, keep_all = apply and not interactive, keep and not interactive
    wish = CommitWish(commit=commit, message=message)
    ran = run_command_in(
        project, place, words, name=name, apply=at_once, keep=keep_all, on=on, streams=streams, commit=wish
    )
    if interactive and ran.error is None and not in_place:
        then = _APPLY if apply else _KEEP if keep else _DROP if drop else None
        return _ended(invocation, project, ran, then, wish, added=on is not None)
    notes = [f"{words[0]} draws on the whole screen: `mulligan run -i -- {shlex.join(words)}` lets it"]
    reply = run_reply(ran)
    reply = replace(reply, messages=[*reply.messages, *(notes if ran.full_screen else ())])
    blocks = _blocks(invocation, project, ran, added=on is not None)
    return replace(Answer.drawn(reply, blocks), aside=True)


def _refuse_contradictions(
    invocation: Invocation, *, interactive: bool, apply: bool, keep: bool, drop: bool
) -> None:
    given = [option for option, wanted in (("--apply", apply), ("--keep", keep), ("--drop", drop)) if wanted]
    if interactive and len(given) > 1:
        raise UsageWrong(reason=f"{' and '.join(given)} exclude each other", hint="give one of them")
    if drop and not interactive:
        raise UsageWrong(
            reason="--drop says what becomes of an interactive command",
            hint="leave it out, or give -i",
        )
    if interactive and invocation.format.is_document:
        raise UsageWrong(
            reason="stdout holds one document, and an interactive command has the terminal to itself",
            hint="leave out --format, or -i",
        )


def _refuse_unused(commit: bool | None, message: str | None, *, applies: bool) -> None:
    """Refuse options of a commit that is not made."""
    if not applies and (commit is not None or message is not None):
        raise UsageWrong(
            reason="--commit, --no-commit and --message are for a result that is applied",
            hint="give --apply too, or leave them out",
        )
    if commit is False and message is not None:
        raise UsageWrong(reason="--no-commit and --message exclude each other", hint="leave one of them out")


def _ended(
    invocation: Invocation,
    project: Project,
    ran: CommandRun,
    wish: str | None,
    commit: CommitWish,
    *,
    added: bool,
) -> Answer:
    """Do with the result of an interactive command what the user wishes; ask where there is something to decide."""
    from mulligan.api.operations.command_run import applied
    from mulligan.api.replies import run_reply

    status = ran.status
    if wish is None and _did_something(project, project.diff(status.plan_id), status.plan_id):
        wish = _chosen(invocation, project, ran, commit)
    elif wish is None:
        blocks = _blocks(invocation, project, ran, added=added)
        return replace(Answer.drawn(run_reply(ran), blocks), aside=True)
    if wish == _APPLY:
        ran = applied(project, ran, commit)
        blocks = _blocks(invocation, project, ran, added=added)
        return replace(Answer.drawn(run_reply(ran), blocks), aside=True)
    if wish == _DROP:
        project.cancel(status.plan_id, "dropped")
        lines = [Line(f"dropped {status.handle}: the real files are as they were")]
    else:
        lines = [
            Line(f"kept as {status.handle}"),
            Line(f"look at it:  mulligan diff {status.handle}"),
            Line(f"apply it:    mulligan apply {status.handle}"),
        ]
    return replace(Answer.drawn(run_reply(ran), lines), aside=True)


def _chosen(invocation: Invocation, project: Project, ran: CommandRun, commit: CommitWish) -> str:
    """Show what an interactive command changed, and ask what becomes of it."""
    from mulligan.cli.answers.diff_answer import diff_answer, short_diff  # here: only people see one

    status, handle = ran.status, ran.status.handle
    difference = project.diff(status.plan_id)
    lines, messages = _apply_in_advance(project, status.plan_id, commit)
    title = Line(f"{handle} has ended, {_exit_status(ran)}", title=True)
    blocks = [title, *short_diff(difference, status.plan_id), *lines]
    invocation.show(Answer(data=None, blocks=blocks, aside=True, messages=messages))
    meanings = {
        _APPLY: "merge it into the real files; `mulligan undo` takes that back",
        _KEEP: f"keep it in its sandbox; `mulligan apply {handle}` applies it later",
        _DROP: f"end {handle}; the real files stay as they are, and its checkpoints are kept",
    }
    return invocation.choose(
        "apply, keep or drop?",
        meanings,
        _KEEP,
        view=lambda: diff_answer(difference, look=f"mulligan diff {handle}"),
    )


def _apply_in_advance(
    project: Project, plan_id: str, commit: CommitWish
) -> tuple[Sequence[Block], Sequence[str]]:
    """Say what else an apply would do: the commit that it makes, or why it would be refused."""
    from mulligan.cli.answers.apply_answer import commit_lines

    try:
        _, done = project.apply(plan_id, dry_run=True, commit=commit.commit, message=commit.message)
    except MulliganError as exc:
        return [Line(f"to apply it would be refused now: {exc.text}")], ()
    if done.error is not None:
        return [Line(f"to apply it would be refused now: {done.error.text}")], ()
    return [line for each in done.applied for line in commit_lines(each, dry_run=True)], done.messages


def _exit_status(ran: CommandRun) -> str:
    return f"exit status {ran.exit_code}"


def _blocks(invocation: Invocation, project: Project, ran: CommandRun, *, added: bool) -> Sequence[Block]:
    status, applied = ran.status, ran.application
    if applied is not None:
        from mulligan.cli.answers.apply_answer import apply_answer

        back = [Line("undo it:   mulligan undo")] if _changed_something(project, status, applied) else []
        return [*apply_answer(status, applied, done_as="applied").blocks, *back]
    if ran.forgotten:
        return []
    if ran.error is not None or invocation.format.is_document or not sys.stderr.isatty():
        if ran.error is None and not _did_something(project, project.diff(status.plan_id), status.plan_id):
            return [Line(f"{title(status)}; it changed nothing", title=True)]
        return status_answer(status, ran.error).blocks
    return _succeeded(project, ran, added=added)


def _succeeded(project: Project, ran: CommandRun, *, added: bool) -> Sequence[Block]:
    from mulligan.cli.answers.diff_answer import short_diff

    status, whole = ran.status, project.diff(ran.status.plan_id)
    number = _entry_of(project, status) if added else None
    own = project.diff_of_entry(number) if number is not None else whole
    short = short_diff(own, status.handle if number is None else str(number))
    blocks: list[Block] = [Line(f"{title(status)}, {_exit_status(ran)}", title=True), *short]
    if number is not None:
        blocks.append(Line(f"the whole plan:  mulligan diff {status.handle}"))
    in_place = any(sandbox.strategy is Strategy.IN_PLACE for sandbox in status.sandboxes)
    if not in_place and _did_something(project, whole, status.plan_id):
        blocks.append(Line(f"apply it:  mulligan apply {status.handle}"))
    if _did_something(project, own, status.plan_id):
        blocks.append(Line("undo it:   mulligan undo"))
    return blocks


def _entry_of(project: Project, status: PlanStatus) -> int | None:
    """Return the entry of the step that ran last in a plan, where checkpoints hold both sides of it."""
    for entry in project.timeline(limit=_RECENT):
        if entry.plan_id == status.plan_id and entry.kind.is_step:
            return entry.number if entry.before is not None and entry.after is not None else None
    return None


def _changed_something(project: Project, status: PlanStatus, applied: Application) -> bool:
    found = bool(applied.files or applied.folders)
    return found or _did_something(project, project.diff(status.plan_id), status.plan_id)


def _did_something(project: Project, difference: Diff, plan_id: str) -> bool:
    """Return whether there is anything to apply or undo; a git directory can change without any file changing.

    Caches of tools, which no apply takes over, are nothing.
    """
    if difference.files or difference.folders:
        return True
    if difference.hidden:
        return False
    since_the_first = project.checkpoints.list(plan_id)[1:]
    return not since_the_first or any(checkpoint.modified for checkpoint in since_the_first)
