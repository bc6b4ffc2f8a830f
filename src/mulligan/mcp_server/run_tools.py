"""Tools that run a command in a sandbox, and bring a result into the real files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from mulligan.api.operations.command_place import command_place, place_on
from mulligan.api.operations.command_run import refuse_missing_program, run_command_in
from mulligan.domain.views.printed import Printed
from mulligan.errors import Advice, NextStep, StepFailed, UsageWrong
from mulligan.mcp_server.path_lists import in_words, of_diff
from mulligan.mcp_server.tool_results import Applied, CommandResult, VariantList
from mulligan.mcp_server.tool_work import question

if TYPE_CHECKING:
    from mulligan.api.results import Application, PlanStatus
    from mulligan.mcp_server.tool_arguments import Apply, RunInSandbox, TryVariants
    from mulligan.mcp_server.tool_work import Question, ToolWork

_SHOWN = 16 * 1024  # bytes of each stream


def run_in_sandbox(work: ToolWork, wish: RunInSandbox) -> CommandResult:
    """Run a command as a plan of one step, or as the next step of a plan; a failed command is an answer."""
    if wish.plan:
        if wish.name is not UNSET:
            raise UsageWrong(reason="the plan that goes on has a name", hint="leave `name` or `plan` out")
        project = work.project()
        place = place_on(work.around, project, wish.plan)
    else:
        place = command_place(work.around, work.client.project, None, in_place=False)
        refuse_missing_program(work.around, place, wish.command)
        project = work.project_in(place.project)
    ran = run_command_in(
        project,
        place,
        wish.command,
        name=wish.name or None,
        apply=False,
        keep=wish.keep,
        on=wish.plan or None,
    )
    if ran.error is not None and not isinstance(ran.error, StepFailed):
        raise ran.error
    if ran.exit_status is None and ran.error is not None:
        raise ran.error  # it did not start
    status = ran.status
    diff = project.diff(status.plan_id)
    number = status.last_checkpoint_number
    return work.result(
        CommandResult,
        {
            "plan": status.handle,
            "state": status.state,
            "exit_status": ran.exit_status,
            **(ran.printed or Printed(stdout=b"", stderr=b"")).bounded(_SHOWN).content(),
            **of_diff(diff.files, diff.folders),
            "checkpoint": f"{status.handle}@{number}" if number is not None else None,
            "error": ran.error.text if ran.error is not None else None,
            "messages": (*work.notes, *status.messages, *ran.messages),
        },
    )


def try_variants(work: ToolWork, wish: TryVariants) -> VariantList:
    """Run several lines of shell beside each other, each in a sandbox, and check the results."""
    if wish.from_checkpoint:
        project = work.project()
        resource, folder = None, project.folder_in(wish.from_checkpoint, work.around.folder)
    else:
        place = command_place(work.around, work.client.project, None, in_place=False)
        project, resource, folder = work.project_in(place.project), place.resource, place.folder
    tried = project.try_variants(
        variants=wish.variants,
        check=wish.check or None,
        start=wish.from_checkpoint or None,
        keep_going=True,
        timeout=None if isinstance(wish.timeout_seconds, UnsetType) else wish.timeout_seconds,
        name=wish.name or None,
        resource=resource,
        folder=folder,
    )
    return work.result(
        VariantList,
        {
            "plan": tried.handle,
            "state": tried.state,
            "passed": tried.passed,
            "variants": [{**asdict(each), "plan": each.handle} for each in tried.variants],
            "error": tried.error.text if tried.error is not None else None,
            "next_step": work.client.words.text(
                Advice(
                    "look at a variant: ",
                    NextStep("diff", plan=...),
                    "; choose it: ",
                    NextStep("pick_variant", variant=...),
                    "; apply it then: ",
                    NextStep("apply", plan=tried.handle),
                )
            ),
            "messages": (*work.notes, *tried.messages),
        },
    )


def ask_to_apply(work: ToolWork, wish: Apply) -> Question | None:
    """Ask whether a result is to become real; None where nothing real would change."""
    if wish.dry_run:
        return None
    status, done = _applied(work, wish, dry_run=True)
    result = work.once("result", lambda: done.result_id)
    changes = (*done.files, *done.folders)
    commits = [f"a commit {each.subject!r}" for each in done.applied if each.subject is not None]
    if not (changes or commits):
        return None
    named = in_words([*commits, *(f"{each.path} {each.status}" for each in changes)])
    command = NextStep("apply", plan=status.handle, **({"onto_branch": True} if wish.onto_branch else {}))
    text = f"Apply {status.handle} to the real files? {named}."
    return question(text, "Apply", command, (status.handle, done.applied, changes, result))


def apply(work: ToolWork, wish: Apply) -> Applied:
    """Merge the result of a plan into the real files, all at once or not at all."""
    status, done = _applied(work, wish, dry_run=wish.dry_run)
    return work.result(
        Applied,
        {
            "plan": status.handle,
            "state": status.state,
            "dry_run": wish.dry_run,
            **of_diff(done.files, done.folders),
            "commits": [each.commit for each in done.applied if each.commit is not None],
            "messages": (*work.notes, *status.messages, *done.messages),
        },
    )


def _applied(work: ToolWork, wish: Apply, *, dry_run: bool) -> tuple[PlanStatus, Application]:
    project = work.project()
    agreed = None if dry_run else work.once("result", lambda: None)
    status, done = project.apply(
        wish.plan or work.once("newest", lambda: project.newest_for("apply")),
        dry_run=dry_run,
        commit=None if isinstance(wish.commit, UnsetType) else wish.commit,
        message=wish.message or None,
        onto_branch=wish.onto_branch,
        agreed=agreed,
    )
    if done.error is not None:
        raise done.error
    return status, done
