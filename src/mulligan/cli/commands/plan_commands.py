"""Commands on plans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Document, Line, Table
from mulligan.cli.answers.status_answer import executed_answer, status_answer
from mulligan.cli.command_words import in_commands
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import command, everywhere, newest, not_shown
from mulligan.domain.plans.handle import group_reference
from mulligan.domain.plans.plan import State
from mulligan.domain.text.plural import counted
from mulligan.errors import Advice, CheckpointNotFound, NextStep, PlanNotFound, ProjectNotFound, UsageWrong

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.cli.invocation import Invocation


@click.group(cls=SuggestingGroup, name="plan")
@everywhere
def group() -> None:
    """Create, run, look at, compare, roll back, correct and apply plans."""


@command(group, "create", example="mulligan plan create upgrade.yaml")
@click.argument("file", type=click.Path(path_type=Path))
def create(invocation: Invocation, file: Path) -> Answer:
    """Read, check and record the plan in FILE; nothing runs."""
    project = _project_for(invocation, file)
    return status_answer(invocation.trusting(project, lambda: project.create(file)), None)


@command(group, "execute", example="mulligan plan execute upgrade.yaml", codes=(0, 1, 2, 3, 4, 130))
@click.argument("plan_or_file", metavar="FILE|PLAN_ID")
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
    except (PlanNotFound, ProjectNotFound) as exc:
        near = nearest_file(Path(plan_or_file))
        if near is None:
            raise
        raise type(exc)(hint=Advice(f"did you mean the file `{near}`? ", exc.next_step), **exc.facts) from exc
    return executed_answer(status, execution)


@command(group, "resume", example="mulligan plan resume upgrade-api", codes=(0, 1, 2, 3, 4, 130))
@click.argument("plan", required=False, metavar="[PLAN_ID]")
@click.option("--dry-run", is_flag=True, help="Say where it would go on and what it would discard.")
@click.option("--take-over", is_flag=True, help="Take the plan from a process that hangs; that one is ended.")
@click.option(
    "--plan",
    "mended",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Continue with an edited plan file; its completed steps must be the same.",
)
def resume(
    invocation: Invocation, plan: str | None, dry_run: bool, take_over: bool, mended: Path | None
) -> Answer:
    """Go on with a plan that stopped, from its last good restore point; the newest such plan unless named.

    What an interrupted step left is kept in a pre_rollback checkpoint and discarded; no completed step runs
    twice where a checkpoint follows it. What was cut off is finished or undone first.
    """
    project = invocation.project()
    if dry_run:
        if take_over or mended is not None:
            raise UsageWrong(
                reason="--dry-run changes nothing: it does not go with --take-over or --plan",
                hint="leave one of them out",
            )
        status, preview = project.preview_resume(plan or project.newest_for("resume"))
        return status_answer(status, None, preview.messages, went_on="would go on")
    wanted = plan or project.newest_for("resume")
    status, execution = invocation.trusting(
        project, lambda: project.resume(wanted, mended=mended, take_over=take_over)
    )
    return executed_answer(status, execution)


@command(group, "status", example="mulligan plan status --watch", codes=(0, 1, 2, 3, 130))
@click.argument("plan", default="latest", metavar="[PLAN_ID]")
@click.option("--watch", is_flag=True, help="Show it again whenever it changes, until the plan ends.")
def status(invocation: Invocation, plan: str, watch: bool) -> Answer:
    """Show the status of a plan; the newest one unless named.

    With --watch a terminal shows it in place: steps with their running time, child plans, the newest checkpoints.
    Elsewhere each change is a line, and with json or yaml the document comes when the plan has ended. Ctrl-C leaves
    the plan alone (exit code 130); however the plan ends, the exit code is 0.
    """
    project = invocation.project()
    if watch:
        from mulligan.cli.terminal.watch_screen import watched  # here: a single look needs no screen

        return watched(invocation, project, plan)
    return status_answer(project.status(plan), None, when=invocation.when)


@command(group, "list", example="mulligan plan list --state errored")
@click.option("--state", type=click.Choice([s.value for s in State]), help="Only plans in this state.")
@newest
def list_plans(invocation: Invocation, state: str | None, limit: int | None) -> Answer:
    """List the plans, oldest first."""
    plans = invocation.project().plans(State(state) if state else None, limit=limit)
    rows = tuple(
        (
            p.plan_id,
            p.name if p.parent_plan_id is None else f"  {p.name}",
            f"{p.phase}/{p.state}",
            f"{p.steps_done}/{p.steps_total}",
            invocation.when(p.updated_at),
        )
        for p in plans
    )
    columns = ("PLAN", "NAME", "STATE", "STEPS", "UPDATED")
    blocks = [Table(columns, rows, shortened="NAME")] if rows else [Line("no plans yet")]
    return Answer(data={"plans": plans}, blocks=blocks, messages=not_shown(plans.older, "plan"))


@command(group, "log", example="mulligan plan log upgrade-api")
@click.argument("plan", default="latest", metavar="[PLAN_ID]")
@newest
def log(invocation: Invocation, plan: str, limit: int | None) -> Answer:
    """Show what happened to a plan, in order, with its child plans; the newest one unless named.

    Records that a rollback, a correction or a failed step left behind are on a branch beside the line.
    """
    project = invocation.project()
    if invocation.format.is_document:
        from mulligan.api.replies import log_reply

        events = project.log(plan, limit=limit)
        return Answer.drawn(log_reply(events, not_shown(events.older, "entry", "entries")), ())
    from mulligan.cli.answers.timeline_blocks import timeline_blocks

    timeline = project.timeline(plan, limit=limit)
    older = not_shown(timeline.older, "entry", "entries")
    return Answer(data=None, blocks=timeline_blocks(timeline, invocation.when), messages=older)


@command(group, "tree", example="mulligan plan tree upgrade-api --show-superseded")
@click.argument("plan", default="latest", metavar="[PLAN_ID]")
@click.option("--show-superseded", "superseded", is_flag=True, help="What a rollback left behind too.")
def tree(invocation: Invocation, plan: str, superseded: bool) -> Answer:
    """Show a plan's decisions, and the checkpoints taken on the way, as a tree; the newest plan unless named."""
    from mulligan.cli.answers.tree_answer import tree_answer  # here: no other command shows a tree

    return tree_answer(invocation.project().tree(plan, superseded=superseded))


@command(group, "report", example="mulligan plan report upgrade-api --html report.html")
@click.argument("plan", default="latest", metavar="[PLAN_ID]")
@click.option(
    "--html", "file", required=True, metavar="FILE", help="Where to write the page; `-`: to stdout."
)
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
def report(invocation: Invocation, plan: str, file: str, force: bool) -> Answer:
    """Write the story of a plan as one HTML page to send to someone; of the newest plan unless named.

    Its steps, tool calls with their output, decisions, checkpoints, and what differs between them. The page
    needs no network and has no scripts.
    """
    if file != "-":
        saved, problems = invocation.project().save_report(plan, Path(file), force=force, words=in_commands)
        blocks = [Line(f"{saved.file}: {counted(saved.size_bytes, 'byte')}")]
        return Answer(data=saved, blocks=blocks, messages=problems, warn=bool(problems))
    if invocation.format.is_document:
        raise UsageWrong(
            reason="stdout holds one document, and that is the answer", hint="name a FILE for the page"
        )
    page, problems = invocation.project().report_with_problems(plan, in_commands)
    return Answer(data=None, blocks=[Document(page.encode())], messages=problems, warn=bool(problems))


@command(group, "diff", example="mulligan plan diff upgrade-api --from draft | git apply")
@click.argument("plan", default=None, required=False, metavar="[PLAN_ID]")
@click.option("--from", "old", metavar="CP", help="The older side; the first live checkpoint unless given.")
@click.option("--to", "new", metavar="CP", help="The newer side; the latest checkpoint unless given.")
@click.option("--binary", is_flag=True, help="Let the patch carry binary files too.")
@click.option("--correction", metavar="ID", help="The attempts before and after a correction.")
def diff(
    invocation: Invocation,
    plan: str | None,
    old: str | None,
    new: str | None,
    binary: bool,
    correction: str | None,
) -> Answer:
    """Show what a plan changed: files, folders, and a patch that `git apply` takes; the newest plan unless named."""
    from mulligan.cli.answers.diff_answer import diff_answer

    project = invocation.project()
    if correction is None:
        return diff_answer(project.diff("latest" if plan is None else plan, old=old, new=new, binary=binary))
    if old is not None or new is not None:
        raise UsageWrong(
            reason="--correction says what is compared: it does not go with --from or --to",
            hint="leave one of them out",
        )
    return diff_answer(project.diff_of_correction(correction, plan=plan, binary=binary))


@command(
    group,
    "rollback",
    example='mulligan plan rollback --dry-run upgrade-api "before release"',
    codes=(0, 1, 2, 3, 130),
)
@click.argument("plan", required=False, metavar="[PLAN_ID]")
@click.argument("checkpoint", required=False, metavar="CHECKPOINT_ID")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
def rollback(
    invocation: Invocation, plan: str | None, checkpoint: str | None, yes: bool, dry_run: bool
) -> Answer:
    """Bring a plan back, or forward, to a checkpoint: files, plan state, decisions; the newest plan unless named.

    CHECKPOINT_ID is a number (`@3`), the id of a checkpoint or group, a unique prefix of one, a label, `first` or
    `latest`. The current state is kept in a pre_rollback checkpoint, so a rollback can itself be rolled back.
    """
    from mulligan.cli.answers.rollback_answer import rollback_answer  # here: no other command shows one

    if plan is None:
        hint = Advice(NextStep("checkpoints.list", plan=...), " shows the checkpoints of a plan")
        raise UsageWrong(reason="CHECKPOINT_ID is missing", hint=hint)
    project = invocation.project()
    named, target = _plan_and_checkpoint(project, plan, checkpoint)

    def act(dry: bool) -> Answer:
        if dry:
            return rollback_answer(project.rollback(named, target, dry_run=True))
        return rollback_answer(invocation.trusting(project, lambda: project.rollback(named, target)))

    try:
        return invocation.confirmed(act, "Roll back?", dry_run=dry_run, yes=yes)
    except CheckpointNotFound:
        if checkpoint is None and _names_a_plan(project, plan):
            hint = Advice(NextStep("checkpoints.list", plan=plan), " shows those of the plan")
            raise UsageWrong(reason="CHECKPOINT_ID is missing", hint=hint) from None
        raise


@command(group, "resolve", example="mulligan plan resolve clash api.txt")
@click.argument("plan", metavar="PLAN_ID")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
def resolve(invocation: Invocation, plan: str, paths: tuple[str, ...]) -> Answer:
    """Mark conflicts that a merge of child plans left as solved: those of each PATH, or all.

    Fix them in the plan's sandbox first. When none is left the sandboxes are kept in a checkpoint, and
    `plan resume` continues from there.
    """
    return status_answer(invocation.project().resolve(plan, paths), None)


@command(
    group,
    "correct",
    example="mulligan plan correct --mode revert --guidance 'use ply' --choose ply 01JD3V",
    codes=(0, 1, 2, 3, 4, 130),
)
@click.argument("decision", metavar="DECISION_ID")
@click.option(
    "--mode",
    required=True,
    type=click.Choice(["revert", "append"]),
    help="Take the decision back with all that followed from it, or append work to it.",
)
@click.option("--guidance", required=True, metavar="TEXT", help="Instructions for the steps from now on.")
@click.option("--choose", metavar="TEXT", help="The new choice of the decision's `decision:` step.")
@click.option(
    "--plan",
    "mended",
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
    guidance: str,
    choose: str | None,
    mended: Path | None,
    dry_run: bool,
    yes: bool,
    no_execute: bool,
) -> Answer:
    """Correct a decision, and run on from there: nothing else of the plan is done again.

    To revert, the plan goes back to its last checkpoint between two steps before the decision. To append, nothing is
    undone: a child plan runs on the current state, and is merged. The steps find the guidance in `${{ guidance }}`,
    `StepContext.guidance` and `MULLIGAN_GUIDANCE`. `plan diff --correction` compares what was with what came of it.
    DECISION_ID is the name of its step, its number (`tune/d1`), its id or a unique prefix of that; `plan tree` shows
    them.
    """
    from mulligan.cli.answers.correction_answer import correction_answer  # here: no other command shows one

    project = invocation.project()

    def carry_out(*, trying: bool) -> Answer:
        status, corrected = project.correct(
            decision,
            guidance=guidance,
            mode=mode,
            choose=choose,
            mended=mended,
            execute=not no_execute,
            dry_run=trying,
        )
        return correction_answer(status, corrected)

    if dry_run:
        return invocation.trusting(project, lambda: carry_out(trying=True))
    if not yes:
        invocation.show(invocation.trusting(project, lambda: carry_out(trying=True)))
        invocation.confirm("Correct the decision?" if mode == "revert" else "Append to the decision?")
    return invocation.trusting(project, lambda: carry_out(trying=False))


@command(group, "apply", example="mulligan plan apply --dry-run upgrade-api", codes=(0, 1, 2, 3, 4, 130))
@click.argument("plan", required=False, metavar="[PLAN_ID]")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
@click.option("--no-commit", is_flag=True, help="Change the working tree of a git checkout only.")
@click.option(
    "--message", metavar="TEXT", help="Of the commit; the plan's name and description unless given."
)
@click.option(
    "--include",
    metavar="PATH",
    multiple=True,
    help="Take over a change of a git directory too (a hook, a setting); relative to its resource.",
)
def apply(
    invocation: Invocation,
    plan: str | None,
    yes: bool,
    dry_run: bool,
    no_commit: bool,
    message: str | None,
    include: tuple[str, ...],
) -> Answer:
    """Merge the result of a plan into the real resources, all at once or not at all; the newest unless named.

    What others changed meanwhile stays; where that and the plan overlap, nothing is changed and the paths are
    listed. What was there is kept in a pre_apply checkpoint, and `plan unapply` takes an apply back.
    """
    from mulligan.cli.answers.apply_answer import apply_answer  # here: no other command needs it

    project = invocation.project()
    wanted = plan or project.newest_for("apply")

    def act(dry: bool) -> Answer:
        done = project.apply(wanted, dry_run=dry, commit=not no_commit, message=message, include=include)
        return apply_answer(*done, done_as="applied")

    return invocation.confirmed(act, "Apply?", dry_run=dry_run, yes=yes)


@command(group, "unapply", example="mulligan plan unapply --yes upgrade-api", codes=(0, 1, 2, 3, 4, 130))
@click.argument("plan", required=False, metavar="[PLAN_ID]")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
def unapply(invocation: Invocation, plan: str | None, yes: bool, dry_run: bool) -> Answer:
    """Take the result of a plan out of the real resources again, all or none; the newest unless named.

    What others changed since stays; where that and what was applied overlap, nothing is changed.
    """
    from mulligan.cli.answers.apply_answer import apply_answer

    project = invocation.project()
    wanted = plan or project.newest_for("unapply")

    def act(dry: bool) -> Answer:
        return apply_answer(*project.unapply(wanted, dry_run=dry), done_as="taken back")

    return invocation.confirmed(act, "Take it back?", dry_run=dry_run, yes=yes)


@command(group, "cancel", example="mulligan plan cancel upgrade-api --reason 'not needed'")
@click.argument("plan", metavar="PLAN_ID")
@click.option("--reason", help="Why, for the log.")
def cancel(invocation: Invocation, plan: str, reason: str | None) -> Answer:
    """End a plan for good; a process that works on it is asked to stop first."""
    return status_answer(invocation.project().cancel(plan, reason), None)


def _plan_and_checkpoint(project: Project, first: str, second: str | None) -> tuple[str, str]:
    """Return the plan and the checkpoint that one or two words name: `tune @3`, `tune@3`, `@3`."""
    if second is not None:
        return first, second
    reference = group_reference(first)
    named = reference.plan if reference else ""
    return named or project.newest_for("rollback"), first


def _names_a_plan(project: Project, word: str) -> bool:
    try:
        project.status(word)
    except PlanNotFound:
        return False
    return True


def _project_for(invocation: Invocation, file: Path) -> Project:
    """The project to run a plan file in; for one that cannot be read none is made."""
    from mulligan.api.operations.plan_files import read_bytes

    read_bytes(file)
    return invocation.project_or_new()
