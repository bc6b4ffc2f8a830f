"""The commands that record plans, run them and end them: from `plan create` to `plan cancel`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mulligan import errors
from mulligan.cli.answers.answer import Answer
from mulligan.cli.answers.status_answer import executed_answer, status_answer
from mulligan.cli.commands.declaration import (
    command,
)
from mulligan.cli.commands.plans.plan_group import group
from mulligan.cli.word_pairs import only_waiting, plan_and_checkpoint
from mulligan.errors import Advice, UsageWrong

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.cli.invocation import Invocation


@command(group, "create", example="mulligan plan create upgrade.yaml")
@click.argument("file", type=click.Path(path_type=Path))
def create(invocation: Invocation, file: Path) -> Answer:
    """Read, check and record the plan in FILE; nothing runs."""
    project = _project_for(invocation, file)
    return status_answer(invocation.trusting(project, lambda: project.create(file)), None)


@command(group, "execute", example="mulligan plan execute upgrade.yaml", codes=(0, 1, 2, 3, 4, 130))
@click.argument("plan_or_file", metavar="FILE|PLAN")
def execute(invocation: Invocation, plan_or_file: str) -> Answer:
    """Run the plan in FILE, or run on with a recorded one, in its sandboxes."""
    from mulligan.api.operations.plan_files import names_a_file, nearest_file

    wanted: str | Path = plan_or_file
    try:
        if names_a_file(plan_or_file):
            wanted = Path(plan_or_file)
            project = _project_for(invocation, wanted)
        else:
            project = invocation.project()
        status, execution = invocation.trusting(project, lambda: project.run(wanted))
    except (errors.PlanNotFound, errors.ProjectNotFound) as exc:
        near = nearest_file(Path(plan_or_file))
        if near is None:
            raise
        raise type(exc)(hint=Advice(f"did you mean the file `{near}`? ", exc.next_step), **exc.facts) from exc
    return executed_answer(status, execution)


@command(group, "resume", example="mulligan plan resume upgrade-api", codes=(0, 1, 2, 3, 4, 130))
@click.argument("plan", required=False, metavar="[PLAN]")
@click.option("--dry-run", is_flag=True, help="Say where it would go on and what it would discard.")
@click.option("--take-over", is_flag=True, help="Take the plan from a process that hangs; that one is ended.")
@click.option(
    "--plan",
    "corrected",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Continue with an edited plan file; its completed steps must be the same.",
)
@click.option("--from", "start", metavar="CP", help="Go to this checkpoint first, such as @3.")
def resume(
    invocation: Invocation,
    plan: str | None,
    dry_run: bool,
    take_over: bool,
    corrected: Path | None,
    start: str | None,
) -> Answer:
    """Go on with a plan that stopped, from its last good checkpoint; the newest such plan unless named.

    What was edited in a sandbox while the plan was at rest is kept in a checkpoint, and the plan goes on from there.
    What an interrupted step left is kept in a pre_rollback checkpoint and discarded; no completed step runs
    twice where a checkpoint follows it. What was cut off is finished or undone first.
    """
    project = invocation.project()
    if dry_run:
        if take_over or corrected is not None or start is not None:
            raise UsageWrong(
                reason="--dry-run changes nothing: it does not go with --take-over, --plan or --from",
                hint="leave one of them out",
            )
        status, preview = project.preview_resume(plan or project.newest_for("resume"))
        return status_answer(status, None, preview.messages, went_on="would go on")
    if plan is None and start is not None:
        plan, start = plan_and_checkpoint(project, start, None)
    wanted = plan or project.newest_for("resume")
    status, execution = invocation.trusting(
        project, lambda: project.resume(wanted, corrected=corrected, take_over=take_over, start=start)
    )
    return executed_answer(status, execution, project.tried)


@command(group, "accept", example="mulligan plan accept upgrade-api")
@click.argument("plan", required=False, metavar="[PLAN]")
@click.option("--at", "checkpoint", metavar="CP", help="As the plan was at this checkpoint, such as @3.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask, where --at changes real files.")
def accept(invocation: Invocation, plan: str | None, checkpoint: str | None, yes: bool) -> Answer:
    """Make a plan that stopped before its end complete as it is, so that it can be applied; the newest unless named.

    For a plan that failed, was interrupted, or went back. What is in its sandboxes is kept in a checkpoint first;
    processes that its steps left running there are ended. Steps that did not run stay pending. A plan whose first step
    failed, and in whose sandboxes nothing differs, is complete with what that step did. With --at, a plan that works in
    place changes real files, and asks first.
    """
    from mulligan.api.replies import acceptance_reply
    from mulligan.cli.answers.plans.acceptance_answer import acceptance_blocks, ask_in_place

    project = invocation.project()
    if plan is None and checkpoint is not None:
        plan, checkpoint = plan_and_checkpoint(project, checkpoint, None)
    wanted = plan or project.newest_for("accept")
    if checkpoint is not None and not yes:
        ask_in_place(invocation, project, wanted, checkpoint)
    status, accepted = invocation.trusting(project, lambda: project.accept(wanted, at=checkpoint))
    return Answer.drawn(acceptance_reply(status, accepted), acceptance_blocks(status, accepted))


@command(
    group,
    "answer",
    example="mulligan plan answer greeting French",
    codes=(0, 1, 2, 3, 4, 130),
)
@click.argument("plan", metavar="[PLAN]")
@click.argument("choice", required=False, metavar="CHOICE")
@click.option("--rationale", metavar="TEXT", help="Why, for the record.")
def answer(invocation: Invocation, plan: str, choice: str | None, rationale: str | None) -> Answer:
    """Answer the question that a plan waits with, and run it on; PLAN can be left out where one plan waits.

    The answer is recorded as a decision, with its checkpoint. CHOICE is one of the alternatives, where the question has
    some. `mulligan list --waiting` shows all plans that wait for someone.
    """
    project = invocation.project()
    wanted, chosen = (plan, choice) if choice is not None else (only_waiting(project, plan), plan)
    status, execution = invocation.trusting(
        project, lambda: project.answer(wanted, chosen, rationale=rationale)
    )
    return executed_answer(status, execution)


@command(group, "cancel", example="mulligan plan cancel upgrade-api --reason 'not needed'")
@click.argument("plan", metavar="PLAN")
@click.option("--reason", help="Why, for the log.")
def cancel(invocation: Invocation, plan: str, reason: str | None) -> Answer:
    """End a plan for good; a process that works on it is asked to stop first."""
    return status_answer(invocation.project().cancel(plan, reason), None)


def _project_for(invocation: Invocation, file: Path) -> Project:
    """The project to run a plan file in; for one that cannot be read none is made."""
    from mulligan.api.operations.plan_files import read_bytes

    read_bytes(file)
    return invocation.project_or_new()
