"""Records what a correction adds to the return it stands on, in the return's own transaction."""

from collections.abc import Sequence

from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_service import CheckpointService, at_group, reason_for
from mulligan.application.runs.recorder import Recorder
from mulligan.application.runs.run import Entry, Run
from mulligan.domain.checkpoints.checkpoint import Checkpoint, CheckpointGroup
from mulligan.domain.history.correction import Correction
from mulligan.domain.plans.decision import Decision
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.ports import Transaction


class CorrectionRecords:
    """The rows of a correction: the guidance as a decision with its group, and the next attempt."""

    def __init__(self, *, checkpoints: CheckpointService, recorder: Recorder) -> None:
        """Use these collaborators."""
        self._checkpoints = checkpoints
        self._recorder = recorder

    def write(
        self,
        db: Transaction,
        run: Run,
        plan: Plan,
        correction: Correction,
        decision: Decision,
        checkpoints: Sequence[Checkpoint],
    ) -> tuple[Plan, CheckpointGroup, list[Event]]:
        """Begin the next attempt on what `checkpoints` hold, with the guidance as `decision`; gives where it stands.

        As every decision the guidance has a group of its own: the plan goes on from there with it, and a return
        to what lies before leaves it behind.
        """
        told = Entry(
            type=EventType.DECISION,
            data={
                "decision_id": decision.decision_id,
                "question": decision.choice.question,
                "chosen": decision.choice.chosen,
            },
            at=decision.created_at,
        )
        events = self._recorder.write(db, plan, [decision, told])
        db.corrections.add(correction)
        decisions = (*plan.progress.decisions, decision.content())
        plan = replace(plan, attempt=correction.attempt, progress=replace(plan.progress, decisions=decisions))
        reason = reason_for(CheckpointType.DECISION, {"step": decision.step_name}, between_steps=True)
        reason = replace(reason, decision_id=decision.decision_id)
        group, about = self._checkpoints.add_group(db, run, plan, reason, checkpoints)
        events += self._recorder.write(db, plan, about)
        return at_group(plan, group), group, events
