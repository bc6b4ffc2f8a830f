"""The tree of errors: what can go wrong, the exit code it ends in, and what to try next.

MulliganError
├── Failed                      exit code 1: something that should have worked did not
│   ├── StepFailed              a step of the plan ended in an error
│   ├── ToolFailed              a tool call did not succeed
│   │   └── ToolTimedOut
│   ├── ProgramFailed           an exception ended a step of a session
│   ├── SubplansFailed          child plans of a step failed for good
│   ├── CheckpointFailed        a checkpoint could not be taken; the plan stopped
│   ├── TreeUnsteady            a file would not hold still while it was read
│   ├── SnapshotDamaged         stored bytes are missing or not what they were
│   ├── RestoreFailed           a sandbox could not be brought back
│   │   └── RestoreIncomplete   and is in between until the next command on the plan
│   ├── DatabaseUnusable        mulligan.db is locked, read-only, damaged or full
│   ├── DatabaseBusy            a database that a plan works on is locked by another program
│   ├── InternalError           a mistake of ours
│   └── SystemFailed            the operating system refused something (disk full, no permission)
├── Misused                     exit code 2: the words of a command, plan file or setting are wrong
│   ├── UsageWrong
│   ├── PlanFileInvalid         with file, line, column and path in the document
│   ├── SettingInvalid
│   │   └── SettingUnknown
│   ├── SettingsFileInvalid     with file and line
│   ├── ReferenceInvalid        a `${{ … }}` that names nothing
│   ├── StateNotJson            what a session is to keep and JSON cannot hold
│   └── ToolsInvalid            tools of the user's own that contradict themselves or others
├── Refused                     exit code 3: a guard said no; nothing was changed
│   ├── ProjectNotFound · ProjectForeign · ProjectUnusable
│   ├── NotFound                PlanNotFound · CheckpointNotFound · DecisionNotFound · CorrectionNotFound ·
│   │                           ConflictUnknown · ToolUnknown · ToolMissing
│   ├── Ambiguous
│   ├── SessionClosed · StepUnderWay · NoStepUnderWay · StepNameTaken · NotASession
│   ├── PlanIsChild             applied and cancelled is its parent
│   ├── PlanBusy · PlanTakenOver · PlanAlreadyApplied · PlanCancelled · PlanAlreadyComplete · PlanNotReady
│   ├── MarkersLeft             a path cannot be solved while the markers of its conflict stand in it
│   ├── TransitionIllegal
│   ├── CheckpointForeign · CheckpointNotATarget · CheckpointNeeded · CheckpointsUnlike
│   ├── DecisionSuperseded · DecisionOutOfReach · NothingToChoose
│   ├── RollbackDisabled · NothingToUndo · SandboxMissing
│   ├── ApplyUnderWay · LocationChanged · NothingApplied · ChangedMeanwhile · LocationTaken
│   ├── ConfinementImpossible   `sandbox.isolate: required` where it cannot be
│   ├── ResourceUnsuitable · CheckoutUnready · PathEscapes · PathReserved · TargetExists
│   ├── ToolNotCheckpointable · ToolArgumentsUnfit · ToolsUntrusted · ToolsUnsafe
│   ├── ConfirmationMissing · Declined
│   ├── DatabaseTooNew · DatabaseForeign
│   └── NotBuiltYet             a feature this version does not have, by name
├── Conflicted                  exit code 4: two sides changed the same thing
│   ├── ConflictsUnresolved     the plan cannot go on before someone has mended them
│   ├── SubplanConflicts        a child plan and its parent did; the plan waits for someone to mend it
│   │   └── ChildConstrained    a child plan waits for someone to mend its own
│   └── ApplyConflicted         the real resources changed in conflict with the plan
└── Interrupted                 exit code 130: Ctrl-C or SIGTERM; the plan can go on later

An error is raised with facts; its message and hint are templates over them. Facts are part of the JSON
output, so their names are as stable as the fields of any other answer.
"""

import re
from typing import ClassVar


def _snake(name: str) -> str:
    return re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower()


class _Blank(dict[str, object]):
    """Facts for a template; one that is missing stays visible instead of raising a second error."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


class MulliganError(Exception):
    """An error of our own: a kind, a message, a next step and the facts behind them."""

    kind: ClassVar[str] = "mulligan_error"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500
    message: ClassVar[str] = "{reason}"
    hint: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        """Name each kind after its class, so that the tree above is the list of kinds."""
        cls.kind = _snake(cls.__name__)

    def __init__(self, **facts: object) -> None:
        """Keep the facts; `hint=` replaces the class's own next step where the caller knows a better one."""
        own_hint = facts.pop("hint", None)
        self.facts: dict[str, object] = facts
        values = _Blank(facts)
        self.text = type(self).message.format_map(values)
        self.next_step = str(own_hint) if own_hint is not None else type(self).hint.format_map(values)
        super().__init__(self.text)

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes with facts and hint."""
        return (_rebuild, (type(self), dict(self.facts), self.next_step))


def _rebuild(cls: type[MulliganError], facts: dict[str, object], hint: str) -> MulliganError:
    return cls(hint=hint, **facts)


# --- exit code 1 -------------------------------------------------------------------------------------------


class Failed(MulliganError):
    """Something that should have worked did not."""

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500


class StepFailed(Failed):
    """A step of the plan ended in an error; its sandboxes went where the rollback policy says."""

    message: ClassVar[str] = "step {step!r} failed: {reason}"
    hint: ClassVar[str] = (
        "`mulligan plan resume {plan_id}` goes on from the checkpoint it went back to; to go on from what you "
        "mend by hand in the sandbox, keep it first: `mulligan checkpoint create {plan_id} --label mended`"
    )


class ToolFailed(Failed):
    """A tool call did not succeed."""

    message: ClassVar[str] = "{tool}: {reason}"
    hint: ClassVar[str] = "correct the step's args in the plan file and execute it again"


class ToolTimedOut(ToolFailed):
    """A tool call took longer than its timeout and was ended with all its processes."""

    message: ClassVar[str] = "{tool}: took longer than {timeout:g} s and was ended"
    hint: ClassVar[str] = "raise the step's `timeout:` or make the step smaller"


class ProgramFailed(Failed):
    """An exception ended a step of a session."""

    message: ClassVar[str] = "{error}: {reason}"
    hint: ClassVar[str] = "mend the program, then start it again with `project.session(resume={plan_id!r})`"


class SubplansFailed(Failed):
    """Child plans of a step failed, and no retries are left."""

    message: ClassVar[str] = "child plans failed: {reason}"
    hint: ClassVar[str] = "`mulligan plan status` of each says what stopped it"


class CheckpointFailed(Failed):
    """A checkpoint could not be taken; the plan stopped rather than go on without."""

    message: ClassVar[str] = "the {checkpoint_type} checkpoint of plan {plan_id} could not be taken: {reason}"
    hint: ClassVar[str] = "mend the cause, then run on with `mulligan plan resume {plan_id}`"


class TreeUnsteady(Failed):
    """A file would not hold still while it was read."""

    message: ClassVar[str] = "{path} kept changing while it was read"
    hint: ClassVar[str] = "stop what writes to it and try again"


class ProjectUnwell(Failed):
    """A look at a project found what it could not mend."""

    message: ClassVar[str] = "things that are wrong and could not be mended: {count}"
    hint: ClassVar[str] = "each is listed with what to do"


class SnapshotDamaged(Failed):
    """Stored bytes are missing or are not what they were."""

    message: ClassVar[str] = "snapshot object {object} is damaged: {reason}"
    hint: ClassVar[str] = (
        "`mulligan checkpoint verify` names every checkpoint that is hurt; choose another one"
    )


class RestoreFailed(Failed):
    """A sandbox could not be brought to a snapshot."""

    message: ClassVar[str] = "{path} could not be restored: {reason}"
    hint: ClassVar[str] = "mend the cause; the next command on this plan completes the restore"


class RestoreIncomplete(RestoreFailed):
    """A restore failed, and so did taking it back; the next command on the plan goes on with it."""

    message: ClassVar[str] = "{path} is neither as before nor as wanted: {reason}"
    hint: ClassVar[str] = (
        "mend the cause (disk full? permissions?), then `mulligan plan resume {plan_id}` completes it"
    )


class DatabaseUnusable(Failed):
    """mulligan.db is locked, read-only, damaged, or its disk is full."""

    message: ClassVar[str] = "the database {database} cannot be used: {reason}"
    hint: ClassVar[str] = (
        "check that the file is readable and writable and that the disk has room, then try again"
    )


class DatabaseBusy(Failed):
    """Another program kept a database locked, or changing, for longer than we wait."""

    message: ClassVar[str] = "the database {database} was kept locked for {seconds:g} s by {holders}"
    hint: ClassVar[str] = "let that program finish its transaction, or end it, then try again"


class SystemFailed(Failed):
    """The operating system refused something."""

    message: ClassVar[str] = "{path}: {reason}"
    hint: ClassVar[str] = "check permissions and free space, then try again"


class InternalError(Failed):
    """A mistake of ours: the trace of it goes to stderr."""

    message: ClassVar[str] = "mulligan itself made a mistake: {reason}"
    hint: ClassVar[str] = (
        "what was recorded is safe; please report this with the trace above and what you did"
    )


# --- exit code 2 -------------------------------------------------------------------------------------------


class Misused(MulliganError):
    """The words of a command, a plan file or a setting are wrong; nothing was done."""

    exit_code: ClassVar[int] = 2
    http_status: ClassVar[int] = 400


class UsageWrong(Misused):
    """A command line that cannot be understood."""

    hint: ClassVar[str] = "`mulligan --help` lists the commands"


class PlanFileInvalid(Misused):
    """A plan file that cannot be run, with the place in it."""

    message: ClassVar[str] = "{file}:{line}:{column}: {path}: {reason}"
    hint: ClassVar[str] = "correct the plan file at that place and try again"


class SettingInvalid(Misused):
    """A value that a setting cannot have, and where it was given."""

    message: ClassVar[str] = "{key}: {reason} ({origin})"
    hint: ClassVar[str] = "allowed: {allowed}"


class SettingUnknown(SettingInvalid):
    """A setting nobody knows."""

    message: ClassVar[str] = "there is no setting {key!r} ({origin})"
    hint: ClassVar[str] = "`mulligan config list` shows all settings"


class SettingsFileInvalid(Misused):
    """A file of settings that cannot be read, with the line."""

    message: ClassVar[str] = "{file}:{line}: {reason}"
    hint: ClassVar[str] = "correct the file at that line and try again"


class ReferenceInvalid(Misused):
    """A `${{ … }}` that names nothing a step could be given."""

    hint: ClassVar[str] = (
        "name a variable, an earlier step or guidance; a `${{{{` meant as it is goes into a variable"
    )


class StateNotJson(Misused):
    """Something that is to be kept with a session's checkpoints and cannot be."""

    message: ClassVar[str] = "{what} cannot be kept: {reason}"
    hint: ClassVar[str] = (
        "put into it only what JSON can hold: texts, numbers, lists, and dicts with texts as keys"
    )


class ToolsInvalid(Misused):
    """Tools of the user's own that cannot be loaded, or that contradict themselves or others."""

    message: ClassVar[str] = "{source}: {reason}"
    hint: ClassVar[str] = "correct it and try again; `mulligan tool list` shows the tools there are"


# --- exit code 3 -------------------------------------------------------------------------------------------


class Refused(MulliganError):
    """A guard said no; nothing was changed."""

    exit_code: ClassVar[int] = 3
    http_status: ClassVar[int] = 409


class ProjectNotFound(Refused):
    """No project home here or above."""

    http_status: ClassVar[int] = 404
    message: ClassVar[str] = "no project in {path} or any folder above it"
    hint: ClassVar[str] = "make one with `mulligan init`, or name one with --project PATH"


class ProjectForeign(Refused):
    """A project home that belongs to another user."""

    message: ClassVar[str] = "the project home {path} belongs to another user (uid {owner})"
    hint: ClassVar[str] = (
        "run mulligan as that user, or make a project of your own with `mulligan init` elsewhere"
    )


class ProjectUnusable(Refused):
    """Something stands where the project home should be."""

    message: ClassVar[str] = "{path} cannot be a project home: {reason}"
    hint: ClassVar[str] = "move it away or choose another folder, then run `mulligan init`"


class NotFound(Refused):
    """A name, id or word that matches nothing."""

    http_status: ClassVar[int] = 404


class PlanNotFound(NotFound):
    """No plan has this id, prefix or name."""

    message: ClassVar[str] = "no plan {wanted!r}"
    hint: ClassVar[str] = "`mulligan plan list` shows all plans"


class CheckpointNotFound(NotFound):
    """No checkpoint has this id, prefix, label or word."""

    message: ClassVar[str] = "no checkpoint {wanted!r}"
    hint: ClassVar[str] = "`mulligan checkpoint list --all` shows all checkpoints"


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
    hint: ClassVar[str] = "go back with `mulligan plan rollback {plan_id} CHECKPOINT`, then execute it again"


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


class SandboxMissing(Refused):
    """The plan's working copy is not there."""

    message: ClassVar[str] = "the sandbox of {resource!r} is missing: {path}"
    hint: ClassVar[str] = (
        "`mulligan doctor` makes a copy anew from the plan's last checkpoint, a real folder is yours to put back; "
        "files alone: `mulligan checkpoint restore ID --to DIR`"
    )


class ResourceUnsuitable(Refused):
    """A real thing that cannot be worked on."""

    message: ClassVar[str] = "resource {resource!r} at {path}: {reason}"
    hint: ClassVar[str] = "correct `resources:` in the plan file"


class CheckoutUnready(Refused):
    """A git checkout that a plan's changes cannot be brought into as it stands."""

    message: ClassVar[str] = "nothing can be applied to the checkout {path}: {reason}"
    hint: ClassVar[str] = "mend that, then apply again"


class LocationTaken(Refused):
    """Another plan works in place there."""

    message: ClassVar[str] = "plan {plan_id} works in place on {path}"
    hint: ClassVar[str] = (
        "end it with `mulligan plan apply {plan_id}`, which keeps what it did, or `mulligan plan cancel {plan_id}`"
    )


class ApplyUnderWay(Refused):
    """Another plan is being applied there, or its process died over it."""

    message: ClassVar[str] = "plan {plan_id} is being applied to {path}, or taken out of it"
    hint: ClassVar[str] = (
        "wait until it is done; if its process is gone, `mulligan plan status {plan_id}` says how to go on"
    )


class LocationChanged(Refused):
    """The real thing is not there any more, or is something else now."""

    message: ClassVar[str] = "resource {resource!r} at {path} is not what it was: {reason}"
    hint: ClassVar[str] = "put it back, then try again; nothing was changed"


class NothingApplied(Refused):
    """A plan of which nothing can be taken out of the real resources."""

    message: ClassVar[str] = "plan {plan_id} cannot be taken back: {reason}"
    hint: ClassVar[str] = "look at it with `mulligan plan status {plan_id}`"


class ChangedMeanwhile(Refused):
    """A real thing was changed by others while a return that was cut off waited to be finished."""

    message: ClassVar[str] = (
        "others have changed what plan {plan_id} was about to restore, since it was kept: {paths}"
    )
    hint: ClassVar[str] = (
        "nothing of theirs was touched; run the command again, and if it stops here still, move these away "
        "first; or end the plan with `mulligan plan cancel {plan_id}`"
    )


class PathEscapes(Refused):
    """A path that would lead outside the sandbox."""

    message: ClassVar[str] = "{path!r} leads outside the sandbox"
    hint: ClassVar[str] = "use a path relative to the sandbox that stays inside it, also through symlinks"


class PathReserved(PathEscapes):
    """A path into a project home, which no sandbox holds."""

    message: ClassVar[str] = "{path!r} leads into a project home, which is no part of the sandbox"
    hint: ClassVar[str] = "use a path that has no `.mulligan` in it"


class TargetExists(Refused):
    """Something stands where a new folder should be made."""

    message: ClassVar[str] = "{path} exists already"
    hint: ClassVar[str] = "choose a folder that does not exist yet"


class ToolUnknown(NotFound):
    """No tool has this name."""

    message: ClassVar[str] = "there is no tool {tool!r}"
    hint: ClassVar[str] = "known tools: {known}"


class ToolMissing(ToolUnknown):
    """A recorded step whose tool is not there any more."""

    message: ClassVar[str] = "step {step!r} uses {tool}, and there is no such tool"


class ToolNotCheckpointable(Refused):
    """A tool that writes but cannot be taken back, in a plan that asks for checkpoints."""

    message: ClassVar[str] = "step {step!r} uses {tool}, which writes but is not checkpointable"
    hint: ClassVar[str] = (
        "declare the tool checkpointable, or set `rollback_policy: {{require_checkpoints: false}}`"
    )


class ToolArgumentsUnfit(Refused):
    """A recorded step whose arguments its tool, which changed since, does not take."""

    message: ClassVar[str] = "step {step!r} uses {tool}, which {reason}"
    hint: ClassVar[str] = "correct the plan file or the tool, then create the plan anew"


class ToolsUntrusted(Refused):
    """Code that nobody said may run."""

    message: ClassVar[str] = "{path} {reason}, and {need}"
    hint: ClassVar[str] = "read the file, then say that it may run with `mulligan tool trust`"


class ToolsUnsafe(Refused):
    """A file of tools that others could have written."""

    message: ClassVar[str] = "{path} is not used: {reason}"
    hint: ClassVar[str] = (
        "read the file, make it yours alone (`chown`, `chmod go-w`), then `mulligan tool trust`"
    )


class ConfirmationMissing(Refused):
    """A question that nobody is there to answer."""

    message: ClassVar[str] = "this needs a yes, and there is no terminal to ask on"
    hint: ClassVar[str] = "look at it with --dry-run, then repeat the command with --yes"


class Declined(Refused):
    """The answer to the question was no."""

    message: ClassVar[str] = "not done: the question was answered with no"
    hint: ClassVar[str] = "repeat the command when you are sure"


class DatabaseTooNew(Refused):
    """A database that a newer mulligan wrote."""

    message: ClassVar[str] = "the database {database} has version {found}; this mulligan knows up to {known}"
    hint: ClassVar[str] = "install a newer mulligan"


class DatabaseForeign(Refused):
    """A database that does not know a plan which was worked on in this project."""

    message: ClassVar[str] = (
        "plan {plan_id} was worked on here, but this database does not know it: its checkpoints would be deleted"
    )
    hint: ClassVar[str] = (
        "see which database is used with `mulligan config get core.database.url`, and name the right one"
    )


class ConfinementImpossible(Refused):
    """Tools were to be confined for certain, and cannot be."""

    message: ClassVar[str] = "tools cannot be kept from writing outside their sandboxes: {reason}"
    hint: ClassVar[str] = (
        "set `sandbox.isolate` to `auto` to run all the same: tools then can write wherever you can"
    )


class NotBuiltYet(Refused):
    """A feature that this version does not have; refused by name rather than ignored."""

    http_status: ClassVar[int] = 501
    message: ClassVar[str] = "{feature} is not built yet"
    hint: ClassVar[str] = "see what this version can do with `mulligan --help`"


# --- exit codes 4 and 130 ----------------------------------------------------------------------------------


class Conflicted(MulliganError):
    """Two sides changed the same thing."""

    exit_code: ClassVar[int] = 4
    http_status: ClassVar[int] = 409
    message: ClassVar[str] = "in conflict: {paths}"
    hint: ClassVar[str] = "mend them and try again"


class ConflictsUnresolved(Conflicted):
    """The plan cannot go on before the conflicts that stopped it are mended."""

    message: ClassVar[str] = "plan {plan_id} has {count} unresolved conflicts: {paths}"
    hint: ClassVar[str] = (
        "mend them in the sandbox that `mulligan plan status {plan_id}` names, then `mulligan plan resolve {plan_id}`"
    )


class SubplanConflicts(Conflicted):
    """What a child plan made and what its parent's sandboxes hold overlap; the plan waits in `constrained`."""

    message: ClassVar[str] = "merging child plan {child!r} left conflicts in paths: {count}"
    hint: ClassVar[str] = (
        "mend the paths that `mulligan plan status {plan_id}` lists in the sandbox, then "
        "`mulligan plan resolve {plan_id}` and `mulligan plan resume {plan_id}`"
    )


class ChildConstrained(SubplanConflicts):
    """A child plan waits with conflicts of its own, and its parent with it."""

    message: ClassVar[str] = "child plan {child!r} ({child_plan_id}) waits with conflicts of its own: {count}"
    hint: ClassVar[str] = (
        "mend them in its sandbox, then `mulligan plan resolve {child_plan_id}` and "
        "`mulligan plan resume {plan_id}`"
    )


class ApplyConflicted(Conflicted):
    """What a plan made, or what is to be taken back, and what others did since do not go together."""

    message: ClassVar[str] = "in conflict with what others changed since: {paths}"
    hint: ClassVar[str] = (
        "no real resource was changed; mend these in the real resource or in the sandbox, then run the command again"
    )


class Interrupted(MulliganError):
    """Ctrl-C or SIGTERM; the state was recorded and the plan can go on."""

    exit_code: ClassVar[int] = 130
    http_status: ClassVar[int] = 499
    message: ClassVar[str] = "interrupted"
    hint: ClassVar[str] = "look at it with `mulligan plan status`"
