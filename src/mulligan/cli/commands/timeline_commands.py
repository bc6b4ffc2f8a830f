"""The commands that take back what was done in a folder, `undo` and `redo`, and `bisect`, which finds what broke it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mulligan import errors
from mulligan.cli.commands.declaration import (
    CommandAfterPlan,
    command,
    on_any_branch,
    paths_of,
)

if TYPE_CHECKING:
    from mulligan.cli.answers.answer import Answer
    from mulligan.cli.invocation import Invocation

group = click.Group("mulligan")


@command(group, "undo", example="mulligan undo --yes", codes=(0, 1, 2, 3, 4, 130))
@click.argument("what", required=False, metavar="[PLAN|NUMBER]")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
@on_any_branch
@click.option(
    "--keep-commits",
    is_flag=True,
    help="Of what was done in place, change files only: branch and index stay.",
)
@click.option(
    "--end-processes",
    is_flag=True,
    help="End the processes that the calls of an agent left running, before their changes are taken back.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="SESSION|PROMPT|CALL",
    help="Take back what that session, prompt (3) or call (3.2) of an agent did; may be given several times.",
)
def undo(
    invocation: Invocation,
    what: str | None,
    yes: bool,
    dry_run: bool,
    onto_branch: bool,
    keep_commits: bool,
    end_processes: bool,
    only: tuple[str, ...],
) -> Answer:
    """Take back what was done last in this folder and still counts; again: the thing before it.

    Runs, steps, prompts of agents, applies, unapplies and restores of paths count, over all plans. PLAN stays within
    that plan, and NUMBER is one entry of `mulligan log`. Only what the entry changed is taken back: paths that others
    changed since stay, files that both changed are merged by lines, and a conflict changes nothing. What was there is
    kept, and `mulligan redo` brings it back. With --only, what others did at the same time stays too; where several
    calls may have changed a file, it is refused. An apply to a checkout that is on another branch now is a question of
    its own, which --yes does not answer.
    """
    from mulligan.cli.answers.entry_answer import undone_answer

    project = invocation.project()
    if only:
        if what is not None or onto_branch:
            raise errors.UsageWrong(reason="--only names what to undo", hint="leave the others out")
        return invocation.confirmed_here(
            lambda dry, _: undone_answer(
                project.undo(only=only, dry_run=dry, keep_commits=keep_commits, end_processes=end_processes)
            ),
            "Undo",
            dry_run=dry_run,
            yes=yes,
            onto_branch=False,
        )
    # What was shown is what is done, whatever happens meanwhile.
    number = project.entry_to_undo(what, settle=not dry_run and (yes or invocation.can_ask))

    def act(dry: bool, onto: bool) -> Answer:
        return undone_answer(
            invocation.trusting(
                project,
                lambda: project.undo(
                    number,
                    dry_run=dry,
                    onto_branch=onto,
                    keep_commits=keep_commits,
                    end_processes=end_processes,
                ),
            )
        )

    return invocation.confirmed_here(act, "Undo", dry_run=dry_run, yes=yes, onto_branch=onto_branch)


@command(group, "redo", example="mulligan redo --yes", codes=(0, 1, 2, 3, 4, 130))
@click.argument("number", required=False, type=click.IntRange(min=1), metavar="[NUMBER]")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
@on_any_branch
def redo(invocation: Invocation, number: int | None, yes: bool, dry_run: bool, onto_branch: bool) -> Answer:
    """Bring back what was undone last; again: what was undone before that.

    Anything new that is done clears what could be redone. What others changed since stays, as with `undo`. NUMBER makes
    sure that it is that entry of `mulligan log`.
    """
    from mulligan.cli.answers.entry_answer import undone_answer

    project = invocation.project()
    wanted = number or project.entry_to_redo(settle=not dry_run and (yes or invocation.can_ask))

    def act(dry: bool, onto: bool) -> Answer:
        return undone_answer(
            invocation.trusting(project, lambda: project.redo(wanted, dry_run=dry, onto_branch=onto))
        )

    return invocation.confirmed_here(act, "Redo", dry_run=dry_run, yes=yes, onto_branch=onto_branch)


@command(
    group,
    "bisect",
    example="mulligan bisect upgrade-api -- grep -q v1 api.txt",
    codes=(0, 1, 2, 3, 130),
    cls=CommandAfterPlan,
)
@click.argument("plan", required=False, metavar="[PLAN]")
@click.option("--good", metavar="CP", help="A checkpoint at which COMMAND passes; the first unless given.")
@click.option("--bad", metavar="CP", help="A later one at which COMMAND fails; the newest unless given.")
@click.pass_context
def bisect(
    context: click.Context, invocation: Invocation, plan: str | None, good: str | None, bad: str | None
) -> Answer:
    """Find the first checkpoint of a plan at which COMMAND fails; of the newest plan unless named.

    COMMAND runs in a scratch copy of the plan's resources, seen and confined as a step is: the plan, its sandboxes and
    the real files stay as they are. Exit status 0 is passed, 125 skips a checkpoint, 1 to 127 is failed, and 128 or
    more ends the search, as with `git bisect run`. A checkpoint is a number (`@3`, `tune@3`), a label, an id, or the
    number of an entry of `mulligan log`. With -v you see what COMMAND prints.
    """
    from mulligan.cli.answers.plans.bisect_answer import bisect_answer, follow

    project = invocation.project()
    tried, printed = follow(invocation)
    found = project.bisect(
        paths_of(context), plan=plan, good=good, bad=bad, folder=Path.cwd(), tried=tried, printed=printed
    )
    look = project.checkpoints.diff if found.first_bad is not None else None
    return bisect_answer(found, look)
