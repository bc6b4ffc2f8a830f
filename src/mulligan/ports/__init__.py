"""Ports: the verbs that the application needs from the outside, as Protocols.

Their docstrings are the contract that `tests/contracts` runs against every adapter.
"""

from mulligan.ports.claims import Claim, Database, LockHolder, PlanLocks
from mulligan.ports.rows import (
    CheckpointRepository,
    DecisionRepository,
    EventRepository,
    FoundCheckpoint,
    HistoryRepository,
    IntentRepository,
    PlanRepository,
    SandboxRepository,
    StepRepository,
    ToolCallRepository,
    Transaction,
)
from mulligan.ports.storage import (
    SandboxFolders,
    SandboxKind,
    SandboxKinds,
    SandboxOrder,
    SnapshotStore,
    WorkingTree,
)
from mulligan.ports.tooling import StepHost, Tool, Toolbox, ToolRequest
from mulligan.ports.world import Clock, Ids, Observer, Unobserved

__all__ = [
    "CheckpointRepository",
    "Claim",
    "Clock",
    "Database",
    "DecisionRepository",
    "EventRepository",
    "FoundCheckpoint",
    "HistoryRepository",
    "Ids",
    "IntentRepository",
    "LockHolder",
    "Observer",
    "PlanLocks",
    "PlanRepository",
    "SandboxFolders",
    "SandboxKind",
    "SandboxKinds",
    "SandboxOrder",
    "SandboxRepository",
    "SnapshotStore",
    "StepHost",
    "StepRepository",
    "Tool",
    "ToolCallRepository",
    "ToolRequest",
    "Toolbox",
    "Transaction",
    "Unobserved",
    "WorkingTree",
]
