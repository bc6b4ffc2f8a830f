"""Answers of operations whose document has more in it than what one method returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import asdict

from mulligan.api.document import Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.api.operations.command_run import CommandRun
    from mulligan.application.apply.apply_preparation import Application
    from mulligan.application.corrections.correction_result import Corrected
    from mulligan.application.queries.checkpoint_queries import CheckpointView
    from mulligan.application.queries.plan_queries import PlanStatus
    from mulligan.application.runs.plan_executor import Execution
    from mulligan.domain.plans.event import Event
    from mulligan.domain.trees.diff import Diff


def execution_reply(status: PlanStatus, execution: Execution) -> Reply:
    """Answer an execution: the plan's status, and what stopped it."""
    messages = [*status.messages, *execution.messages]
    return Reply(data=status, messages=messages, error=execution.error, warn=execution.only_restored)


def application_reply(status: PlanStatus, done: Application) -> Reply:
    """Answer an apply or unapply: the plan's status, and what was done to the real resources."""
    changes = (*done.files, *done.folders)
    data = asdict(status) | {
        "dry_run": done.dry_run,
        "applied": done.applied,
        "changes": [{"resource": c.resource, "path": c.path, "status": c.status} for c in changes],
        "conflicts": done.conflicts,
        "sandbox_cleanup": done.sandbox_cleanup,
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
    return Reply(data={**data, "exit_status": ran.exit_status}, messages=messages, error=ran.error)


def log_reply(events: Sequence[Event], messages: Sequence[str] = ()) -> Reply:
    """Answer with the log of a plan."""
    shown = [{"seq": e.seq, "type": e.type, "created_at": e.created_at, "data": e.data} for e in events]
    return Reply(data={"events": shown}, messages=messages)


def diff_reply(diff: Diff) -> Reply:
    """Answer a comparison."""
    same = () if diff.files or diff.folders else ("nothing differs",)
    data = {name: getattr(diff, name) for name in ("old", "new", "files", "folders", "patch")}
    return Reply(data=data, messages=(*diff.messages, *same))


def checkpoints_reply(views: Sequence[CheckpointView], messages: Sequence[str] = ()) -> Reply:
    """Answer with one checkpoint as itself, and with those of a group of several resources as a list."""
    one = views[0] if len(views) == 1 else {"group_id": views[0].group_id, "checkpoints": views}
    return Reply(data=one, messages=messages)
