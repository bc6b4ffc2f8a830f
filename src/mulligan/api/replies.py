"""Answers of operations whose document has more in it than what one method returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import asdict

from mulligan.api.document import Reply
from mulligan.domain.views.printed import SHOWN, Printed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.api.operations.command_run import CommandRun
    from mulligan.api.trials.variant_words import Tried
    from mulligan.application.apply.apply_preparation import Application
    from mulligan.application.bisection.bisect_service import Bisection
    from mulligan.application.corrections.correction_result import Corrected
    from mulligan.application.plans.acceptance import Acceptance
    from mulligan.application.queries.checkpoint_queries import CheckpointView
    from mulligan.application.queries.plan_queries import PlanStatus
    from mulligan.application.queries.step_outputs import StepOutput
    from mulligan.application.runs.plan_executor import Execution
    from mulligan.application.timeline.attributions import CallView
    from mulligan.application.timeline.timeline_queries import EntryView
    from mulligan.application.timeline.timeline_service import Undone
    from mulligan.domain.plans.event import Event
    from mulligan.domain.trees.diff import Diff


def execution_reply(status: PlanStatus, execution: Execution) -> Reply:
    """Answer an execution: the plan's status, and what stopped it."""
    messages = [*status.messages, *execution.messages]
    return Reply(data=status, messages=messages, error=execution.error, warn=execution.only_restored)


def acceptance_reply(status: PlanStatus, accepted: Acceptance) -> Reply:
    """Answer an acceptance: the plan's status, the group that was taken, and the steps that did not run."""
    facts = {name: getattr(accepted, name) for name in ("checkpoint_id", "number", "at", "taken", "not_run")}
    return Reply(data=asdict(status) | {"accepted": facts}, messages=[*status.messages, *accepted.messages])


def application_reply(status: PlanStatus, done: Application) -> Reply:
    """Answer an apply or unapply: the plan's status, and what was done to the real resources."""
    changes = (*done.files, *done.folders)
    data = asdict(status) | {
        "dry_run": done.dry_run,
        "applied": done.applied,
        "changes": [{"resource": c.resource, "path": c.path, "status": c.status} for c in changes],
        "conflicts": done.conflicts,
        "sandbox_cleanup": done.sandbox_cleanup,
        "result_id": done.result_id,
    }
    return Reply(data=data, messages=[*status.messages, *done.messages], error=done.error)


def correction_reply(status: PlanStatus, corrected: Corrected) -> Reply:
    """Answer a correction: the plan's status, and what the correction did or would do."""
    execution = corrected.execution
    data = asdict(status) | {
        "dry_run": corrected.dry_run,
        "correction": corrected.correction,
        "changes_reverted": corrected.changes_reverted,
        "impact": corrected.impact,
        "pre_rollback_checkpoint": corrected.pre_rollback_checkpoint,
        "appended": corrected.appended,
    }
    return Reply(
        data=data,
        messages=[*status.messages, *corrected.messages],
        error=execution.error if execution else None,
        warn=bool(corrected.impact.undo_failed) or bool(execution and execution.only_restored),
    )


def run_reply(ran: CommandRun) -> Reply:
    """Answer a command that ran without a plan file: as an execution or an apply, with its exit status."""
    data: dict[str, object] = asdict(ran.status)
    messages = [*ran.status.messages, *ran.messages]
    if ran.application is not None:
        applied = application_reply(ran.status, ran.application)
        data = cast("dict[str, object]", applied.data)
        messages = [*ran.messages, *applied.messages]
    printed = (ran.printed or Printed(stdout=b"", stderr=b"")).bounded(SHOWN)
    return Reply(
        data={**data, "exit_status": ran.exit_status, **printed.content()},
        messages=messages,
        error=ran.error,
        exit_code=ran.exit_code,
    )


def outputs_reply(status: PlanStatus, outputs: Sequence[StepOutput]) -> Reply:
    """Answer with all that was recorded of what the steps of a plan printed."""
    shown = [
        {
            "index": output.index,
            "step": output.step,
            "tool": output.tool,
            "call_id": output.call_id,
            "exit_status": output.exit_status,
            **output.printed.content(),
        }
        for output in outputs
    ]
    return Reply(data={"plan_id": status.plan_id, "handle": status.handle, "outputs": shown})


def log_reply(events: Sequence[Event], messages: Sequence[str] = ()) -> Reply:
    """Answer with the log of a plan."""
    shown = [{"seq": e.seq, "type": e.type, "created_at": e.created_at, "data": e.data} for e in events]
    return Reply(data={"events": shown}, messages=messages)


def timeline_reply(entries: Sequence[EntryView], messages: Sequence[str] = ()) -> Reply:
    """Answer with the timeline of the folder, newest first."""
    return Reply(data={"entries": entries}, messages=messages)


def calls_reply(entry: EntryView, calls: Sequence[CallView]) -> Reply:
    """Answer with an entry of the timeline and the calls of the agent that it is about."""
    return Reply(data={"entry": entry, "calls": calls})


def undone_reply(done: Undone) -> Reply:
    """Answer an undo or redo; a conflict is its error."""
    data = {name: value for name, value in asdict(done).items() if name not in ("error", "messages")}
    failed = done.impact.undo_failed if done.impact else ()
    return Reply(
        data={**data, "messages": done.messages},
        messages=done.messages,
        error=done.error,
        warn=bool(failed),
    )


def diff_reply(diff: Diff) -> Reply:
    """Answer a comparison."""
    same = () if diff.files or diff.folders else (f"nothing {'else ' if diff.hidden else ''}differs",)
    data = {name: getattr(diff, name) for name in ("old", "new", "files", "folders", "patch", "hidden")}
    return Reply(data=data, messages=(*diff.messages, *same))


def bisect_reply(found: Bisection) -> Reply:
    """Answer a bisection; that skipped groups hide the result is its error."""
    data = {name: value for name, value in asdict(found).items() if name not in ("error", "messages")}
    return Reply(data=data, messages=found.messages, error=found.error)


def tried_reply(tried: Tried, status: PlanStatus | None = None) -> Reply:
    """Answer a try; that no variant passes is its error. With a status the plan's own facts are part of it."""
    own = {name: value for name, value in asdict(tried).items() if name not in ("error", "messages")}
    data = (asdict(status) if status is not None else {}) | own
    return Reply(data=data, messages=tried.messages, error=tried.error)


def checkpoints_reply(views: Sequence[CheckpointView], messages: Sequence[str] = ()) -> Reply:
    """Answer with one checkpoint as itself, and with those of a group of several resources as a list."""
    one = views[0] if len(views) == 1 else {"group_id": views[0].group_id, "checkpoints": views}
    return Reply(data=one, messages=messages)
