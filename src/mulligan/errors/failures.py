"""Exit code 1: something that should have worked did not."""

import errno
import os
from typing import ClassVar

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import Failed

# What to do next, by what the system says.
_MAY_NOT = (
    "`ls -ld {path}` shows whose it is and who may write there; mend that or work elsewhere, then try again"
)
_NO_ROOM = "free some room on that disk (`df -h`), then try again"
_REMEDIES = {
    os.strerror(errno.EACCES): _MAY_NOT,
    os.strerror(errno.EPERM): _MAY_NOT,
    os.strerror(
        errno.EROFS
    ): "that disk can only be read: work elsewhere, or mount it so that it can be written",
    os.strerror(errno.ENOSPC): _NO_ROOM,
    os.strerror(errno.EDQUOT): _NO_ROOM,
    os.strerror(errno.ENOENT): "make what is missing or name another place, then try again",
    os.strerror(errno.ENOTDIR): "name another place, then try again",
    os.strerror(errno.ENAMETOOLONG): "give it a shorter name, then try again",
    os.strerror(errno.EMFILE): "allow more open files (`ulimit -n`), then try again",
}


class StepFailed(Failed):
    """A step of the plan ended in an error; its sandboxes went where the rollback policy says."""

    message: ClassVar[str] = "step {step!r} failed: {reason}"
    hint: ClassVar[str] = Advice(
        NextStep("resume", plan="{plan_id}"),
        " tries it again from the checkpoint it went back to (with a corrected plan file: ",
        NextStep("again", mended=...),
        ")",
    )


class ToolFailed(Failed):
    """A tool call did not succeed."""

    message: ClassVar[str] = "{tool}: {reason}"
    hint: ClassVar[str] = "correct the step's args in the plan file"


class ToolTimedOut(ToolFailed):
    """A tool call took longer than its timeout and was ended with all its processes."""

    message: ClassVar[str] = "{tool}: took longer than {timeout:g} s and was ended"
    hint: ClassVar[str] = "raise the step's `timeout:` or make the step smaller"


class ProgramFailed(Failed):
    """An exception ended a step of a session."""

    message: ClassVar[str] = "{error}: {reason}"
    hint: ClassVar[str] = Advice(
        "mend the program, then start it again with ", NextStep("session", resume="{plan_id}")
    )


class SubplansFailed(Failed):
    """Child plans of a step failed, and no retries are left."""

    message: ClassVar[str] = "child plans failed: {reason}"
    hint: ClassVar[str] = Advice(NextStep("status", plan=...), " of each says what stopped it")


class CheckpointFailed(Failed):
    """A checkpoint could not be taken; the plan stopped rather than go on without."""

    message: ClassVar[str] = "the {checkpoint_type} checkpoint of plan {plan_id} could not be taken: {reason}"
    hint: ClassVar[str] = Advice("mend the cause, then run on with ", NextStep("resume", plan="{plan_id}"))


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
    hint: ClassVar[str] = Advice(
        NextStep("checkpoints.verify"), " names every checkpoint that is hurt; choose another one"
    )


class RestoreFailed(Failed):
    """A sandbox could not be brought to a snapshot."""

    message: ClassVar[str] = "{path} could not be restored: {reason}"
    hint: ClassVar[str] = "mend the cause; the next command on this plan completes the restore"


class RestoreIncomplete(RestoreFailed):
    """A restore failed, and so did taking it back; the next command on the plan goes on with it."""

    message: ClassVar[str] = "{path} is neither as before nor as wanted: {reason}"
    hint: ClassVar[str] = Advice(
        "mend the cause (disk full? permissions?), then ",
        NextStep("resume", plan="{plan_id}"),
        " completes it",
    )


class DatabaseUnusable(Failed):
    """mulligan.db is locked, read-only, damaged, or its disk is full."""

    message: ClassVar[str] = "the database {database} cannot be used: {reason}"
    hint: ClassVar[str] = (
        "check that you may write the file and its folder and that the disk has room, then try again"
    )


class DatabaseBusy(Failed):
    """Another program kept a database locked, or changing, for longer than we wait."""

    message: ClassVar[str] = "the database {database} was kept locked for {seconds:g} s by {holders}"
    hint: ClassVar[str] = "let that program finish its transaction, or end it, then try again"


class SystemFailed(Failed):
    """The operating system refused something."""

    message: ClassVar[str] = "{path}: {reason}"
    hint: ClassVar[str] = "mend that, then try again"

    def __init__(self, **facts: object) -> None:
        """Say what to do by what the system said, unless the caller knows better."""
        remedy = _REMEDIES.get(str(facts.get("reason")))
        known = {"hint": remedy.format_map(facts)} if remedy else {}
        super().__init__(**(known | facts))


class LockImpossible(SystemFailed):
    """The operating system gave no lock on a file: without locks two commands could spoil each other's work."""

    message: ClassVar[str] = "{path} cannot be locked: {reason}"
    hint: ClassVar[str] = (
        "mulligan needs a filesystem with file locks: on NFS start its lock service or mount it with "
        "`local_lock=flock`, or move the project to a local disk; then try again"
    )


class ProcessSurvives(Failed):
    """A process that a killed run left is alive, and nothing may be restored while it is."""

    message: ClassVar[str] = "process {pid} ({command}) {reason}"
    hint: ClassVar[str] = "end it, then try again"


class InternalError(Failed):
    """A mistake of ours: the trace of it goes to stderr."""

    message: ClassVar[str] = "mulligan itself made a mistake: {reason}"
    hint: ClassVar[str] = (
        "what was recorded is safe; please report this with the trace above and what you did"
    )
