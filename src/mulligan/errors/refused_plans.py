"""Exit code 3: refusals because of the state of a plan, checkpoint, decision or session."""

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import NotFound, Refused


class PlanNotFound(NotFound):
    """No plan has this id, prefix or name."""

    message = "no plan {wanted!r}"
    hint = Advice(NextStep("plans"), " shows all plans")


class NoPlanSuits(NotFound):
    """No plan is in a state in which the command makes sense."""

    message = "there is no plan to {act}"
    hint = Advice(NextStep("plans"), " shows all plans and their states")


class NoPlansYet(PlanNotFound):
    """The newest plan was asked for, but there are no plans."""

    message = "there are no plans yet"
    hint = Advice(
        "start one with ", NextStep("execute", plan=...), " or ", NextStep("run_command", words=...)
    )


class CheckpointNotFound(NotFound):
    """No checkpoint has this id, prefix, label or keyword."""

    message = "no checkpoint {wanted!r}"
    hint = Advice(
        NextStep("checkpoints.list", plan="latest", superseded=True),
        " shows all checkpoints of the newest plan, ",
        NextStep("checkpoints.list", plan=..., superseded=True),
        " those of another",
    )


class StepNotFound(NotFound):
    """The plan has no step of this name or index."""

    message = "plan {plan_id} has no step {step!r}"
    hint = Advice(NextStep("status", plan="{plan_id}"), " shows its steps")


class TerminalMissing(Refused):
    """An interactive command needs a terminal, and the program was not started on one."""

    message = "an interactive command needs a terminal: {reason}"
    hint = Advice(
        "start it on a terminal, or run a command that asks nothing: ", NextStep("run_command", words=...)
    )


class EntryNotFound(NotFound):
    """The timeline has no entry of this number."""

    message = "the timeline has no entry {number}"
    hint = Advice(NextStep("timeline"), " shows the entries with their numbers")


class CallNotFound(NotFound):
    """A prompt of an agent has no call of this number."""

    message = "there is no call {call}: entry {entry} has {count}"
    hint = Advice(NextStep("log", plan="{entry}"), " lists its calls")


class NothingToCompare(Refused):
    """The checkpoints of an entry of the timeline are gone, or there are none."""

    message = (
        "entry {number} of the timeline cannot be compared: no checkpoints hold what was before and after it"
    )
    hint = Advice(NextStep("timeline"), " shows the entries; checkpoints of old ones may be pruned")


class ConflictUnknown(NotFound):
    """The plan has no conflict in this path."""

    message = "plan {plan_id} has no conflict in {path}; it has: {known}"
    hint = "name one of these paths, or none to mark all as resolved"


class ConflictNotEditable(Refused):
    """The file in conflict cannot be edited as a text."""

    message = "{path} cannot be edited here: {reason}"
    hint = Advice(
        "fix it in the sandbox that ",
        NextStep("status", plan="{plan_id}"),
        " names, then ",
        NextStep("resolve", plan="{plan_id}"),
    )


class ConflictChanged(Refused):
    """The file in conflict is not as it was shown when it was edited."""

    message = "{path} was changed in the sandbox since it was shown"
    hint = "nothing was changed; look at it again, and merge your text with the one that the sandbox has now"


class ResultChanged(Refused):
    """The result of the plan is not as it was shown when it was agreed to."""

    message = "the result of plan {plan_id} changed since it was shown"
    hint = Advice("nothing is applied; ", NextStep("diff", plan="{plan_id}"), " shows what it is now")


class AnswerUnknown(Refused):
    """The question has alternatives, and the answer is none of them."""

    message = "{answer!r} does not answer {question!r}; choose one of: {known}"
    hint = Advice("answer with ", NextStep("answer", plan="{plan_id}", choice=...))


class PlanNotATry(Refused):
    """The operation is about the variants of a try, and the plan has none."""

    message = "{reason}"
    hint = Advice(NextStep("plans"), " lists the plans; those of a try have variants")


class VariantNotFound(NotFound):
    """The try has no variant of this name."""

    message = "there is no variant {wanted!r}; there are: {known}"
    hint = Advice("name one of them, as in ", NextStep("pick_variant", variant=...))


class DecisionNotFound(NotFound):
    """No decision has this id."""

    message = "there is no decision {wanted!r}"
    hint = Advice(NextStep("tree", plan="latest"), " shows the decisions of the newest plan")


class CorrectionNotFound(NotFound):
    """No correction has this id."""

    message = "there is no correction {wanted!r}"
    hint = Advice(NextStep("status", plan="latest"), " lists the corrections of the newest plan")


class Ambiguous(Refused):
    """A prefix, name or label matches more than one."""

    message = "{wanted!r} matches {count}: {candidates}"
    hint = "give more characters of the id"


class PlanBusy(Refused):
    """Another live process is working on the plan."""

    message = "process {pid} has been working on plan {plan_id} since {since}"
    hint = Advice(
        "wait for it, or stop it with ",
        NextStep("cancel", plan="{plan_id}"),
        "; if it hangs, ",
        NextStep("resume", plan="{plan_id}", take_over=True),
        " takes the plan from it",
    )


class PlanBusyElsewhere(PlanBusy):
    """A live process on another machine is working on the plan."""

    message = "process {pid} on {host} has been working on plan {plan_id} since {since}"


class PlanTakenOver(Refused):
    """Another process has taken over the plan; this one must not write any longer."""

    message = "plan {plan_id} was taken over by another process"
    hint = Advice("look at it with ", NextStep("status", plan="{plan_id}"))


class ClaimUncertain(PlanTakenOver):
    """The server of a shared project has not answered for so long that another machine may work on the plan."""

    message = (
        "the server {database} has not answered for {seconds:.0f} s: "
        "another machine may be working on plan {plan_id}"
    )
    hint = Advice(
        "restore the connection to the server, look at the plan with ",
        NextStep("status", plan="{plan_id}"),
        ", and continue it with ",
        NextStep("resume", plan="{plan_id}"),
    )


class PlanAlreadyApplied(Refused):
    """The plan's result is already in the real resources."""

    message = "plan {plan_id} is already applied"
    hint = Advice("take it back with ", NextStep("unapply", plan="{plan_id}"), ", or start a new plan")


class PlanCancelled(Refused):
    """The plan was cancelled, which is final."""

    message = "plan {plan_id} is cancelled"
    hint = Advice("start a new plan with ", NextStep("execute", plan=...))


class PlanAlreadyComplete(Refused):
    """Nothing is left to execute."""

    message = "plan {plan_id} is complete; there is nothing left to execute"
    hint = Advice(
        NextStep("apply", plan="{plan_id}"),
        " applies the result; to run steps again, first go back to a checkpoint with ",
        NextStep("rollback", plan="{plan_id}", checkpoint=...),
    )


class SessionClosed(Refused):
    """The session is closed, or not open yet."""

    message = "the session {name!r} is not open: {reason}"
    hint = "work inside `with project.session(...) as session`; `resume=PLAN_ID` reopens one"


class StepUnderWay(Refused):
    """A session cannot do this inside a step."""

    message = "{wanted} is not possible inside step {step!r}"
    hint = "leave the step first; an exception inside it rolls back to the checkpoint before it"


class NoStepUnderWay(Refused):
    """A session can do this only inside a step."""

    message = "{wanted} is only possible inside a step"
    hint = "put it into `with session.step(NAME)`"


class StepNameTaken(Refused):
    """A completed step of the session has this name."""

    message = "the session already has a step {step!r}"
    hint = "use another name, or skip the step if `session.done({step!r})`"


class NotASession(Refused):
    """The plan comes from a plan file and is not a session."""

    message = "plan {plan_id} is not a session: its steps come from a plan file"
    hint = Advice("continue it with ", NextStep("resume", plan="{plan_id}"))


class PlanIsChild(Refused):
    """A child plan can be applied, cancelled or removed only with its parent."""

    message = "plan {plan_id} is a child of plan {parent_plan_id} and cannot be {done} alone"
    hint = Advice("its result is merged into its parent: ", NextStep("status", plan="{parent_plan_id}"))


class PlanNotReady(Refused):
    """The state of the plan does not allow the operation."""

    message = "plan {plan_id} is {phase}/{state}: {reason}"
    hint = Advice("look at it with ", NextStep("status", plan="{plan_id}"))


class MarkersLeft(Refused):
    """A path to be marked as resolved still contains conflict markers."""

    message = "conflict markers are still in {paths}"
    hint = Advice("edit the sandbox that ", NextStep("status", plan="{plan_id}"), " names, then try again")


class TransitionIllegal(Refused):
    """The table of legal transitions does not contain this change of state."""

    message = "plan {plan_id} cannot go from {source} to {target}"
    hint = Advice("look at it with ", NextStep("status", plan="{plan_id}"))


class CheckpointForeign(Refused):
    """The checkpoint belongs to another plan."""

    message = "checkpoint {checkpoint_id} belongs to plan {owner}, not to {plan_id}"
    hint = Advice(NextStep("checkpoints.list", plan="{plan_id}"), " shows the checkpoints of this plan")


class BisectionImpossible(Refused):
    """The two ends of a bisection do not fit: nothing leads from the one to the other."""

    message = "{reason}"


class BisectionEndsWrong(Refused):
    """The command fails at the good end of a bisection, or passes at the bad one."""

    message = "the command {result} at {checkpoint}, the {end} end (exit status {exit_status})"


class CheckpointNotATarget(Refused):
    """The checkpoint is not a target for rollbacks."""

    message = "checkpoint {checkpoint_id} ({checkpoint_type}) holds the real resources, not the sandboxes"
    hint = Advice(
        NextStep("checkpoints.list", plan="{plan_id}"), " shows the checkpoints that this plan can go back to"
    )


class SandboxesGone(Refused):
    """The plan that is forked has no sandboxes any longer."""

    message = "plan {plan_id} has no sandbox of {resources} any longer"
    hint = Advice("restore its files elsewhere: ", NextStep("checkpoints.restore", checkpoint=..., to=...))


class CheckpointNeeded(Refused):
    """The checkpoint must be kept."""

    message = "checkpoint {checkpoint_id} must be kept: {reason}"
    hint = Advice(
        NextStep("checkpoints.prune", plan="{plan_id}", dry_run=True),
        " shows what can be deleted, and why the rest is kept",
    )


class CheckpointsUnlike(Refused):
    """The two checkpoints have no resource in common."""

    message = "{old} and {new} cannot be compared: they hold {old_resource} and {new_resource}"
    hint = Advice(
        "choose two checkpoints of one resource; ", NextStep("checkpoints.list", plan="latest"), " shows them"
    )


class DecisionSuperseded(Refused):
    """The decision was superseded by a rollback or correction."""

    message = "decision {decision_id} of plan {plan_id} was left behind by a rollback or correction"
    hint = Advice(NextStep("tree", plan="{plan_id}"), " shows the live decisions")


class DecisionOutOfReach(Refused):
    """No checkpoint between two steps from before the decision is left."""

    message = "there is no live checkpoint between two steps before decision {decision_id}"
    hint = Advice(
        "correct an earlier decision, or choose a checkpoint to go back to: ",
        NextStep("checkpoints.list", plan="{plan_id}"),
    )


class NothingToChoose(Refused):
    """The decision to replace was not made by a `decision:` step."""

    message = "only the choice of a `decision:` step can be replaced, but decision {decision_id} {reason}"
    hint = Advice("omit ", NextStep("again", choose=...), ": the guidance reaches the step")


class NothingToAppend(Refused):
    """It is not known which work to append to the decision."""

    message = "nothing can be appended to decision {decision_id}: {reason}"
    hint = Advice("provide the work as a plan file: ", NextStep("again", corrected=...))


class PlanFileDiffers(Refused):
    """A stopped plan cannot continue with this plan file."""

    message = "plan {plan_id} cannot continue with that file: {reason}"
    hint = Advice(
        "change only steps that are not completed, or first roll back to before the step with ",
        NextStep("rollback", plan="{plan_id}", checkpoint=...),
    )


class RollbackDisabled(Refused):
    """The plan file disables checkpoints."""

    message = "plan {plan_id} has no checkpoints: its rollback_policy is disabled"
    hint = "set `rollback_policy: {{enabled: true}}` in the plan file, and execute the file as a new plan"


class NothingToUndo(Refused):
    """The plan has no step to undo, or no checkpoint from before that step."""

    message = "there is nothing to undo: {reason}"
    hint = Advice(NextStep("timeline"), " shows what was done, and what of it is undone")


class NothingToRedo(Refused):
    """Nothing was undone, or something else was done since."""

    message = "there is nothing to redo: {reason}"
    hint = Advice(NextStep("timeline"), " shows what was done and what was undone")


class NewerWork(Refused):
    """Something newer happened on the folder that a plan worked on in place."""

    message = "plan {plan_id} cannot go back or continue: {newer} changed {path} since"
    hint = Advice(
        "take newer work back first with ",
        NextStep("undo"),
        "; ",
        NextStep("undo", what="{plan_id}"),
        " takes back only what this plan did, and keeps the rest",
    )


class NothingApplied(Refused):
    """The plan has no changes in the real resources to take back."""

    message = "plan {plan_id} cannot be taken back: {reason}"
    hint = Advice("look at it with ", NextStep("status", plan="{plan_id}"))


class ConfirmationMissing(Refused):
    """A confirmation is required, and there is no terminal to ask on."""

    message = "this needs confirmation, and there is no terminal to ask on"
    hint = "confirm it, then try again"


class Declined(Refused):
    """The user answered no."""

    message = "nothing was done: the answer was no"
    hint = "run the command again when you are sure"


class NotBuiltYet(Refused):
    """This version does not have the feature."""

    http_status = 501
    message = "{feature} is not implemented yet"
    hint = Advice("list the features of this version with ", NextStep("help"))
