"""The commands on the result of a plan: `plan apply`, `unapply`, `rm`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer
from mulligan.cli.commands.declaration import (
    command,
    of_commits,
    on_any_branch,
)
from mulligan.cli.commands.plans.plan_group import group

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation


@command(group, "apply", example="mulligan plan apply --dry-run upgrade-api", codes=(0, 1, 2, 3, 4, 130))
@click.argument("plan", required=False, metavar="[PLAN]")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
@of_commits
@click.option(
    "--include",
    metavar="PATH",
    multiple=True,
    help="Take over a change of a git directory (a hook, a setting), or a hidden one; relative to its resource.",
)
@on_any_branch
def apply(
    invocation: Invocation,
    plan: str | None,
    yes: bool,
    dry_run: bool,
    commit: bool | None,
    message: str | None,
    include: tuple[str, ...],
    onto_branch: bool,
) -> Answer:
    """Merge the result of a plan into the real resources, all at once or not at all; the newest unless named.

    What others changed meanwhile stays; where that and the plan overlap, nothing is changed and the paths are
    listed. What was there is kept in a pre_apply checkpoint, and `plan unapply` takes an apply back. A checkout that is
    on another branch than when the plan began is a question of its own, which --yes does not answer.
    """
    from mulligan.cli.answers.apply_answer import apply_answer  # here: no other command needs it

    project = invocation.project()
    wanted = plan or project.newest_for("apply")
    agreed: str | None = None  # what was shown is what is applied, whatever the plan does meanwhile

    def act(dry: bool, onto: bool) -> Answer:
        nonlocal agreed
        status, done = project.apply(
            wanted,
            dry_run=dry,
            commit=commit,
            message=message,
            include=include,
            onto_branch=onto,
            agreed=agreed,
        )
        agreed = done.result_id if dry else agreed
        return apply_answer(status, done, done_as="applied")

    return invocation.confirmed_here(act, "Apply", dry_run=dry_run, yes=yes, onto_branch=onto_branch)


@command(group, "unapply", example="mulligan plan unapply --yes upgrade-api", codes=(0, 1, 2, 3, 4, 130))
@click.argument("plan", required=False, metavar="[PLAN]")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
@on_any_branch
def unapply(invocation: Invocation, plan: str | None, yes: bool, dry_run: bool, onto_branch: bool) -> Answer:
    """Take the result of a plan out of the real resources again, all or none; the newest unless named.

    What others changed since stays; where that and what was applied overlap, nothing is changed. A checkout that is on
    another branch than when it was applied is a question of its own, which --yes does not answer.
    """
    from mulligan.cli.answers.apply_answer import apply_answer

    project = invocation.project()
    wanted = plan or project.newest_for("unapply")

    def act(dry: bool, onto: bool) -> Answer:
        return apply_answer(*project.unapply(wanted, dry_run=dry, onto_branch=onto), done_as="taken back")

    return invocation.confirmed_here(act, "Take back", dry_run=dry_run, yes=yes, onto_branch=onto_branch)


@command(group, "rm", example="mulligan plan rm --dry-run upgrade-api", codes=(0, 1, 2, 3, 130))
@click.argument("plan", nargs=-1, required=True, metavar="PLAN...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would be forgotten; change nothing.")
def remove(invocation: Invocation, plan: tuple[str, ...], yes: bool, dry_run: bool) -> Answer:
    """Forget plans for good, with their checkpoints, sandboxes and child plans; real files stay as they are.

    Refused for a plan that a process works on, that still works in place on a folder, and for a child plan alone. What
    was applied stays applied, but can no longer be taken back. The handle of a forgotten plan is free again.
    """
    from mulligan.cli.answers.paths.removal_answer import removal_answer  # here: no other command needs it

    project = invocation.project()

    def act(dry: bool) -> Answer:
        return removal_answer(project.remove_plan(*plan, dry_run=dry))

    return invocation.confirmed(act, "Forget for good?", dry_run=dry_run, yes=yes)
