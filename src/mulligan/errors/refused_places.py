"""Exit code 3: what the project, its resources and sandboxes, its tools or the machine do not allow."""

from typing import ClassVar

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import NotFound, Refused


class ProjectNotFound(Refused):
    """No project home here or above."""

    http_status: ClassVar[int] = 404
    message: ClassVar[str] = "no project {searched}"
    hint: ClassVar[str] = Advice(
        "make one with ", NextStep("init"), ", or name one with ", NextStep("again", project=...)
    )


class ProjectForeign(Refused):
    """A project home that belongs to another user."""

    message: ClassVar[str] = "the project home {path} belongs to another user (uid {owner})"
    hint: ClassVar[str] = Advice(
        "run mulligan as that user, or make a project of your own with ", NextStep("init"), " elsewhere"
    )


class ProjectUnusable(Refused):
    """Something stands where the project home should be."""

    message: ClassVar[str] = "{path} cannot be a project home: {reason}"
    hint: ClassVar[str] = Advice("move it away or choose another folder, then run ", NextStep("init"))


class SandboxMissing(Refused):
    """The plan's working copy is not there."""

    message: ClassVar[str] = "the sandbox of {resource!r} is missing: {path}"
    hint: ClassVar[str] = Advice(
        NextStep("doctor"),
        " makes a copy anew from the plan's last checkpoint, a real folder is yours to put back; files alone: ",
        NextStep("checkpoints.restore", checkpoint=..., to=...),
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
    hint: ClassVar[str] = Advice(
        "end it with ",
        NextStep("apply", plan="{plan_id}"),
        ", which keeps what it did, or ",
        NextStep("cancel", plan="{plan_id}"),
    )


class ApplyUnderWay(Refused):
    """Another plan is being applied there, or its process died over it."""

    message: ClassVar[str] = "plan {plan_id} is being applied to {path}, or taken out of it"
    hint: ClassVar[str] = Advice(
        "wait until it is done; if its process is gone, ",
        NextStep("status", plan="{plan_id}"),
        " says how to go on",
    )


class LocationChanged(Refused):
    """The real thing is not there any more, or is something else now."""

    message: ClassVar[str] = "resource {resource!r} at {path} is not what it was: {reason}"
    hint: ClassVar[str] = "put it back, then try again; nothing was changed"


class ChangedMeanwhile(Refused):
    """A real thing was changed by others while a return that was cut off waited to be finished."""

    message: ClassVar[str] = (
        "others have changed what plan {plan_id} was about to restore, since it was kept: {paths}"
    )
    hint: ClassVar[str] = Advice(
        "nothing of theirs was touched; run the command again, and if it stops here still, move these away "
        "first; or end the plan with ",
        NextStep("cancel", plan="{plan_id}"),
    )


class TreeChanged(Refused):
    """Others changed paths of a real tree while it was being restored; what they wrote was kept."""

    message: ClassVar[str] = "others changed these paths while they were being restored: {paths}"
    hint: ClassVar[str] = "nothing that they wrote was touched; run the command again"


class FileInUse(Refused):
    """A program has a file open for writing that is about to be replaced or removed."""

    message: ClassVar[str] = "{paths}: open for writing in {holders}"
    hint: ClassVar[str] = (
        "close the file there or stop that program, then run the command again; nothing was touched"
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
    """Something stands where a new file or folder should be made."""

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
    hint: ClassVar[str] = Advice("read the file, then say that it may run with ", NextStep("tools.trust"))


class ToolsUnsafe(Refused):
    """A file of tools that others could have written."""

    message: ClassVar[str] = "{path} is not used: {reason}"
    hint: ClassVar[str] = Advice(
        "read the file, make it yours alone (`chown`, `chmod go-w`), then ", NextStep("tools.trust")
    )


class DatabaseTooNew(Refused):
    """A database that a newer mulligan wrote."""

    message: ClassVar[str] = "the database {database} has version {found}; this mulligan knows up to {known}"
    hint: ClassVar[str] = "install a newer mulligan"


class DatabaseForeign(Refused):
    """A database that does not know a plan which was worked on in this project."""

    message: ClassVar[str] = (
        "plan {plan_id} was worked on here, but this database does not know it: its checkpoints would be deleted"
    )
    hint: ClassVar[str] = Advice(
        "see which database is used with ",
        NextStep("config.get", key="core.database.url"),
        ", and name the right one",
    )


class ConfinementImpossible(Refused):
    """Tools were to be confined for certain, and cannot be."""

    message: ClassVar[str] = "tools cannot be kept from writing outside their sandboxes: {reason}"
    hint: ClassVar[str] = (
        "set `sandbox.isolate` to `auto` to run all the same: tools then can write wherever you can"
    )
