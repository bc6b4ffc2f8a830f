"""Exit code 3: refusals because of the project, its resources, sandboxes and tools, or the machine."""

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import NotFound, Refused


class ProjectNotFound(Refused):
    """Neither the folder nor any above it has a project."""

    http_status = 404
    message = "no project {searched}"
    hint = Advice(
        "create one with ", NextStep("init"), ", or choose one with ", NextStep("again", project=...)
    )


class ProjectForeign(Refused):
    """The project home belongs to another user."""

    message = "the project home {path} belongs to another user (uid {owner})"
    hint = Advice(
        "run mulligan as that user, or create a project of your own with ", NextStep("init"), " elsewhere"
    )


class ProjectUnusable(Refused):
    """The project home cannot be created there."""

    message = "{path} cannot be a project home: {reason}"
    hint = Advice("move it away or choose another folder, then run ", NextStep("init"))


class SandboxMissing(Refused):
    """A sandbox of the plan does not exist."""

    message = "the sandbox of {resource!r} is missing: {path}"
    hint = Advice(
        NextStep("doctor"),
        " recreates a copy from the plan's last checkpoint; put a real folder back yourself; files alone: ",
        NextStep("checkpoints.restore", checkpoint=..., to=...),
    )


class ResourceUnsuitable(Refused):
    """A plan cannot work on this resource."""

    message = "resource {resource!r} at {path}: {reason}"
    hint = "correct `resources:` in the plan file"


class CheckoutUnready(Refused):
    """A git checkout is in a state in which no changes can be applied to it."""

    message = "nothing can be applied to the checkout {path}: {reason}"
    hint = "fix the cause, then apply again"


class LocationTaken(Refused):
    """Another plan works in place on the resource."""

    message = "plan {plan_id} works in place on {path}"
    hint = Advice(
        "end it with ",
        NextStep("apply", plan="{plan_id}"),
        ", which keeps its changes, or ",
        NextStep("cancel", plan="{plan_id}"),
    )


class ApplyUnderWay(Refused):
    """Another plan is being applied to the resource, or its process died while applying it."""

    message = "plan {plan_id} is being applied to {path}, or unapplied from it"
    hint = Advice(
        "wait until it has finished; if its process is gone, ",
        NextStep("status", plan="{plan_id}"),
        " shows how to continue",
    )


class LocationChanged(Refused):
    """The real resource no longer exists, or was replaced by something else."""

    message = "resource {resource!r} at {path} has changed: {reason}"
    hint = "nothing was changed; restore it, then try again"


class ChangedMeanwhile(Refused):
    """Others changed a real resource between the interruption of a rollback and its completion."""

    message = "others changed paths that plan {plan_id} was about to restore: {paths}"
    hint = Advice(
        "their changes were kept; run the command again; if it still fails, move these paths away first, or "
        "end the plan with ",
        NextStep("cancel", plan="{plan_id}"),
    )


class TreeChanged(Refused):
    """Others changed paths of a real folder while it was being restored; their changes were kept."""

    message = "others changed these paths while they were being restored: {paths}"
    hint = "their changes were kept; run the command again"


class FileInUse(Refused):
    """A program has a file open for writing that mulligan was about to replace or remove."""

    message = "{paths}: open for writing in {holders}"
    hint = "nothing was changed; close the file or stop that program, then run the command again"


class PathEscapes(Refused):
    """A path leads outside the sandbox."""

    message = "{path!r} leads outside the sandbox"
    hint = "use a path relative to the sandbox that stays inside it, even through symlinks"


class PathReserved(PathEscapes):
    """A path leads into a project home, which is not part of any sandbox."""

    message = "{path!r} leads into a project home, which is not part of the sandbox"
    hint = "use a path without `.mulligan`"


class TargetExists(Refused):
    """The file or folder to create exists already."""

    message = "{path} already exists"
    hint = "choose a folder that does not exist yet"


class ToolUnknown(NotFound):
    """No tool has this name."""

    message = "there is no tool {tool!r}"
    hint = "known tools: {known}"


class ToolMissing(ToolUnknown):
    """The tool of a recorded step no longer exists."""

    message = "step {step!r} uses {tool}, but there is no such tool"


class ToolNotCheckpointable(Refused):
    """A plan that requires checkpoints uses a tool whose writes cannot be rolled back."""

    message = "step {step!r} uses {tool}, which writes but is not checkpointable"
    hint = "declare the tool checkpointable, or set `rollback_policy: {{require_checkpoints: false}}`"


class ToolArgumentsUnfit(Refused):
    """The tool of a recorded step has changed and no longer accepts the step's arguments."""

    message = "step {step!r} uses {tool}, which {reason}"
    hint = "correct the plan file or the tool, then create the plan again"


class ToolsUntrusted(Refused):
    """The user has not allowed this code to run."""

    message = "{path} {reason}, and {need}"
    hint = Advice("read the file, then allow it to run with ", NextStep("tools.trust"))


class ToolsUnsafe(Refused):
    """Others could have written this file of tools."""

    message = "{path} is not used: {reason}"
    hint = Advice(
        "read the file, make sure that only you can write it (`chown`, `chmod go-w`), then run ",
        NextStep("tools.trust"),
    )


class DatabaseTooNew(Refused):
    """A newer mulligan wrote the database."""

    message = "the database {database} has version {found}; this mulligan supports versions up to {known}"
    hint = "install a newer mulligan"


class DatabaseForeign(Refused):
    """The database does not contain a plan that ran in this project."""

    message = (
        "plan {plan_id} ran in this project but is not in this database: its checkpoints would be deleted"
    )
    hint = Advice(
        NextStep("config.get", key="core.database.url"), " shows which database is used; set the right one"
    )


class ConfinementImpossible(Refused):
    """Confinement of tools is required, and this machine cannot provide it."""

    message = "tools cannot be prevented from writing outside their sandboxes: {reason}"
    hint = "set `sandbox.isolate` to `auto` to run without confinement: tools can then write wherever you can"
