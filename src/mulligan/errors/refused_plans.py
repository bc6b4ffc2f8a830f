"""Exit code 3: what a plan, checkpoint, decision or session does not allow as it stands."""

from typing import ClassVar

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import NotFound, Refused


class PlanNotFound(NotFound):
    """No plan has this id, prefix or name."""

    message: ClassVar[str] = "no plan {wanted!r}"
    hint: ClassVar[str] = Advice(NextStep("plans"), " shows all plans")


class NoPlansYet(PlanNotFound):
    """The newest plan is wanted, and there is none."""

    message: ClassVar[str] = "there are no plans yet"
    hint: ClassVar[str] = Advice(
        "start one with ", NextStep("execute", plan=...), " or ", NextStep("run_command", words=...)
    )


class CheckpointNotFound(NotFound):
    """No checkpoint has this id, prefix, label or word."""

    message: ClassVar[str] = "no checkpoint {wanted!r}"
    hint: ClassVar[str] = Advice(
        NextStep("checkpoints.list", plan="latest", superseded=True),
        " shows all of the newest plan, ",
        NextStep("checkpoints.list", plan=..., superseded=True),
        " those of another",
    )


class ConflictUnknown(NotFound):
    """No conflict of the plan is in this path."""

    message: ClassVar[str] = "plan {plan_id} has no conflict in {path}; it has: {known}"
    hint: ClassVar[str] = "name one of these paths, or none to mark all of them as solved"


class DecisionNotFound(NotFound):
    """No decision has this id."""

    message: ClassVar[str] = "there is no decision {wanted!r}"
    hint: ClassVar[str] = Advice(NextStep("tree", plan=...), " shows a plan's decisions with their ids")


class CorrectionNotFound(NotFound):
    """No correction has this id."""

    message: ClassVar[str] = "there is no correction {wanted!r}"
    hint: ClassVar[str] = Advice(NextStep("status", plan=...), " lists a plan's corrections with their ids")


class Ambiguous(Refused):
    """A prefix, name or label that matches more than one."""

    message: ClassVar[str] = "{wanted!r} matches {count}: {candidates}"
    hint: ClassVar[str] = "give more characters of the id"


class PlanBusy(Refused):
    """Another live process works on the plan."""

    message: ClassVar[str] = "plan {plan_id} is being worked on by process {pid} since {since}"
    hint: ClassVar[str] = Advice(
        "wait for it, or stop it with ",
        NextStep("cancel", plan="{plan_id}"),
        "; if it hangs, ",
        NextStep("resume", plan="{plan_id}", take_over=True),
        " takes the plan from it",
    )


class PlanTakenOver(Refused):
    """The plan was claimed by another process after this one; this one may not write any more."""

    message: ClassVar[str] = "plan {plan_id} was taken over by another process"
    hint: ClassVar[str] = Advice("look at it with ", NextStep("status", plan="{plan_id}"))


class PlanAlreadyApplied(Refused):
    """The plan's result is in the real resources already."""

    message: ClassVar[str] = "plan {plan_id} is already applied"
    hint: ClassVar[str] = Advice(
        "take it back with ", NextStep("unapply", plan="{plan_id}"), ", or start a new plan"
    )


class PlanCancelled(Refused):
    """The plan was cancelled, which is final."""

    message: ClassVar[str] = "plan {plan_id} is cancelled"
    hint: ClassVar[str] = Advice("start a new plan with ", NextStep("execute", plan=...))


class PlanAlreadyComplete(Refused):
    """Nothing is left to execute."""

    message: ClassVar[str] = "plan {plan_id} is complete; nothing is left to execute"
    hint: ClassVar[str] = Advice(
        NextStep("apply", plan="{plan_id}"),
        " takes the result over; to run steps again, go back to a checkpoint with ",
        NextStep("rollback", plan="{plan_id}", checkpoint=...),
        " first",
    )


class SessionClosed(Refused):
    """A session that is not open any more, or not yet."""

    message: ClassVar[str] = "the session {name!r} is not open: {reason}"
    hint: ClassVar[str] = (
        "work inside `with project.session(...) as session`; `resume=PLAN_ID` opens one again"
    )


class StepUnderWay(Refused):
    """Something that a session cannot do inside a step."""

    message: ClassVar[str] = "{wanted} is not possible inside step {step!r}"
    hint: ClassVar[str] = "leave the step first; an exception inside it goes back to the checkpoint before it"


class NoStepUnderWay(Refused):
    """Something that belongs to a step of a session, outside of any."""

    message: ClassVar[str] = "{wanted} is only possible inside a step"
    hint: ClassVar[str] = "put it into `with session.step(NAME)`"


class StepNameTaken(Refused):
    """A step of a session with the name of one that is done."""

    message: ClassVar[str] = "the session has a step {step!r} already"
    hint: ClassVar[str] = "name it differently, or leave it out where `session.done({step!r})`"


class NotASession(Refused):
    """A plan of a plan file where a session is wanted."""

    message: ClassVar[str] = "plan {plan_id} is no session: its steps are those of a plan file"
    hint: ClassVar[str] = Advice("go on with it with ", NextStep("resume", plan="{plan_id}"))


class PlanIsChild(Refused):
    """A child plan cannot be applied or cancelled by itself."""

    message: ClassVar[str] = (
        "plan {plan_id} is a child of plan {parent_plan_id} and cannot be {done} by itself"
    )
    hint: ClassVar[str] = "its result is merged into its parent: name that one"


class PlanNotReady(Refused):
    """The plan is in a state from which this cannot be done."""

    message: ClassVar[str] = "plan {plan_id} is {phase}/{state}: {reason}"
    hint: ClassVar[str] = Advice("look at it with ", NextStep("status", plan="{plan_id}"))


class MarkersLeft(Refused):
    """Markers of a conflict still stand in a path that is to be solved."""

    message: ClassVar[str] = "conflict markers still stand in {paths}"
    hint: ClassVar[str] = Advice(
        "edit the sandbox that ", NextStep("status", plan="{plan_id}"), " names, then try again"
    )


class TransitionIllegal(Refused):
    """A change of state that the table of legal transitions does not have."""

    message: ClassVar[str] = "plan {plan_id} cannot go from {source} to {target}"
    hint: ClassVar[str] = Advice("look at it with ", NextStep("status", plan="{plan_id}"))


class CheckpointForeign(Refused):
    """A checkpoint of another plan."""

    message: ClassVar[str] = "checkpoint {checkpoint_id} belongs to plan {owner}, not to {plan_id}"
    hint: ClassVar[str] = Advice(
        NextStep("checkpoints.list", plan="{plan_id}"), " shows the checkpoints of this plan"
    )


class CheckpointNotATarget(Refused):
    """A group that no rollback may go to."""

    message: ClassVar[str] = (
        "checkpoint {checkpoint_id} is of the real resources ({checkpoint_type}), not of the sandboxes"
    )
    hint: ClassVar[str] = Advice(
        NextStep("checkpoints.list", plan="{plan_id}"), " shows where this plan can go back to"
    )


class CheckpointNeeded(Refused):
    """A checkpoint that must stay."""

    message: ClassVar[str] = "checkpoint {checkpoint_id} must stay: {reason}"
    hint: ClassVar[str] = Advice(
        NextStep("checkpoints.prune", plan="{plan_id}", dry_run=True),
        " shows what can go, and why the rest stays",
    )


class CheckpointsUnlike(Refused):
    """Two checkpoints that have no resource in common."""

    message: ClassVar[str] = (
        "{old} and {new} cannot be compared: they are of {old_resource} and {new_resource}"
    )
    hint: ClassVar[str] = Advice(
        "give two checkpoints of one resource; ", NextStep("checkpoints.list", plan="latest"), " shows them"
    )


class DecisionSuperseded(Refused):
    """The decision is not live: what followed from it was left behind already."""

    message: ClassVar[str] = (
        "decision {decision_id} of plan {plan_id} was left behind by a rollback or correction"
    )
    hint: ClassVar[str] = Advice(
        NextStep("tree", plan="{plan_id}"),
        " shows the decisions that stand; a correction that was just finished runs on with ",
        NextStep("resume", plan="{plan_id}"),
    )


class DecisionOutOfReach(Refused):
    """No checkpoint between two steps is left that was taken before the decision."""

    message: ClassVar[str] = "no live checkpoint between two steps before decision {decision_id} is left"
    hint: ClassVar[str] = Advice(
        "correct an earlier decision, or choose a checkpoint to go back to: ",
        NextStep("checkpoints.list", plan="{plan_id}"),
    )


class NothingToChoose(Refused):
    """Another choice was given for a decision that no `decision:` step made."""

    message: ClassVar[str] = (
        "a choice replaces what a `decision:` step chose, and decision {decision_id} {reason}"
    )
    hint: ClassVar[str] = Advice(
        "leave ", NextStep("again", choose=...), " out: the guidance reaches the step"
    )


class NothingToAppend(Refused):
    """Nobody knows what work is to be appended to the decision."""

    message: ClassVar[str] = "nothing can be appended to decision {decision_id}: {reason}"
    hint: ClassVar[str] = Advice("give the work as a plan file: ", NextStep("again", mended=...))


class PlanFileDiffers(Refused):
    """A plan file that a stopped plan cannot go on with."""

    message: ClassVar[str] = "plan {plan_id} cannot go on with that file: {reason}"
    hint: ClassVar[str] = Advice(
        "change only steps that are not completed, or roll back to before the step with ",
        NextStep("rollback", plan="{plan_id}", checkpoint=...),
        " first",
    )


class RollbackDisabled(Refused):
    """The plan file switched checkpoints off."""

    message: ClassVar[str] = "plan {plan_id} has no way back: its rollback_policy is disabled"
    hint: ClassVar[str] = "set `rollback_policy: {{enabled: true}}` in the plan file and execute it anew"


class NothingToUndo(Refused):
    """There is no step of the plan to undo, or no checkpoint of the state before it."""

    message: ClassVar[str] = "plan {plan_id} has nothing to undo: {reason}"
    hint: ClassVar[str] = Advice(
        NextStep("log", plan="{plan_id}"), " shows what happened to it; undo another plan by its id"
    )


class NothingApplied(Refused):
    """A plan of which nothing can be taken out of the real resources."""

    message: ClassVar[str] = "plan {plan_id} cannot be taken back: {reason}"
    hint: ClassVar[str] = Advice("look at it with ", NextStep("status", plan="{plan_id}"))


class ConfirmationMissing(Refused):
    """A question that nobody is there to answer."""

    message: ClassVar[str] = "this needs a yes, and there is no terminal to ask on"
    hint: ClassVar[str] = "confirm it, then try again"


class Declined(Refused):
    """The answer to the question was no."""

    message: ClassVar[str] = "not done: the question was answered with no"
    hint: ClassVar[str] = "repeat the command when you are sure"


class NotBuiltYet(Refused):
    """A feature that this version does not have; refused by name rather than ignored."""

    http_status: ClassVar[int] = 501
    message: ClassVar[str] = "{feature} is not built yet"
    hint: ClassVar[str] = Advice("see what this version can do with ", NextStep("help"))
