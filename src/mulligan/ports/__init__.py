"""Ports: the verbs that the application needs from the outside, as Protocols.

Their docstrings are the contract that `tests/contracts` runs against every adapter.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mulligan.ports.apply_order import ApplyOrder, Composed
    from mulligan.ports.claims import Claim, LockHolder, Locks
    from mulligan.ports.engine import Crew, Ended, Engine, StopRequest
    from mulligan.ports.pack_storage import Lease, Leases, PackDraft, PackStorage
    from mulligan.ports.places import LeftLock, Neighbour, Neighbours, Pinned, Pins, PlanFolders
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
    from mulligan.ports.world import Clock, Ids, Observer, Unobserved

__all__ = [
    "ApplyOrder",
    "Claim",
    "Clock",
    "Composed",
    "Confinement",
    "Crew",
    "Ended",
    "Engine",
    "Ids",
    "Lease",
    "Leases",
    "LeftLock",
    "LockHolder",
    "Locks",
    "Neighbour",
    "Neighbours",
    "Observer",
    "PackDraft",
    "PackStorage",
    "Pinned",
    "Pins",
    "PlanFolders",
    "Publication",
    "Replacement",
    "SandboxKind",
    "SandboxKinds",
    "SandboxOrder",
    "SnapshotStore",
    "StepHost",
    "StopRequest",
    "StoredTrees",
    "Tool",
    "ToolRequest",
    "Toolbox",
    "Unobserved",
    "WorkingTree",
]

_ROOMS = {
    "apply_order": ("ApplyOrder", "Composed"),
    "claims": ("Claim", "LockHolder", "Locks"),
    "engine": ("Crew", "Ended", "Engine", "StopRequest"),
    "pack_storage": ("Lease", "Leases", "PackDraft", "PackStorage"),
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
    "world": ("Clock", "Ids", "Observer", "Unobserved"),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a port from its room when it is first asked for: most commands need few of them, many none."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
