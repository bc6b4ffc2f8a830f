"""The transaction that holds all repositories together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mulligan.ports.apply_order import RealChangeRepository
    from mulligan.ports.children import ChildRepository
    from mulligan.ports.rows import (
        CheckpointRepository,
        CorrectionRepository,
        DecisionRepository,
        EventRepository,
        HistoryRepository,
        IntentRepository,
        PlanRepository,
        SandboxRepository,
        StepRepository,
        ToolCallRepository,
    )


class Transaction(Protocol):
    """All rows, in one transaction: committed when the block ends, rolled back when it raises."""

    @property
    def plans(self) -> PlanRepository:
        """Plans."""
        ...

    @property
    def steps(self) -> StepRepository:
        """How far each step got."""
        ...

    @property
    def tool_calls(self) -> ToolCallRepository:
        """Tool calls."""
        ...

    @property
    def decisions(self) -> DecisionRepository:
        """Decisions."""
        ...

    @property
    def corrections(self) -> CorrectionRepository:
        """Corrections."""
        ...

    @property
    def checkpoints(self) -> CheckpointRepository:
        """Checkpoint groups and their checkpoints."""
        ...

    @property
    def children(self) -> ChildRepository:
        """Which plans are children of which."""
        ...

    @property
    def history(self) -> HistoryRepository:
        """Lines of history."""
        ...

    @property
    def intents(self) -> IntentRepository:
        """What is under way."""
        ...

    @property
    def events(self) -> EventRepository:
        """The log."""
        ...

    @property
    def sandboxes(self) -> SandboxRepository:
        """Sandboxes."""
        ...

    @property
    def real_changes(self) -> RealChangeRepository:
        """What was applied."""
        ...
