"""Ports: the verbs that the application needs from the outside, as Protocols.

Their docstrings are the contract that `tests/contracts` runs against every adapter.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mulligan.ports.apply_order import ApplyOrder, Composed, RealChangeRepository
    from mulligan.ports.children import ChildRepository
    from mulligan.ports.claims import Claim, Database, LockHolder, Locks
    from mulligan.ports.engine import Crew, Ended, Engine, StopRequest
    from mulligan.ports.places import LeftLock, Neighbour, Neighbours, Pinned, Pins, PlanFolders
    from mulligan.ports.rows import (
        CheckpointRepository,
        CorrectionRepository,
        DecisionRepository,
        EventRepository,
        FoundCheckpoint,
        HistoryRepository,
        IntentRepository,
        PlanRepository,
        SandboxRepository,
        StepRepository,
        ToolCallRepository,
    )
    from mulligan.ports.storage import (
        Publication,
        Replacement,
        SandboxKind,
        SandboxKinds,
        SandboxOrder,
        SnapshotStore,
        StoredTrees,
        WorkingTree,
    )
    from mulligan.ports.tool_host import Confinement, StepHost, Tool, Toolbox, ToolRequest
    from mulligan.ports.transaction import Transaction
    from mulligan.ports.world import Clock, Ids, Observer, Unobserved

__all__ = [
    "ApplyOrder",
    "CheckpointRepository",
    "ChildRepository",
    "Claim",
    "Clock",
    "Composed",
    "Confinement",
    "CorrectionRepository",
    "Crew",
    "Database",
    "DecisionRepository",
    "Ended",
    "Engine",
    "EventRepository",
    "FoundCheckpoint",
    "HistoryRepository",
    "Ids",
    "IntentRepository",
    "LeftLock",
    "LockHolder",
    "Locks",
    "Neighbour",
    "Neighbours",
    "Observer",
    "Pinned",
    "Pins",
    "PlanFolders",
    "PlanRepository",
    "Publication",
    "RealChangeRepository",
    "Replacement",
    "SandboxKind",
    "SandboxKinds",
    "SandboxOrder",
    "SandboxRepository",
    "SnapshotStore",
    "StepHost",
    "StepRepository",
    "StopRequest",
    "StoredTrees",
    "Tool",
    "ToolCallRepository",
    "ToolRequest",
    "Toolbox",
    "Transaction",
    "Unobserved",
    "WorkingTree",
]

_ROOMS = {
    "apply_order": ("ApplyOrder", "Composed", "RealChangeRepository"),
    "children": ("ChildRepository",),
    "claims": ("Claim", "Database", "LockHolder", "Locks"),
    "engine": ("Crew", "Ended", "Engine", "StopRequest"),
    "rows": (
        "CheckpointRepository",
        "CorrectionRepository",
        "DecisionRepository",
        "EventRepository",
        "FoundCheckpoint",
        "HistoryRepository",
        "IntentRepository",
        "PlanRepository",
        "SandboxRepository",
        "StepRepository",
        "ToolCallRepository",
    ),
    "places": ("LeftLock", "Neighbour", "Neighbours", "Pinned", "Pins", "PlanFolders"),
    "storage": (
        "Publication",
        "Replacement",
        "SandboxKind",
        "SandboxKinds",
        "SandboxOrder",
        "SnapshotStore",
        "StoredTrees",
        "WorkingTree",
    ),
    "tool_host": ("Confinement", "StepHost", "Tool", "Toolbox", "ToolRequest"),
    "transaction": ("Transaction",),
    "world": ("Clock", "Ids", "Observer", "Unobserved"),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a port from its room when it is first asked for: most commands need few of them, many none."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
