"""The commands that lead a plan back, and on in another way: `plan rollback`, `correct`, `resolve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mulligan import errors
from mulligan.cli.answers.answer import Answer
from mulligan.cli.answers.status_answer import status_answer
from mulligan.cli.commands.declaration import (
    command,
)
from mulligan.cli.commands.plans.plan_group import group
from mulligan.cli.word_pairs import names_a_plan, plan_and_checkpoint
from mulligan.errors import Advice, NextStep, UsageWrong

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation


@command(
    group,
    "rollback",
    example='mulligan plan rollback --dry-run upgrade-api "before release"',
    codes=(0, 1, 2, 3, 130),
)
@click.argument("plan", required=False, metavar="[PLAN]")
@click.argument("checkpoint", required=False, metavar="CHECKPOINT")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
def rollback(
    invocation: Invocation, plan: str | None, checkpoint: str | None, yes: bool, dry_run: bool
) -> Answer:
    """Bring a plan back, or forward, to a checkpoint: files, plan state, decisions; the newest plan unless named.

    CHECKPOINT is a number (`@3`), the id of a checkpoint or group, a unique prefix of one, a label, `first` or
    `latest`. The current state is kept in a pre_rollback checkpoint, so a rollback can itself be rolled back.
    """
    from mulligan.cli.answers.rollback_answer import rollback_answer  # here: no other command shows one

    if plan is None:
        hint = Advice(NextStep("checkpoints.list", plan=...), " shows the checkpoints of a plan")
        raise UsageWrong(reason="CHECKPOINT is missing", hint=hint)
    project = invocation.project()
    named, target = plan_and_checkpoint(project, plan, checkpoint)

    def act(dry: bool) -> Answer:
        if dry:
            return rollback_answer(project.rollback(named, target, dry_run=True))
        return rollback_answer(invocation.trusting(project, lambda: project.rollback(named, target)))

    try:
        return invocation.confirmed(act, "Roll back?", dry_run=dry_run, yes=yes)
    except errors.CheckpointNotFound:
        if checkpoint is None and names_a_plan(project, plan):
            hint = Advice(NextStep("checkpoints.list", plan=plan), " shows those of the plan")
            raise UsageWrong(reason="CHECKPOINT is missing", hint=hint) from None
        raise


@command(group, "resolve", example="mulligan plan resolve clash api.txt")
@click.argument("plan", metavar="PLAN")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--with",
    "file",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="First make PATH this text; `-` is stdin.",
)
@click.option("--remove", is_flag=True, help="First remove PATH.")
def resolve(
    invocation: Invocation, plan: str, paths: tuple[str, ...], file: str | None, remove: bool
) -> Answer:
    """Mark conflicts that a merge of child plans left as solved: those of each PATH, or all.

    Fix them in the plan's sandbox first, or name the text with --with. When none is left the sandboxes are kept in a
    checkpoint, and `plan resume` continues from there.
    """
    project = invocation.project()
    if file is None and not remove:
        return status_answer(project.resolve(plan, paths), None)
    if len(paths) != 1 or (file is not None and remove):
        raise UsageWrong(
            reason="--with and --remove are about one PATH, and exclude each other",
            hint=Advice("name the file, as in ", NextStep("resolve_with", plan=plan, path=..., content=...)),
        )
    content: bytes | None = None
    if file is not None:
        with click.open_file(file, "rb") as opened:
            content = opened.read()
    return status_answer(project.resolve_with(plan, paths[0], content), None)


@command(
    group,
    "correct",
    example="mulligan plan correct --dry-run upgrade-api/d1 --choose ply",
    codes=(0, 1, 2, 3, 4, 130),
)
@click.argument("decision", metavar="DECISION")
@click.option(
    "--mode",
    default="revert",
    type=click.Choice(["revert", "append"]),
    help="Take the decision back with all that followed from it (revert, the default), or append work to it.",
)
@click.option(
    "--guidance",
    metavar="TEXT",
    help="Instructions for the steps from now on; the choice where --choose names one.",
)
@click.option("--choose", metavar="TEXT", help="The new choice of the decision's `decision:` step.")
@click.option(
    "--plan",
    "corrected",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Revert: go on with the steps of this plan file, the completed ones being the same. Append: run its steps.",
)
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--no-execute", is_flag=True, help="Do not run on; `plan resume` does, with the guidance.")
def correct(
    invocation: Invocation,
    decision: str,
    mode: str,
    guidance: str | None,
    choose: str | None,
    corrected: Path | None,
    dry_run: bool,
    yes: bool,
    no_execute: bool,
) -> Answer:
    """Correct a decision, and run on from there: nothing else of the plan is done again.

    To revert, the plan goes back to its last checkpoint between two steps before the decision. To append, nothing is
    undone: a child plan runs on the current state, and is merged. The steps find the guidance in `${{ guidance }}`,
    `StepContext.guidance` and `MULLIGAN_GUIDANCE`. `plan diff --correction` compares what was with what came of it.
    DECISION is the name of its step, its number (`tune/d1`), its id or a unique prefix of that; `plan tree` shows
    them.
    """
    from mulligan.cli.answers.correction_answer import correction_answer  # here: no other command shows one

    project = invocation.project()

    def carry_out(*, trying: bool) -> Answer:
        status, done = project.correct(
            decision,
            guidance=guidance,
            mode=mode,
            choose=choose,
            corrected=corrected,
            execute=not no_execute,
            dry_run=trying,
        )
        return correction_answer(status, done)

    if dry_run:
        return invocation.trusting(project, lambda: carry_out(trying=True))
    if yes:
        return invocation.trusting(project, lambda: carry_out(trying=False))
    preview = invocation.trusting(project, lambda: carry_out(trying=True))
    invocation.show(preview)
    invocation.confirm("Correct the decision?" if mode == "revert" else "Append to the decision?")
    return invocation.trusting(project, lambda: carry_out(trying=False)).without_notes_of(preview)
