"""The transaction that holds all repositories together.

What screens do not read is imported when it is first needed: a command does not pay for what it does not use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.rows.tables.checkpoint_rows import CheckpointRepository
from mulligan.rows.tables.plan_rows import PlanRepository
from mulligan.rows.tables.sandbox_rows import SandboxRepository
from mulligan.rows.tables.step_rows import DecisionRepository, StepRepository, ToolCallRepository

if TYPE_CHECKING:
    from mulligan.rows.graphs.graph_rows import GraphRepository
    from mulligan.rows.graphs.position_rows import GraphPositionRepository
    from mulligan.rows.host_names import HostRepository
    from mulligan.rows.place_codec import Places
    from mulligan.rows.sql_connection import SqlConnection
    from mulligan.rows.tables.agent_rows import AgentRepository
    from mulligan.rows.tables.child_rows import ChildRepository
    from mulligan.rows.tables.correction_rows import CorrectionRepository
    from mulligan.rows.tables.entry_rows import EntryRepository
    from mulligan.rows.tables.handle_rows import HandleRepository
    from mulligan.rows.tables.history_rows import EventRepository, HistoryRepository, IntentRepository
    from mulligan.rows.tables.real_change_rows import RealChangeRepository
    from mulligan.rows.tables.submission_rows import SubmissionRepository


class Transaction:
    """All rows in one transaction: committed when the block ends, rolled back when it raises."""

    def __init__(self, connection: SqlConnection, places: Places) -> None:
        self._db = connection
        self._places = places
        self.plans = PlanRepository(connection)
        self.steps = StepRepository(connection)
        self.tool_calls = ToolCallRepository(connection)
        self.decisions = DecisionRepository(connection)
        self.checkpoints = CheckpointRepository(connection, places)
        self.sandboxes = SandboxRepository(connection, places)

    @property
    def agents(self) -> AgentRepository:
        """Sessions of coding agents."""
        from mulligan.rows.tables.agent_rows import AgentRepository

        return AgentRepository(self._db, self._places)

    @property
    def corrections(self) -> CorrectionRepository:
        """Corrections."""
        from mulligan.rows.tables.correction_rows import CorrectionRepository

        return CorrectionRepository(self._db)

    @property
    def graphs(self) -> GraphRepository:
        """States of graphs that other programs run."""
        from mulligan.rows.graphs.graph_rows import GraphRepository

        return GraphRepository(self._db)

    @property
    def graph_positions(self) -> GraphPositionRepository:
        """Groups of plans that hold the files of graphs."""
        from mulligan.rows.graphs.position_rows import GraphPositionRepository

        return GraphPositionRepository(self._db)

    @property
    def hosts(self) -> HostRepository:
        """Machines that work in the project."""
        from mulligan.rows.host_names import HostRepository

        return HostRepository(self._db, self._places)

    @property
    def handles(self) -> HandleRepository:
        """Words for ids."""
        from mulligan.rows.tables.handle_rows import HandleRepository

        return HandleRepository(self._db)

    @property
    def children(self) -> ChildRepository:
        """Child plans and where they come from."""
        from mulligan.rows.tables.child_rows import ChildRepository

        return ChildRepository(self._db)

    @property
    def history(self) -> HistoryRepository:
        """Lines of history."""
        from mulligan.rows.tables.history_rows import HistoryRepository

        return HistoryRepository(self._db)

    @property
    def intents(self) -> IntentRepository:
        """Work that was begun and is not finished."""
        from mulligan.rows.tables.history_rows import IntentRepository

        return IntentRepository(self._db, self._places)

    @property
    def entries(self) -> EntryRepository:
        """The timeline of the folder."""
        from mulligan.rows.tables.entry_rows import EntryRepository

        return EntryRepository(self._db)

    @property
    def events(self) -> EventRepository:
        """The log."""
        from mulligan.rows.tables.history_rows import EventRepository

        return EventRepository(self._db)

    @property
    def real_changes(self) -> RealChangeRepository:
        """Changes to real resources."""
        from mulligan.rows.tables.real_change_rows import RealChangeRepository

        return RealChangeRepository(self._db, self._places)

    @property
    def submissions(self) -> SubmissionRepository:
        """Plans in queues."""
        from mulligan.rows.tables.submission_rows import SubmissionRepository

        return SubmissionRepository(self._db)
