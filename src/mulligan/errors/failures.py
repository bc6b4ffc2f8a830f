"""Exit code 1: something that should have worked did not."""

import errno
import os

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import Failed

# The remedies by the error messages of the operating system.
_MAY_NOT = "`ls -ld {path}` shows its owner and permissions; change them or work elsewhere, then try again"
_NO_ROOM = "free some space on that disk (`df -h`), then try again"
_REMEDIES = {
    os.strerror(errno.EACCES): _MAY_NOT,
    os.strerror(errno.EPERM): _MAY_NOT,
    os.strerror(errno.EROFS): "that disk is read-only: work elsewhere, or mount it writable",
    os.strerror(errno.ENOSPC): _NO_ROOM,
    os.strerror(errno.EDQUOT): _NO_ROOM,
    os.strerror(errno.ENOENT): "create the missing file or folder or choose another place, then try again",
    os.strerror(errno.ENOTDIR): "choose another place, then try again",
    os.strerror(errno.ENAMETOOLONG): "use a shorter name, then try again",
    os.strerror(errno.EMFILE): "allow more open files (`ulimit -n`), then try again",
}


class StepFailed(Failed):
    """A step of the plan failed; its sandboxes were rolled back as the rollback policy says."""

    message = "step {step!r} failed: {reason}"
    hint = Advice(
        NextStep("resume", plan="{plan_id}"),
        " tries it again, from the sandbox as it is then (with a corrected plan file: ",
        NextStep("again", corrected=...),
        ")",
    )


class ChildFailed(Failed):
    """A child plan that another worker ran failed there."""

    message = "{reason}"
    hint = Advice(NextStep("status", plan="{plan_id}"), " shows its steps")


class QueueUnusable(Failed):
    """The tables of the queue of a shared project cannot be made or used."""

    message = "the queue in {database} cannot be used: {reason}"
    hint = "let the user of the database create schemas there (`GRANT CREATE ON DATABASE`), then start the worker again"


class NoVariantPassed(Failed):
    """All variants of a try ran to their end or failed, and none of them passes."""

    message = "none of {count} passes"
    hint = Advice(
        "look at one with ", NextStep("diff", plan="{variant}"), "; ",
        NextStep("pick_variant", variant="{variant}"), " takes it all the same",
    )  # fmt: skip


class BisectionStopped(Failed):
    """A bisection ended without a result: the command did not say whether it passes or fails."""

    message = "the bisection stopped at {checkpoint}: {reason}"
    hint = (
        "a command says 0 for passed, 1 to 127 for failed, and 125 to skip; with `-v` you see what it prints"
    )


class BisectionUndecided(Failed):
    """Groups that a bisection skipped hide the first one at which the command fails."""

    message = "one of these is the first at which the command fails, and all before the last were skipped: {candidates}"
    hint = Advice(
        "let the command decide there, too, or compare two of them with ",
        NextStep("checkpoints.diff", old=..., new=...),
    )


class ToolFailed(Failed):
    """A tool call did not succeed."""

    message = "{tool}: {reason}"
    hint = "correct the step's args in the plan file"


class ToolTimedOut(ToolFailed):
    """A tool call took longer than its timeout and was killed with all its processes."""

    message = "{tool}: took longer than {timeout:g} s and was killed"
    hint = "increase the step's `timeout:` or make the step smaller"


class ProgramFailed(Failed):
    """An exception ended a step of a session."""

    message = "{error}: {reason}"
    hint = Advice("fix the program, then start it again with ", NextStep("session", resume="{plan_id}"))


class SubplansFailed(Failed):
    """Child plans of a step failed, and no retries are left."""

    message = "child plans failed: {reason}"
    hint = Advice(NextStep("status", plan=...), " of each one shows what stopped it")


class CheckpointFailed(Failed):
    """A checkpoint could not be taken; the plan stopped instead of continuing without it."""

    message = "the {checkpoint_type} checkpoint of plan {plan_id} could not be taken: {reason}"
    hint = Advice("fix the cause, then continue with ", NextStep("resume", plan="{plan_id}"))


class TreeUnsteady(Failed):
    """Folders, or ever other files, came and went while a tree was read."""

    message = "{path} kept changing while it was read"
    hint = "stop the program that writes there, or exclude the path (`sandbox.exclude`), then try again"


class ProjectUnwell(Failed):
    """A check of the project found problems that it could not repair."""

    message = "problems that need your attention: {count}"
    hint = "each problem is listed with a remedy"


class ArchiveDamaged(Failed):
    """The file of an exported project cannot be read, or is not one."""

    message = "{file} cannot be imported: {reason}"
    hint = "nothing was changed; export the project again, or name another file"


class SnapshotDamaged(Failed):
    """Stored bytes are missing or corrupt."""

    message = "snapshot object {object} is damaged: {reason}"
    hint = Advice(NextStep("checkpoints.verify"), " lists the damaged checkpoints; choose another one")


class RestoreFailed(Failed):
    """A sandbox could not be restored to a snapshot."""

    message = "{path} could not be restored: {reason}"
    hint = "fix the cause; the next command on this plan completes the restore"


class RestoreIncomplete(RestoreFailed):
    """A restore failed, and could not be reverted; the next command on the plan completes it."""

    message = "{path} was only partly restored: {reason}"
    hint = Advice(
        "fix the cause (disk full? permissions?), then ",
        NextStep("resume", plan="{plan_id}"),
        " completes it",
    )


class DatabaseUnusable(Failed):
    """mulligan.db is locked, read-only, damaged, of another version, or its disk is full."""

    message = "the database {database} cannot be used: {reason}"
    hint = "check that the file and its folder are writable and that the disk has free space, then try again"


class DatabaseBusy(Failed):
    """Another program kept a database locked, or kept changing it, longer than mulligan waits."""

    message = "the database {database} was locked for {seconds:g} s by {holders}"
    hint = "let that program finish its transaction, or stop it, then try again"


class SystemFailed(Failed):
    """The operating system refused something."""

    message = "{path}: {reason}"
    hint = "fix the cause, then try again"

    def __init__(self, **facts: object) -> None:
        """Choose the hint by the system's error message, unless the caller has a better one."""
        remedy = _REMEDIES.get(str(facts.get("reason")))
        known = {"hint": remedy.format_map(facts)} if remedy else {}
        super().__init__(**(known | facts))


class HookPayloadUnusable(Failed):
    """An agent handed its hook something that is not one of its payloads."""

    message = "the payload of {agent} {reason}"
    hint = "the event is not recorded; the next one finds what changed"


class HooksUnwell(Failed):
    """A hook of a coding agent is not installed, or does not answer as that agent expects."""

    message = "{failed} of {tested} tested hooks do not work"
    hint = "install the hooks of these agents again"


class LockImpossible(SystemFailed):
    """The operating system refused a file lock, without which two commands could damage each other's work."""

    message = "{path} cannot be locked: {reason}"
    hint = (
        "mulligan needs a filesystem with file locks: on NFS start its lock service or mount it with "
        "`local_lock=flock`, or move the project to a local disk; then try again"
    )


class ServerSilent(Failed):
    """The local server of a project does not start, answer or end."""

    message = "the local server of {home} does not react: {reason}"
    hint = "{log} says what went wrong; everything works without the server"


class ProcessSurvives(Failed):
    """A process left over from a killed run is still alive; nothing can be restored until it ends."""

    message = "process {pid} ({command}) {reason}"
    hint = "stop it, then try again"


class InternalError(Failed):
    """A bug in mulligan; its traceback goes to stderr."""

    message = "internal error in mulligan: {reason}"
    hint = "recorded data is safe; please report this with the traceback above and what you did"
