"""Commands on plans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mulligan.api.command_words import in_commands
from mulligan.cli.answers.answer import Answer, Document, Line
from mulligan.cli.answers.status_answer import executed_answer, status_answer
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import (
    CommandWithPaths,
    command,
    diff_view,
    diff_views,
    everywhere,
    in_state,
    newest,
    not_shown,
    of_commits,
    on_any_branch,
    paths_of,
)
from mulligan.cli.commands.forks import fork_command
from mulligan.cli.word_pairs import compared_words, names_a_plan, only_waiting, plan_and_checkpoint
from mulligan.domain.plans.plan import State
from mulligan.domain.text.plural import counted
from mulligan.errors import (
    Advice,
    CheckpointNotFound,
    NextStep,
    PlanNotFound,
    ProjectNotFound,
    UsageWrong,
)  # fmt: skip

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
    except (PlanNotFound, ProjectNotFound) as exc:
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
    return executed_answer(status, execution)


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


@command(group, "status", example="mulligan plan status --watch", codes=(0, 1, 2, 3, 130))
@click.argument("plan", default="latest", metavar="[PLAN]")
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


@command(group, "list", example="mulligan plan list --state failed")
@click.argument("checkpoint", required=False, metavar="[CHECKPOINT]")
@click.argument("stored", required=False, metavar="[PATH]")
@in_state
@click.option(
    "--waiting", is_flag=True, help="Only plans that wait for someone: with a question, or conflicts."
)
@click.option("--recursive", "-r", is_flag=True, help="Of a checkpoint: all below PATH.")
@newest
def list_plans(
    invocation: Invocation,
    checkpoint: str | None,
    stored: str | None,
    state: str | None,
    waiting: bool,
    recursive: bool,
    limit: int | None,
) -> Answer:
    """List the plans, newest first; with CHECKPOINT what it holds at PATH: names, modes, sizes.

    CHECKPOINT is a number (`tune@3`, `@3`), a label, an id, `first`, `latest`, a plan, or the number of an entry of
    `mulligan log`; PATH is relative to the current folder.
    """
    if checkpoint is not None:
        if state is not None or waiting or limit is not None:
            raise UsageWrong(
                reason="--state, --waiting and --limit are for the list of plans",
                hint="leave CHECKPOINT or the option out",
            )
        from mulligan.cli.answers.paths.stored_path_answer import tree_answer_of  # here: seldom asked for

        return tree_answer_of(invocation, checkpoint, stored, recursive=recursive)
    if recursive:
        raise UsageWrong(reason="--recursive is for a checkpoint", hint="name one, such as `@3`")
    plans = invocation.project().plans(State(state) if state else None, limit=limit, waiting=waiting)
    from mulligan.cli.answers.plans.plan_list_blocks import plan_blocks, waiting_blocks

    when = invocation.when
    return Answer(
        data={"plans": plans},
        blocks=waiting_blocks(plans, when)
        if waiting
        else plan_blocks(plans, when, of_state=state is not None),
        names={p.plan_id: p.handle for p in plans},
        messages=not_shown(plans.older, "plan"),
        paged=not waiting,
    )


@command(group, "log", example="mulligan plan log upgrade-api")
@click.argument("plan", default="latest", metavar="[PLAN]")
@newest
def log(invocation: Invocation, plan: str, limit: int | None) -> Answer:
    """Show what happened to a plan, in order, with its child plans; the newest one unless named.

    Records that a rollback, a correction or a failed step left behind are on a branch beside the line.
    """
    return log_of_plan(invocation, plan, limit)


def log_of_plan(invocation: Invocation, plan: str, limit: int | None) -> Answer:
    """Answer with the log of a plan."""
    project = invocation.project()
    if invocation.format.is_document:
        from mulligan.api.replies import log_reply

        events = project.log(plan, limit=limit)
        return Answer.drawn(log_reply(events, not_shown(events.older, "entry", "entries")), ())
    from mulligan.cli.answers.history_blocks import history_blocks

    history = project.history(plan, limit=limit)
    older = not_shown(history.older, "entry", "entries")
    blocks = history_blocks(history, invocation.when)
    return Answer(
        data=None, blocks=blocks, names={history.plan_id: history.handle}, messages=older, paged=True
    )


@command(group, "tree", example="mulligan plan tree upgrade-api --show-superseded")
@click.argument("plan", default="latest", metavar="[PLAN]")
@click.option("--show-superseded", "superseded", is_flag=True, help="What a rollback left behind too.")
def tree(invocation: Invocation, plan: str, superseded: bool) -> Answer:
    """Show a plan's decisions, and the checkpoints taken on the way, as a tree; the newest plan unless named."""
    from mulligan.cli.answers.tree_answer import tree_answer  # here: no other command shows a tree

    return tree_answer(invocation.project().tree(plan, superseded=superseded))


@command(group, "report", example="mulligan plan report upgrade-api --html report.html")
@click.argument("plan", default="latest", metavar="[PLAN]")
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


@command(
    group, "diff", example="mulligan plan diff upgrade-api --from draft | git apply", cls=CommandWithPaths
)
@click.argument("plan", required=False, metavar="[PLAN|CP]")
@click.argument("other", required=False, metavar="[CP]")
@click.option("--from", "old", metavar="CP", help="The older side; the first live checkpoint unless given.")
@click.option("--to", "new", metavar="CP", help="The newer side; the latest checkpoint unless given.")
@click.option("--binary", is_flag=True, help="Let the patch carry binary files too.")
@click.option("--hidden", is_flag=True, help="Show what sandbox.hide matches too: caches of tools.")
@click.option("--correction", metavar="ID", help="The attempts before and after a correction.")
@diff_views
@click.pass_context
def diff(
    context: click.Context,
    invocation: Invocation,
    plan: str | None,
    other: str | None,
    old: str | None,
    new: str | None,
    binary: bool,
    hidden: bool,
    correction: str | None,
    stat: bool,
    name_only: bool,
) -> Answer:
    """Show what a plan changed: files, folders, and a patch that `git apply` takes; the newest plan unless named.

    `tune@3` shows what changed up to that checkpoint, `tune@1 tune@3` compares the two. The number of an entry of the
    timeline (`mulligan log`), in the place of a plan, shows what that entry changed. With PATHs only what these match,
    as in git: seen from the current folder, or from the top of the resource.
    """
    from mulligan.cli.answers.diff_answer import diff_answer

    view, project = diff_view(stat=stat, name_only=name_only), invocation.project()
    paths = paths_of(context)
    folder = Path.cwd() if paths else None
    wish = compared_words(project, plan, other, old, new)
    if wish.groups is not None and correction is None:
        found = project.checkpoints.diff(
            *wish.groups, binary=binary, hidden=hidden, paths=paths, folder=folder
        )
        return diff_answer(found, view, f"mulligan diff --stat {' '.join(wish.groups)}")
    plan, old, new = wish.plan, wish.old, wish.new
    number = project.entry_number(plan) if plan and not (correction or old or new) else None
    if number is not None:
        found = project.diff_of_entry(number, binary=binary, hidden=hidden, paths=paths, folder=folder)
        return diff_answer(found, view, f"mulligan diff --stat {number}")
    if correction is None:
        named = plan or ("latest" if old or new else project.newest_for("diff"))
        found = project.diff(
            named, old=old, new=new, binary=binary, hidden=hidden, paths=paths, folder=folder
        )
        sides = [f" {option} {word}" for option, word in (("--from", old), ("--to", new)) if word is not None]
        return diff_answer(found, view, f"mulligan diff --stat {plan or found.new.plan_id}{''.join(sides)}")
    if old is not None or new is not None or wish.groups is not None:
        raise UsageWrong(
            reason="--correction says what is compared: it does not go with --from or --to",
            hint="leave one of them out",
        )
    found = project.diff_of_correction(
        correction, plan=plan, binary=binary, hidden=hidden, paths=paths, folder=folder
    )
    return diff_answer(found, view, f"mulligan diff --stat --correction {correction}")


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
    except CheckpointNotFound:
        if checkpoint is None and names_a_plan(project, plan):
            hint = Advice(NextStep("checkpoints.list", plan=plan), " shows those of the plan")
            raise UsageWrong(reason="CHECKPOINT is missing", hint=hint) from None
        raise


@command(group, "resolve", example="mulligan plan resolve clash api.txt")
@click.argument("plan", metavar="PLAN")
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

    def act(dry: bool, onto: bool) -> Answer:
        done = project.apply(
            wanted,
            dry_run=dry,
            commit=commit,
            message=message,
            include=include,
            onto_branch=onto,
        )
        return apply_answer(*done, done_as="applied")

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


@command(group, "cancel", example="mulligan plan cancel upgrade-api --reason 'not needed'")
@click.argument("plan", metavar="PLAN")
@click.option("--reason", help="Why, for the log.")
def cancel(invocation: Invocation, plan: str, reason: str | None) -> Answer:
    """End a plan for good; a process that works on it is asked to stop first."""
    return status_answer(invocation.project().cancel(plan, reason), None)


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


group.add_command(fork_command.fork)


def _project_for(invocation: Invocation, file: Path) -> Project:
    """The project to run a plan file in; for one that cannot be read none is made."""
    from mulligan.api.operations.plan_files import read_bytes

    read_bytes(file)
    return invocation.project_or_new()
