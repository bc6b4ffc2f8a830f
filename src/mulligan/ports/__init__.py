"""Ports: the verbs that the application needs from the outside, as Protocols.

Their docstrings are the contract that `tests/contracts` runs against every adapter. Most commands need few of them.
"""

# ruff: noqa: F401 - the imports are for type checkers of other modules
# pyright: reportUnusedImport=false

from typing import TYPE_CHECKING

from mulligan.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from mulligan.ports.apply_order import ApplyOrder, Composed
    from mulligan.ports.claims import Claim, LockHolder, Locks
    from mulligan.ports.engine import (
        Crew,
        Ended,
        Engine,
        LocalCrew,
        LocalEngine,
        SideWork,
        SideWorks,
        Workers,
        WorkQueue,
    )
    from mulligan.ports.pack_storage import Lease, Leases, PackDraft, PackStorage
    from mulligan.ports.places import (
        Homes,
        LeftLock,
        Neighbour,
        Neighbours,
        ParkedCopies,
        Pinned,
        Pins,
        PlanFolders,
        TrialRooms,
    )
    from mulligan.ports.stop_request import StopRequest
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
    from mulligan.ports.streams import Streams
    from mulligan.ports.tool_host import Confinement, RealPlaces, StepHost, Tool, Toolbox, ToolRequest
    from mulligan.ports.tree_changes import ChangeReports, TreeChanges
    from mulligan.ports.unobserved import Unobserved
    from mulligan.ports.world import Clock, Ids, Observer

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "mulligan.ports.apply_order": "ApplyOrder Composed",
        "mulligan.ports.claims": "Claim LockHolder Locks",
        "mulligan.ports.engine": "Crew Ended Engine LocalCrew LocalEngine SideWork SideWorks "
        "Workers WorkQueue",
        "mulligan.ports.pack_storage": "Lease Leases PackDraft PackStorage",
        "mulligan.ports.places": "Homes LeftLock Neighbour Neighbours ParkedCopies Pinned Pins PlanFolders "
        "TrialRooms",
        "mulligan.ports.storage": "Publication Replacement SandboxKind SandboxKinds SandboxOrder "
        "SnapshotStore StoredTrees WorkingTree",
        "mulligan.ports.stop_request": "StopRequest",
        "mulligan.ports.streams": "Streams",
        "mulligan.ports.tool_host": "Confinement RealPlaces StepHost Tool Toolbox ToolRequest",
        "mulligan.ports.tree_changes": "ChangeReports TreeChanges",
        "mulligan.ports.unobserved": "Unobserved",
        "mulligan.ports.world": "Clock Ids Observer",
    },
)
