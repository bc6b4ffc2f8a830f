"""Records a correction, in the transaction of the return or append that it belongs to."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.runs.commit import Commit, Entry
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.checkpoint import Checkpoint
from mulligan.domain.history.correction import Correction
from mulligan.domain.plans.decision import Decision
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.trigger import CheckpointType


class CorrectionRecords(Struct, kw_only=True, frozen=True, eq=False):
    """The rows of a correction: the guidance as a decision with its group, and the next attempt."""

    checkpoints: CheckpointService

    def write(
        self,
        commit: Commit,
        run: Run,
        correction: Correction,
        decision: Decision,
        checkpoints: Sequence[Checkpoint],
    ) -> None:
        """Begin the next attempt from `checkpoints`, with the guidance as `decision`.

        Like every decision the guidance has its own group: the plan continues from there with it, and a return to an
        earlier group supersedes it.
        """
        entry = Entry(
            type=EventType.DECISION,
            data={
                "decision_id": decision.decision_id,
                "question": decision.choice.question,
                "chosen": decision.choice.chosen,
            },
            at=decision.created_at,
        )
        commit.record(decision, entry)
        commit.db.corrections.add(correction)
        progress = commit.plan.progress
        progress = replace(progress, decisions=(*progress.decisions, decision.content()))
        commit.plan = replace(commit.plan, attempt=correction.attempt, progress=progress)
        reason = reason_for(CheckpointType.DECISION, {"step": decision.step_name}, between_steps=True)
        reason = replace(reason, decision_id=decision.decision_id)
        group = self.checkpoints.add_group(commit, run, reason, checkpoints)
        commit.afterwards(lambda: run.reset_to(group))
