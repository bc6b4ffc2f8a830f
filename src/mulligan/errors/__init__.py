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
│   ├── ProjectUnwell           a look at the project found what it could not mend
│   ├── DatabaseUnusable        mulligan.db is locked, read-only, damaged or full
│   ├── DatabaseBusy            a database that a plan works on is locked by another program
│   ├── ProcessSurvives         what a killed run left cannot be ended; nothing was restored
│   ├── InternalError           a mistake of ours
│   └── SystemFailed            the operating system refused something (disk full, no permission)
│       └── LockImpossible      a lock, as a network disk without a lock service does
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
│   │                           NoPlansYet · ConflictUnknown · ToolUnknown · ToolMissing
│   ├── Ambiguous
│   ├── SessionClosed · StepUnderWay · NoStepUnderWay · StepNameTaken · NotASession
│   ├── PlanIsChild             applied and cancelled is its parent
│   ├── PlanBusy · PlanTakenOver · PlanAlreadyApplied · PlanCancelled · PlanAlreadyComplete · PlanNotReady
│   ├── PlanFileDiffers         a mended plan file that changes what is done already
│   ├── MarkersLeft             a path cannot be solved while the markers of its conflict stand in it
│   ├── TransitionIllegal
│   ├── CheckpointForeign · CheckpointNotATarget · CheckpointNeeded · CheckpointsUnlike
│   ├── DecisionSuperseded · DecisionOutOfReach · NothingToChoose · NothingToAppend
│   ├── RollbackDisabled · NothingToUndo · SandboxMissing
│   ├── ApplyUnderWay · LocationChanged · NothingApplied · ChangedMeanwhile · TreeChanged · FileInUse · LocationTaken
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

The rooms: `root` has what all of them share and the families, `failures`, `misuses` and `conflicts` a family each;
refusals are of `refused_plans` (what a plan, checkpoint, decision or session does not allow as it stands) and of
`refused_places` (project, resources, sandboxes, tools, machine).

An error is raised with facts; its message and hint are templates over them. Facts are part of the JSON
output, so their names are as stable as the fields of any other answer. A hint that names operations is `Advice`:
`next_step` has the operations as data, and each front door words them.
"""

from mulligan.errors.conflicts import (
    ApplyConflicted,
    ChildConstrained,
    ConflictsUnresolved,
    SubplanConflicts,
)
from mulligan.errors.failures import (
    CheckpointFailed,
    DatabaseBusy,
    DatabaseUnusable,
    InternalError,
    LockImpossible,
    ProcessSurvives,
    ProgramFailed,
    ProjectUnwell,
    RestoreFailed,
    RestoreIncomplete,
    SnapshotDamaged,
    StepFailed,
    SubplansFailed,
    SystemFailed,
    ToolFailed,
    ToolTimedOut,
    TreeUnsteady,
)
from mulligan.errors.misuses import (
    PlanFileInvalid,
    ReferenceInvalid,
    SettingInvalid,
    SettingsFileInvalid,
    SettingUnknown,
    StateNotJson,
    ToolsInvalid,
    UsageWrong,
)
from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.refused_places import (
    ApplyUnderWay,
    ChangedMeanwhile,
    CheckoutUnready,
    ConfinementImpossible,
    DatabaseForeign,
    DatabaseTooNew,
    FileInUse,
    LocationChanged,
    LocationTaken,
    PathEscapes,
    PathReserved,
    ProjectForeign,
    ProjectNotFound,
    ProjectUnusable,
    ResourceUnsuitable,
    SandboxMissing,
    TargetExists,
    ToolArgumentsUnfit,
    ToolMissing,
    ToolNotCheckpointable,
    ToolsUnsafe,
    ToolsUntrusted,
    ToolUnknown,
    TreeChanged,
)
from mulligan.errors.refused_plans import (
    Ambiguous,
    CheckpointForeign,
    CheckpointNeeded,
    CheckpointNotATarget,
    CheckpointNotFound,
    CheckpointsUnlike,
    ConfirmationMissing,
    ConflictUnknown,
    CorrectionNotFound,
    DecisionNotFound,
    DecisionOutOfReach,
    DecisionSuperseded,
    Declined,
    MarkersLeft,
    NoPlansYet,
    NoStepUnderWay,
    NotASession,
    NotBuiltYet,
    NothingApplied,
    NothingToAppend,
    NothingToChoose,
    NothingToUndo,
    PlanAlreadyApplied,
    PlanAlreadyComplete,
    PlanBusy,
    PlanCancelled,
    PlanFileDiffers,
    PlanIsChild,
    PlanNotFound,
    PlanNotReady,
    PlanTakenOver,
    RollbackDisabled,
    SessionClosed,
    StepNameTaken,
    StepUnderWay,
    TransitionIllegal,
)
from mulligan.errors.root import (
    Conflicted,
    Failed,
    Interrupted,
    Misused,
    MulliganError,
    NotFound,
    Refused,
)

__all__ = [
    "Advice",
    "Ambiguous",
    "ApplyConflicted",
    "ApplyUnderWay",
    "ChangedMeanwhile",
    "CheckoutUnready",
    "CheckpointFailed",
    "CheckpointForeign",
    "CheckpointNeeded",
    "CheckpointNotATarget",
    "CheckpointNotFound",
    "CheckpointsUnlike",
    "ChildConstrained",
    "ConfinementImpossible",
    "ConfirmationMissing",
    "ConflictUnknown",
    "Conflicted",
    "ConflictsUnresolved",
    "CorrectionNotFound",
    "DatabaseBusy",
    "DatabaseForeign",
    "DatabaseTooNew",
    "DatabaseUnusable",
    "DecisionNotFound",
    "DecisionOutOfReach",
    "DecisionSuperseded",
    "Declined",
    "Failed",
    "FileInUse",
    "InternalError",
    "Interrupted",
    "LocationChanged",
    "LocationTaken",
    "LockImpossible",
    "MarkersLeft",
    "Misused",
    "MulliganError",
    "NextStep",
    "NoPlansYet",
    "NoStepUnderWay",
    "NotASession",
    "NotBuiltYet",
    "NotFound",
    "NothingApplied",
    "NothingToAppend",
    "NothingToChoose",
    "NothingToUndo",
    "PathEscapes",
    "PathReserved",
    "PlanAlreadyApplied",
    "PlanAlreadyComplete",
    "PlanBusy",
    "PlanCancelled",
    "PlanFileDiffers",
    "PlanFileInvalid",
    "PlanIsChild",
    "PlanNotFound",
    "PlanNotReady",
    "PlanTakenOver",
    "ProcessSurvives",
    "ProgramFailed",
    "ProjectForeign",
    "ProjectNotFound",
    "ProjectUnusable",
    "ProjectUnwell",
    "ReferenceInvalid",
    "Refused",
    "ResourceUnsuitable",
    "RestoreFailed",
    "RestoreIncomplete",
    "RollbackDisabled",
    "SandboxMissing",
    "SessionClosed",
    "SettingInvalid",
    "SettingUnknown",
    "SettingsFileInvalid",
    "SnapshotDamaged",
    "StateNotJson",
    "StepFailed",
    "StepNameTaken",
    "StepUnderWay",
    "SubplanConflicts",
    "SubplansFailed",
    "SystemFailed",
    "TargetExists",
    "ToolArgumentsUnfit",
    "ToolFailed",
    "ToolMissing",
    "ToolNotCheckpointable",
    "ToolTimedOut",
    "ToolUnknown",
    "ToolsInvalid",
    "ToolsUnsafe",
    "ToolsUntrusted",
    "TransitionIllegal",
    "TreeChanged",
    "TreeUnsteady",
    "UsageWrong",
]
