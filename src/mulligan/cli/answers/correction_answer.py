"""The answer of a correction: what it took back, and the plan's state afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.api.replies import correction_reply
from mulligan.cli.answers.answer import Answer, Block, Line
from mulligan.cli.answers.rollback_answer import changes_blocks, changes_line
from mulligan.cli.answers.status_answer import names_of, status_answer

if TYPE_CHECKING:
    from mulligan.api.results import Appended, Corrected, PlanStatus


def correction_answer(status: PlanStatus, corrected: Corrected) -> Answer:
    """The answer of `plan execute`, and what the correction did or would do."""
    reply = correction_reply(status, corrected)
    now = () if corrected.dry_run else status_answer(status, reply.error).blocks
    return Answer.drawn(reply, [*_blocks(status, corrected), *now], names_of(status))


def _blocks(status: PlanStatus, corrected: Corrected) -> list[Block]:
    correction, impact = corrected.correction, corrected.impact
    if corrected.appended is not None:
        return _appended(status, corrected, corrected.appended)
    verb, be = ("would go", "to be ") if corrected.dry_run else ("went", "")
    by = f" by correction {correction.correction_id}" if correction.correction_id else ""
    below = correction.plan_id != status.plan_id
    also = f", and {status.plan_id} to before it was merged" if below else ""
    target = f"{correction.restored_checkpoint} for attempt {correction.attempt}"
    blocks: list[Block] = [
        Line(f"{correction.plan_id} {verb} back to {target}{by}{also}", title=True),
        changes_line(len(corrected.changes_reverted), impact, dry_run=corrected.dry_run),
    ]
    blocks += [Line(f"{be}left behind: {decision}") for decision in corrected.superseded]
    blocks += [Line(f"{be}cancelled: child plan {plan_id}") for plan_id in correction.cancelled_child_plans]
    blocks += [Line(f"{be}undone: {call}") for call in impact.undo if call not in impact.undo_failed]
    if corrected.changes_reverted:
        blocks += changes_blocks(corrected.changes_reverted, f"mulligan diff --stat {status.handle}")
    if corrected.dry_run:  # the messages cover one that is done
        blocks += [Line(f"cannot be undone: {call}") for call in impact.irreversible]
    if corrected.pre_rollback_checkpoint:
        blocks.append(Line(f"the earlier attempt is kept in {corrected.pre_rollback_checkpoint}"))
    return blocks


def _appended(status: PlanStatus, corrected: Corrected, appended: Appended) -> list[Block]:
    correction = corrected.correction
    gets = "would get" if corrected.dry_run else "got"
    by = f" by correction {correction.correction_id}" if correction.correction_id else ""
    known = f" ({appended.child_plan_id})" if appended.child_plan_id else ""
    return [
        Line(
            f"{status.plan_id} {gets} step {appended.step_index + 1} ({appended.step}) "
            f"for attempt {correction.attempt}{by}; nothing is undone",
            title=True,
        ),
        Line(f"child plan {appended.child_plan}{known} of steps: {', '.join(appended.steps)}"),
    ]
