"""Corrections: a decision changed after the fact and all that followed from it done once more, or work added to it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.history.lines import NEVER, Line, is_live, live_segments
from mulligan.domain.plans.decision import Choice, Decision, DecisionType, Question
from mulligan.domain.plans.interpolation import output_of
from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.plans.step import ChildPlan, MergeStrategy, Step, SubplanMode, Subplans
from mulligan.domain.text.ids import CheckpointId, CorrectionId, DecisionId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.text.names import LONGEST_NAME

_ROOM_FOR_A_NUMBER = 5  # characters, with its space


class CorrectionMode(StrEnum):
    """The fate of the corrected decision."""

    REVERT = "revert"  # it is taken back, with all that followed from it
    APPEND = "append"  # it stays, and work is added to it


class Correction(Struct, frozen=True, kw_only=True):
    """A correction by a user, and the attempt that began with it."""

    correction_id: CorrectionId
    plan_id: PlanId
    mode: CorrectionMode
    decision_id: DecisionId  # the one that was corrected
    intervention_id: DecisionId  # the one that records the guidance
    guidance: str
    chosen: str | None  # the new choice of the `decision:` step; None: not given
    redefines: bool  # whether it changed the steps, by another choice or an edited plan file
    attempt: int
    superseded_decisions: tuple[DecisionId, ...]
    cancelled_child_plans: tuple[PlanId, ...]
    # Where the attempt begins: gone back to, or taken for what is appended; None: that is still to be done.
    restored_checkpoint: CheckpointId | None
    created_at: datetime


def guidance_of(decisions: Iterable[JsonObject]) -> str:
    """Return the live guidance of all corrections, oldest first, one per line."""
    told = (d["chosen"] for d in decisions if d["type"] == DecisionType.USER_INTERVENTION)
    return "\n".join(str(text) for text in told)


def intervention(correction: Correction, corrected: Decision, line: int) -> Decision:
    """The guidance as a decision: the user's answer to the question that was decided wrongly, or not to its end."""
    return Decision(
        decision_id=correction.intervention_id,
        plan_id=correction.plan_id,
        seq=0,  # given when it is written
        line=line,
        parent_decision_id=None,  # the first live one of its step, when it is written
        type=DecisionType.USER_INTERVENTION,
        step_index=corrected.step_index,
        step_name=corrected.step_name,
        choice=Choice(
            question=corrected.choice.question,
            chosen=correction.guidance,
            alternatives=(corrected.choice.chosen,),
            rationale=None,
        ),
        superseded=False,
        created_at=correction.created_at,
    )


def addition(correction: Correction, corrected: Decision, line: int, index: int, step: Step) -> Decision:
    """The guidance for what is appended: it hangs on the decision that stays, and belongs to the step that is added."""
    return replace(
        intervention(correction, corrected, line),
        parent_decision_id=corrected.decision_id,
        step_index=index,
        step_name=step.name,
    )


def appended_step(
    definition: PlanDefinition, correction_id: CorrectionId, to_step: str, child: ChildPlan
) -> Step:
    """The step that runs appended work: one child plan, merged line by line."""
    taken = {output_of(step.name).environment_name for step in definition.steps}
    name = wanted = f"append to {to_step}"[: LONGEST_NAME - _ROOM_FOR_A_NUMBER].rstrip()
    for number in count(2):
        if output_of(name).environment_name not in taken:
            break
        name = f"{wanted} {number}"
    subplans = Subplans(
        mode=SubplanMode.PARALLEL,
        max_parallel=None,
        merge_strategy=MergeStrategy.THREE_WAY,
        fail_fast=False,
        max_retries=0,
        plans=(child,),
    )
    return Step(name=name, action=subplans, label=None, timeout=None, retries=0, appended=correction_id)


def again(step: Step) -> ChildPlan:
    """A child plan that runs a step once more."""
    name = f"{step.name[: LONGEST_NAME - len(' again')].rstrip()} again"
    return ChildPlan(name=name, depends_on=(), steps=(step,))


def with_step(definition: PlanDefinition, index: int, step: Step) -> PlanDefinition:
    """The plan with one step more at that place."""
    return replace(definition, steps=(*definition.steps[:index], step, *definition.steps[index:]))


def child_of(step: Step) -> ChildPlan | None:
    """The child plan of a step that a correction added; None: it is one of the plan's own."""
    return step.action.plans[0] if step.appended and isinstance(step.action, Subplans) else None


def with_appended(corrected: PlanDefinition, recorded: PlanDefinition) -> PlanDefinition:
    """Return an edited plan with the steps that were added later, each behind as many of the plan's own as before.

    No plan file has those steps.
    """
    steps, own = list(corrected.steps), 0
    for index, step in enumerate(recorded.steps):
        if step.appended or step.added is not None:
            steps.insert(min(own, len(corrected.steps)) + index - own, step)
        else:
            own += 1
    return replace(corrected, steps=tuple(steps))


def line_that_tells(
    lines: Sequence[Line],
    corrections: Iterable[Correction],
    decisions: Iterable[Decision],
    line: int,
    seq: int,
) -> int:
    """Return the line at whose end the plan's definition equals that at `seq`, which is live on `line`.

    A return to before a correction undoes its change of the plan. The definition is then that from before the
    earliest correction left behind; if that one had left corrections behind itself, the one from before those.
    """
    redefining = {correction.intervention_id for correction in corrections if correction.redefines}
    changes = [d for d in decisions if d.decision_id in redefining]
    forks = {each.line: each.fork_seq for each in lines}
    while True:
        segments = live_segments(lines, line, NEVER)
        begun = min(
            (d.line for d in changes if d.seq > seq and is_live(segments, d.line, d.seq)), default=None
        )
        if begun is None:
            return line
        line, seq = begun - 1, forks[begun]


def choosing(definition: PlanDefinition, step_name: str, chosen: str, guidance: str) -> PlanDefinition | None:
    """The plan with another choice in its `decision:` step of that name; None: it has no such step.

    What was chosen before becomes an alternative, and the guidance the reason.
    """
    for index, step in enumerate(definition.steps):
        if step.name == step_name and isinstance(step.action, Choice | Question):
            before = step.action
            known = (
                (before.chosen, *before.alternatives) if isinstance(before, Choice) else before.alternatives
            )
            others = tuple(dict.fromkeys(other for other in known if other != chosen))
            choice = Choice(question=before.question, chosen=chosen, alternatives=others, rationale=guidance)
            steps = (*definition.steps[:index], replace(step, action=choice), *definition.steps[index + 1 :])
            return replace(definition, steps=steps)
    return None
