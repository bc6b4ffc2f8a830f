"""Exit code 3: refusals because of the project, its resources, sandboxes and tools, or the machine."""

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import NotFound, Refused


class ProjectNotFound(Refused):
    """Neither the folder nor any above it has a project."""

    http_status = 404
    message = "no project {searched}"
    hint = Advice(
        NextStep("run_command", words=...),
        " runs a command and creates one, as ",
        NextStep("init"),
        " does; choose another one with ",
        NextStep("again", project=...),
    )


class ExtraMissing(Refused):
    """A part of mulligan needs packages that are not installed."""

    http_status = 501
    message = "{feature} needs packages that are not installed: the extra mulligan[{extra}]"
    hint = "install them: `{command}`"


class ProjectForeign(Refused):
    """The project home belongs to another user."""

    message = "the project home {path} belongs to another user (uid {owner})"
    hint = Advice(
        "run mulligan as that user, or create a project of your own with ", NextStep("init"), " elsewhere"
    )


class ProjectUnusable(Refused):
    """The project, or its home, cannot be created there."""

    message = "{path} cannot be a project, or the home of one: {reason}"
    hint = Advice("move it away or choose another folder, then run ", NextStep("init"))


class ProjectMadeMeanwhile(Refused):
    """Another process made the project of the folder at the same moment; a command then starts again with that one."""

    message = "another process made the project of {path} meanwhile"
    hint = "run the command again"


class ProjectCopied(Refused):
    """The folder is a copy of a project whose folder still exists."""

    message = "{path} is a copy of the project {original}, whose plans are in {home}"
    hint = Advice(
        "start its own project home, without plans, with ", NextStep("init", path="{path}", fresh=True)
    )


class ProjectInSandbox(Refused):
    """A step of a plan asks for the project whose sandbox it sees in the place of the real folder."""

    message = "{path} is a sandbox here: a step of a plan sees it in the place of the real folder"
    hint = "run mulligan outside of the plan's steps"


class ProjectUncertain(Refused):
    """A project home was found for the folder, but the folder may not be the one that it belongs to."""

    message = "{path} may not be the folder of its project home: {reason}"
    hint = Advice("begin without its plans: ", NextStep("init", path="{path}", fresh=True))


class ProjectHomeMissing(Refused):
    """The project home that the folder names does not exist."""

    message = "the home of the project {path} is missing: {reason}"
    hint = Advice("begin without its plans: ", NextStep("init", path="{path}", fresh=True))


class ProjectBusy(Refused):
    """A process works in the project home, which has to be at rest."""

    message = "plans run in the project home {home}, or its store is being swept"
    hint = "wait until they have finished, then run the command again"


class DiskLimitExceeded(Refused):
    """The homes of all projects together hold more than the setting `core.disk-limit` allows."""

    message = "no new plan: {reason}"
    hint = Advice(
        "see what holds most with ",
        NextStep("projects"),
        ", free what no checkpoint needs with ",
        NextStep("gc"),
        ", remove homes without a folder with ",
        NextStep("prune_projects"),
        ", or raise the limit with ",
        NextStep("config.set", key="core.disk-limit", value=...),
    )


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


class BranchDiffers(Refused):
    """The checkout is on another branch than when the plan began, or was applied or taken back."""

    message = "the plan {deed} on branch {began}, and {path} is on {now}"
    hint = Advice(
        "switch with `git switch {began}`, or act where the checkout is with ",
        NextStep("again", onto_branch=True),
    )


class LocationTaken(Refused):
    """Another plan works in place on the resource."""

    message = "plan {plan_id} works in place on {path}"
    hint = Advice(
        "wait until it has finished, run it on with ",
        NextStep("resume", plan="{plan_id}"),
        ", or end it with ",
        NextStep("cancel", plan="{plan_id}"),
        ", which keeps its changes",
    )


class ApplyUnderWay(Refused):
    """Another plan is changing the resource: by an apply, unapply, undo, rollback or restore of paths."""

    message = "a process is changing {path} for plan {plan_id}"
    hint = Advice(
        "wait until it has finished, then run the command again; ",
        NextStep("status", plan="{plan_id}"),
        " shows the plan",
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


class PathNotInCheckpoint(NotFound):
    """The checkpoint holds nothing at this path."""

    message = "{path!r} is not in {checkpoint}"
    hint = Advice(NextStep("list_tree", checkpoint="{checkpoint}"), " lists what it holds")


class PathForgotten(PathNotInCheckpoint):
    """The path was purged from the checkpoint, on request."""

    message = "{path!r} was forgotten: it was purged from {checkpoint}"


class PathNowhere(NotFound):
    """No checkpoint of the project holds another version of this path."""

    message = "no checkpoint holds another version of {path!r}"
    hint = Advice(NextStep("checkpoints.list", plan=...), " shows the checkpoints of a plan")


class PathNotForgettable(Refused):
    """A path is all of a resource, or a database, which a checkpoint cannot be without."""

    message = "{path!r} cannot be forgotten: {reason}"
    hint = Advice(NextStep("remove_plan", plan=...), " forgets a plan with all its checkpoints")


class PathIsFolder(Refused):
    """The path is a folder, and only the bytes of a file can be returned."""

    message = "{path!r} is a folder"
    hint = Advice(NextStep("list_tree", checkpoint=..., path="{path}"), " lists what it holds")


class PathOutside(Refused):
    """A path leads out of the project folder."""

    message = "{path!r} is not in the project folder {project}"
    hint = "name paths relative to the current folder, inside the project"


class PathInTheWay(Refused):
    """Something that was not named would have to be removed to restore the path."""

    message = "{path!r} cannot be restored: {reason}"
    hint = Advice("look at it first; ", NextStep("again", delete=True), " removes what is in the way")


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


class DatabaseTooOld(Refused):
    """An older mulligan made the tables of a shared project, and no command but `database upgrade` changes them."""

    message = "the database {database} has version {found}; this mulligan needs version {known}"
    hint = Advice(
        "upgrade mulligan on all machines that use it, then run ",
        NextStep("upgrade_database"),
        " once; until then use the older version",
    )


class ProjectNotShared(Refused):
    """A queue was named for a project whose rows are in a file on this machine."""

    message = "queues and workers need a shared project: the plans of this one are in {database}"
    hint = Advice(
        NextStep("execute", plan=...), " runs a plan here; ", NextStep("init", database=...), " makes a shared project"
    )  # fmt: skip


class OnAnotherHost(Refused):
    """Another machine has what is wanted: a real folder that a plan works on in place, or that it is applied to."""

    message = "{resource!r} of plan {plan_id} is on the machine {host}, and not on this one"
    hint = Advice(
        "run this there; the files of a checkpoint can be had anywhere: ",
        NextStep("checkpoints.restore", checkpoint=..., to=...),
    )


class HostHasHome(Refused):
    """A shared project has another home on this machine already."""

    message = (
        "on this machine ({host}) that project has the home {home} already; {other} would be a second one"
    )
    hint = Advice(
        "work in the folder of that home; to let this one count as another machine: ",
        NextStep("config.set", key="core.host", value=...),
        ", with a word that no other machine has",
    )


class DatabaseNotMade(Refused):
    """The database of a shared project has no tables: they were removed, or the address is another one."""

    message = "the database {database} holds no project"
    hint = Advice(
        NextStep("config.get", key="core.database.url"),
        " shows which database is used; ",
        NextStep("init", database=...),
        " makes a project in one",
    )


class DatabaseOfAnotherProject(Refused):
    """The database of a shared project was replaced by that of another project."""

    message = "the database {database} holds another project than the one that this folder belongs to"
    hint = Advice(
        NextStep("config.get", key="core.database.url"), " shows which database is used; set the right one"
    )


class PoolerInTheWay(Refused):
    """PostgreSQL is reached through a connection pooler, and claims need sessions."""

    message = "{database} is reached through a connection pooler, which does not keep sessions apart"
    hint = "name the server itself: use the address and port on which PostgreSQL listens in core.database.url"


class DatabaseForeign(Refused):
    """The database does not contain a plan that ran in this project."""

    message = (
        "plan {plan_id} ran in this project but is not in this database: its checkpoints would be deleted"
    )
    hint = Advice(
        NextStep("config.get", key="core.database.url"), " shows which database is used; set the right one"
    )


class RealPathImpossible(Refused):
    """Sandboxes are to be seen in the places of the real resources, and this machine cannot show them there."""

    message = "steps cannot see their sandboxes at the real paths: {reason}"
    hint = "set `sandbox.at` to `auto` to run anyway: steps then see the sandboxes at their own paths"


class ConfinementImpossible(Refused):
    """Confinement of tools is required, and this machine cannot provide it."""

    message = "tools cannot be prevented from writing outside their sandboxes: {reason}"
    hint = "set `sandbox.isolate` to `auto` to run without confinement: tools can then write wherever you can"


class AgentFileUnusable(Refused):
    """The configuration file of a coding agent cannot be read, or has another form than that agent's; it stays."""

    message = "{file}:{line}: {reason}"
    hint = "nothing was written; correct the file, then try again"


class AgentMissing(NotFound):
    """No coding agent was found on this machine."""

    message = "none of the known agents was found: {known}"
    hint = "name one: its hooks are written wherever its configuration belongs"


class AgentPlaceUnsuitable(Refused):
    """The folder is not a project, so that hooks for one project cannot be there."""

    message = "{path} is not a project folder"
    hint = "change to a project (`cd`), or leave out --scope project"
