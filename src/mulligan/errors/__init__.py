"""The errors of mulligan, each with a kind, an exit code, facts and a next step; `docs/reference/json.md` lists them.

The class `MulliganError` and its five families are in `root`:

- `Failed`: exit code 1, in `failures`
- `Misused`: exit code 2, in `misuses`
- `Refused`: exit code 3; `refused_plans` is about plans, checkpoints, decisions and sessions, `refused_places` about
  the project, resources, sandboxes, tools and the machine
- `Conflicted`: exit code 4, in `conflicts`
- `Interrupted`: exit code 130

Those of object stores are together in `stores`, those of graphs in `graphs`, whichever family they belong to.

An error is raised with facts; its message and hint are templates over them. Facts are part of the JSON
output, so their names are as stable as the fields of any other answer. A hint that names operations is `Advice`:
`next_step` has the operations as data, and each front door words them.

The modules of errors are loaded when one of their errors is first used: a command that goes well names few.
"""

# ruff: noqa: F403 - these modules define errors only, and a test compares their names with the tree of classes

from typing import TYPE_CHECKING

from mulligan.errors.next_step import Advice as Advice
from mulligan.errors.next_step import NextStep as NextStep
from mulligan.errors.root import *
from mulligan.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from mulligan.errors.conflicts import *
    from mulligan.errors.failures import *
    from mulligan.errors.graphs import *
    from mulligan.errors.misuses import *
    from mulligan.errors.refused_places import *
    from mulligan.errors.refused_plans import *
    from mulligan.errors.remotes import *
    from mulligan.errors.stores import *

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "mulligan.errors.next_step": "Advice NextStep",
        "mulligan.errors.root": "Conflicted Failed Interrupted Misused MulliganError NotFound Refused",
        "mulligan.errors.conflicts": (
            "ApplyConflicted ChildConstrained ConflictsUnresolved QuestionOpen SubplanConflicts "
            "UndoConflicted UndoShared"
        ),
        "mulligan.errors.failures": (
            "ArchiveDamaged BisectionStopped BisectionUndecided CheckpointFailed ChildFailed DatabaseBusy "
            "DatabaseUnusable HookPayloadUnusable HooksUnwell InternalError LockImpossible NoVariantPassed "
            "ProcessSurvives ProgramFailed ProjectUnwell QueueUnusable RestoreFailed RestoreIncomplete ServerSilent "
            "SnapshotDamaged StepFailed SubplansFailed SystemFailed ToolFailed ToolTimedOut TreeUnsteady"
        ),
        "mulligan.errors.graphs": (
            "GraphActImpossible GraphBusy GraphDurabilityUnfit GraphFilesElsewhere GraphFilesGone "
            "GraphFilesUnknown GraphStateDamaged GraphStateUnknown"
        ),
        "mulligan.errors.misuses": (
            "PlanFileInvalid ReferenceInvalid SettingInvalid SettingUnknown SettingsFileInvalid StateNotJson "
            "ToolsInvalid UsageWrong"
        ),
        "mulligan.errors.refused_places": (
            "AgentFileUnusable AgentMissing AgentPlaceUnsuitable ApplyUnderWay BranchDiffers "
            "ChangedMeanwhile CheckoutUnready ConfinementImpossible DatabaseForeign DatabaseNotMade "
            "DatabaseOfAnotherProject DatabaseTooNew DatabaseTooOld DiskLimitExceeded ExtraMissing "
            "FileInUse HostHasHome LocationChanged LocationTaken OnAnotherHost PathEscapes PathForgotten PathInTheWay "
            "PathIsFolder PathNotForgettable PathNotInCheckpoint PathNowhere PathOutside PathReserved "
            "PoolerInTheWay ProjectBusy ProjectCopied ProjectForeign ProjectHomeMissing "
            "ProjectInSandbox ProjectMadeMeanwhile ProjectNotFound ProjectNotShared ProjectUncertain ProjectUnusable "
            "RealPathImpossible ResourceUnsuitable SandboxMissing TargetExists ToolArgumentsUnfit "
            "ToolMissing ToolNotCheckpointable ToolUnknown ToolsUnsafe ToolsUntrusted TreeChanged"
        ),
        "mulligan.errors.remotes": "RemoteMoved RemoteRefused RemoteUnreachable",
        "mulligan.errors.stores": (
            "StoreClockSkewed StoreForbidden StoreForeign StoreMissing StoreMoved StoreNotJoinable "
            "StoreNotShared StoreUnreachable StoreUnsuitable"
        ),
        "mulligan.errors.refused_plans": (
            "Ambiguous AnswerUnknown BisectionEndsWrong BisectionImpossible CallNotFound "
            "CheckpointForeign CheckpointNeeded CheckpointNotATarget CheckpointNotFound "
            "CheckpointsUnlike ClaimUncertain ConfirmationMissing ConflictChanged ConflictNotEditable "
            "ConflictUnknown CorrectionNotFound "
            "DecisionNotFound DecisionOutOfReach DecisionSuperseded Declined EntryNotFound "
            "MarkersLeft NewerWork NoPlanSuits NoPlansYet NoStepUnderWay NotASession NotBuiltYet "
            "NothingApplied NothingToAppend NothingToChoose NothingToCompare NothingToRedo "
            "NothingToUndo PlanAlreadyApplied PlanAlreadyComplete PlanBusy PlanBusyElsewhere "
            "PlanCancelled PlanFileDiffers PlanIsChild PlanNotATry PlanNotFound PlanNotReady "
            "PlanTakenOver ResultChanged RollbackDisabled SandboxesGone SessionClosed StepNameTaken StepNotFound "
            "StepUnderWay TerminalMissing TransitionIllegal VariantNotFound"
        ),
    },
)
