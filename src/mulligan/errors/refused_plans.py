"""Exit code 3: what a plan, checkpoint, decision or session does not allow as it stands."""

from typing import ClassVar

from mulligan.errors.root import NotFound, Refused


class PlanNotFound(NotFound):
    """No plan has this id, prefix or name."""

    message: ClassVar[str] = "no plan {wanted!r}"
    hint: ClassVar[str] = "`mulligan plan list` shows all plans"


class NoPlansYet(PlanNotFound):
    """The newest plan is wanted, and there is none."""

    message: ClassVar[str] = "there are no plans yet"
    hint: ClassVar[str] = "start one with `mulligan plan execute FILE` or `mulligan run -- COMMAND`"


class CheckpointNotFound(NotFound):
    """No checkpoint has this id, prefix, label or word."""

    message: ClassVar[str] = "no checkpoint {wanted!r}"
    hint: ClassVar[str] = (
        "`mulligan checkpoint list --all` shows all of the newest plan, `mulligan checkpoint list PLAN_ID --all` "
        "those of another"
    )


class ConflictUnknown(NotFound):
    """No conflict of the plan is in this path."""

    message: ClassVar[str] = "plan {plan_id} has no conflict in {path}; it has: {known}"
    hint: ClassVar[str] = "name one of these paths, or none to mark all of them as solved"


class DecisionNotFound(NotFound):
    """No decision has this id."""

    message: ClassVar[str] = "there is no decision {wanted!r}"
    hint: ClassVar[str] = "`mulligan plan tree PLAN_ID` shows a plan's decisions with their ids"


class CorrectionNotFound(NotFound):
    """No correction has this id."""

    message: ClassVar[str] = "there is no correction {wanted!r}"
    hint: ClassVar[str] = "`mulligan plan status PLAN_ID` lists a plan's corrections with their ids"


class Ambiguous(Refused):
    """A prefix, name or label that matches more than one."""

    message: ClassVar[str] = "{wanted!r} matches {count}: {candidates}"
    hint: ClassVar[str] = "give more characters of the id"


class PlanBusy(Refused):
    """Another live process works on the plan."""

    message: ClassVar[str] = "plan {plan_id} is being worked on by process {pid} since {since}"
    hint: ClassVar[str] = (
        "wait for it, or stop it with `mulligan plan cancel {plan_id}`; "
        "if it hangs, `mulligan plan resume --take-over {plan_id}` takes the plan from it"
    )


class PlanTakenOver(Refused):
    """The plan was claimed by another process after this one; this one may not write any more."""

    message: ClassVar[str] = "plan {plan_id} was taken over by another process"
    hint: ClassVar[str] = "look at it with `mulligan plan status {plan_id}`"


class PlanAlreadyApplied(Refused):
    """The plan's result is in the real resources already."""

    message: ClassVar[str] = "plan {plan_id} is already applied"
    hint: ClassVar[str] = "take it back with `mulligan plan unapply {plan_id}`, or start a new plan"


class PlanCancelled(Refused):
    """The plan was cancelled, which is final."""

    message: ClassVar[str] = "plan {plan_id} is cancelled"
    hint: ClassVar[str] = "start a new plan with `mulligan plan execute FILE`"


class PlanAlreadyComplete(Refused):
    """Nothing is left to execute."""

    message: ClassVar[str] = "plan {plan_id} is complete; nothing is left to execute"
    hint: ClassVar[str] = (
        "`mulligan plan apply {plan_id}` takes the result over; to run steps again, go back to a checkpoint "
        "with `mulligan plan rollback {plan_id} CHECKPOINT_ID` first"
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
    hint: ClassVar[str] = (
        "go on with it with `mulligan plan resume {plan_id}`, or `project.resume({plan_id!r})`"
    )


class PlanIsChild(Refused):
    """A child plan cannot be applied or cancelled by itself."""

    message: ClassVar[str] = (
        "plan {plan_id} is a child of plan {parent_plan_id} and cannot be {done} by itself"
    )
    hint: ClassVar[str] = "its result is merged into its parent: name that one"


class PlanNotReady(Refused):
    """The plan is in a state from which this cannot be done."""

    message: ClassVar[str] = "plan {plan_id} is {phase}/{state}: {reason}"
    hint: ClassVar[str] = "look at it with `mulligan plan status {plan_id}`"


class MarkersLeft(Refused):
    """Markers of a conflict still stand in a path that is to be solved."""

    message: ClassVar[str] = "conflict markers still stand in {paths}"
    hint: ClassVar[str] = "edit the sandbox that `mulligan plan status {plan_id}` names, then try again"


class TransitionIllegal(Refused):
    """A change of state that the table of legal transitions does not have."""

    message: ClassVar[str] = "plan {plan_id} cannot go from {source} to {target}"
    hint: ClassVar[str] = "look at it with `mulligan plan status {plan_id}`"


class CheckpointForeign(Refused):
    """A checkpoint of another plan."""

    message: ClassVar[str] = "checkpoint {checkpoint_id} belongs to plan {owner}, not to {plan_id}"
    hint: ClassVar[str] = "`mulligan checkpoint list {plan_id}` shows the checkpoints of this plan"


class CheckpointNotATarget(Refused):
    """A group that no rollback may go to."""

    message: ClassVar[str] = (
        "checkpoint {checkpoint_id} is of the real resources ({checkpoint_type}), not of the sandboxes"
    )
    hint: ClassVar[str] = "`mulligan checkpoint list {plan_id}` shows where this plan can go back to"


class CheckpointNeeded(Refused):
    """A checkpoint that must stay."""

    message: ClassVar[str] = "checkpoint {checkpoint_id} must stay: {reason}"
    hint: ClassVar[str] = (
        "`mulligan checkpoint prune {plan_id} --dry-run` shows what can go, and why the rest stays"
    )


class CheckpointsUnlike(Refused):
    """Two checkpoints that have no resource in common."""

    message: ClassVar[str] = (
        "{old} and {new} cannot be compared: they are of {old_resource} and {new_resource}"
    )
    hint: ClassVar[str] = "give two checkpoints of one resource; `mulligan checkpoint list` shows them"


class DecisionSuperseded(Refused):
    """The decision is not live: what followed from it was left behind already."""

    message: ClassVar[str] = (
        "decision {decision_id} of plan {plan_id} was left behind by a rollback or correction"
    )
    hint: ClassVar[str] = (
        "`mulligan plan tree {plan_id}` shows the decisions that stand; a correction that was just finished runs "
        "on with `mulligan plan resume {plan_id}`"
    )


class DecisionOutOfReach(Refused):
    """No checkpoint between two steps is left that was taken before the decision."""

    message: ClassVar[str] = "no live checkpoint between two steps before decision {decision_id} is left"
    hint: ClassVar[str] = (
        "correct an earlier decision, or choose a checkpoint to go back to: `mulligan checkpoint list {plan_id}`"
    )


class NothingToChoose(Refused):
    """Another choice was given for a decision that no `decision:` step made."""

    message: ClassVar[str] = (
        "--choose replaces what a `decision:` step chose, and decision {decision_id} {reason}"
    )
    hint: ClassVar[str] = "leave --choose out: the guidance reaches the step"


class NothingToAppend(Refused):
    """Nobody knows what work is to be appended to the decision."""

    message: ClassVar[str] = "nothing can be appended to decision {decision_id}: {reason}"
    hint: ClassVar[str] = "give the work as a plan file: --plan FILE"


class PlanFileDiffers(Refused):
    """A plan file that a stopped plan cannot go on with."""

    message: ClassVar[str] = "plan {plan_id} cannot go on with that file: {reason}"
    hint: ClassVar[str] = (
        "change only steps that are not completed, or roll back to before the step with "
        "`mulligan plan rollback {plan_id} CHECKPOINT_ID` first"
    )


class RollbackDisabled(Refused):
    """The plan file switched checkpoints off."""

    message: ClassVar[str] = "plan {plan_id} has no way back: its rollback_policy is disabled"
    hint: ClassVar[str] = "set `rollback_policy: {{enabled: true}}` in the plan file and execute it anew"


class NothingToUndo(Refused):
    """There is no step of the plan to undo, or no checkpoint of the state before it."""

    message: ClassVar[str] = "plan {plan_id} has nothing to undo: {reason}"
    hint: ClassVar[str] = (
        "`mulligan plan log {plan_id}` shows what happened to it; undo another plan by its id"
    )


class NothingApplied(Refused):
    """A plan of which nothing can be taken out of the real resources."""

    message: ClassVar[str] = "plan {plan_id} cannot be taken back: {reason}"
    hint: ClassVar[str] = "look at it with `mulligan plan status {plan_id}`"


class ConfirmationMissing(Refused):
    """A question that nobody is there to answer."""

    message: ClassVar[str] = "this needs a yes, and there is no terminal to ask on"
    hint: ClassVar[str] = "look at it with --dry-run, then repeat the command with --yes"


class Declined(Refused):
    """The answer to the question was no."""

    message: ClassVar[str] = "not done: the question was answered with no"
    hint: ClassVar[str] = "repeat the command when you are sure"


class NotBuiltYet(Refused):
    """A feature that this version does not have; refused by name rather than ignored."""

    http_status: ClassVar[int] = 501
    message: ClassVar[str] = "{feature} is not built yet"
    hint: ClassVar[str] = "see what this version can do with `mulligan --help`"
