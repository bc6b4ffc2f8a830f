"""The answer of a correction: what it took back, and the plan's state afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.api.replies import correction_reply
from mulligan.cli.answers.answer import Answer, Block, Line, Table
from mulligan.cli.answers.rollback_answer import changes_line, changes_table
from mulligan.cli.answers.status_answer import status_answer

if TYPE_CHECKING:
    from mulligan.api.results import Appended, Corrected, PlanStatus


def correction_answer(status: PlanStatus, corrected: Corrected) -> Answer:
    """The answer of `plan execute`, and what the correction did or would do."""
    reply = correction_reply(status, corrected)
    standing = () if corrected.dry_run else status_answer(status, reply.error).blocks
    blocks: list[Block] = [*_blocks(status, corrected), *standing]
    if not corrected.dry_run and corrected.execution is None:
        blocks.append(Line(f"run on with `mulligan plan resume {corrected.plan_id}`"))
    return Answer.drawn(reply, blocks)


def _blocks(status: PlanStatus, corrected: Corrected) -> list[Line | Table]:
    correction, impact = corrected.correction, corrected.impact
    if corrected.appended is not None:
        return _appended(status, corrected, corrected.appended)
    verb, be = ("would go", "to be ") if corrected.dry_run else ("went", "")
    by = f" by correction {correction.correction_id}" if correction.correction_id else ""
    below = correction.plan_id != status.plan_id
    who = f"child plan {correction.plan_id}" if below else f"plan {status.name}"
    also = f", and plan {status.name} to before it was merged" if below else ""
    blocks: list[Line | Table] = [
        Line(
            f"{who} {verb} back to {correction.restored_checkpoint} for attempt {correction.attempt}{by}{also}",
            title=True,
        ),
        changes_line(len(corrected.changes_reverted), impact, dry_run=corrected.dry_run),
    ]
    blocks += [Line(f"{be}superseded: {decision}") for decision in corrected.superseded]
    blocks += [Line(f"{be}cancelled: child plan {plan_id}") for plan_id in correction.cancelled_child_plans]
    blocks += [Line(f"{be}undone: {call}") for call in impact.undo if call not in impact.undo_failed]
    if corrected.changes_reverted:
        blocks.append(changes_table(corrected.changes_reverted))
    if corrected.dry_run:  # the messages cover one that is done
        blocks += [Line(f"cannot be undone: {call}") for call in impact.irreversible]
    if corrected.pre_rollback_checkpoint:
        blocks.append(Line(f"the earlier attempt is kept in {corrected.pre_rollback_checkpoint}"))
    return blocks


def _appended(status: PlanStatus, corrected: Corrected, appended: Appended) -> list[Line | Table]:
    correction = corrected.correction
    gets = "would get" if corrected.dry_run else "got"
    by = f" by correction {correction.correction_id}" if correction.correction_id else ""
    known = f" ({appended.child_plan_id})" if appended.child_plan_id else ""
    return [
        Line(
            f"plan {status.name} {gets} step {appended.step_index} ({appended.step}) "
            f"for attempt {correction.attempt}{by}; nothing is undone",
            title=True,
        ),
        Line(f"child plan {appended.child_plan}{known} of steps: {', '.join(appended.steps)}"),
    ]
