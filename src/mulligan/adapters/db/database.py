"""The database: opened, migrated, and reached through one transaction object."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from mulligan.adapters.db.checkpoints import SqlCheckpointRepository
from mulligan.adapters.db.connection import Connection
from mulligan.adapters.db.history import (
    SqlEventRepository,
    SqlHistoryRepository,
    SqlIntentRepository,
    SqlSandboxRepository,
)
from mulligan.adapters.db.migrate import NEWEST_VERSION, migrate, packaged_migrations, version_of
from mulligan.adapters.db.plans import SqlPlanRepository
from mulligan.adapters.db.records import SqlDecisionRepository, SqlStepRepository, SqlToolCallRepository
from mulligan.errors import PlanTakenOver
from mulligan.ports import (
    CheckpointRepository,
    Claim,
    DecisionRepository,
    EventRepository,
    HistoryRepository,
    IntentRepository,
    PlanRepository,
    SandboxRepository,
    StepRepository,
    ToolCallRepository,
)

_FENCE = "SELECT fence FROM plans WHERE plan_id = ?"


class SqlTransaction:
    """All rows, in one transaction."""

    def __init__(self, connection: Connection) -> None:
        """Give every repository the same connection."""
        self.plans: PlanRepository = SqlPlanRepository(connection)
        self.steps: StepRepository = SqlStepRepository(connection)
        self.tool_calls: ToolCallRepository = SqlToolCallRepository(connection)
        self.decisions: DecisionRepository = SqlDecisionRepository(connection)
        self.checkpoints: CheckpointRepository = SqlCheckpointRepository(connection)
        self.history: HistoryRepository = SqlHistoryRepository(connection)
        self.intents: IntentRepository = SqlIntentRepository(connection)
        self.events: EventRepository = SqlEventRepository(connection)
        self.sandboxes: SandboxRepository = SqlSandboxRepository(connection)


class SqliteDatabase:
    """Plans and checkpoints in one SQLite file, opened when it is first needed."""

    def __init__(self, path: Path) -> None:
        """Name the file; nothing is opened yet."""
        self._path = path

    @contextmanager
    def reading(self) -> Generator[SqlTransaction]:
        """One consistent view; never waits for a writer."""
        with self._connection.transaction(write=False):
            yield SqlTransaction(self._connection)

    @contextmanager
    def writing(self) -> Generator[SqlTransaction]:
        """A transaction of someone who has claimed nothing."""
        with self._connection.transaction(write=True):
            yield SqlTransaction(self._connection)

    @contextmanager
    def writing_as(self, claim: Claim) -> Generator[SqlTransaction]:
        """A transaction of a claimant: the write lock is held, so the fence checked now still stands at commit."""
        with self._connection.transaction(write=True):
            row = self._connection.row(_FENCE, (claim.plan_id,))
            if row is None or row["fence"] != claim.fence:
                raise PlanTakenOver(plan_id=claim.plan_id)
            yield SqlTransaction(self._connection)

    def close(self) -> None:
        """Give the file back."""
        if "_connection" in self.__dict__:
            self._connection.close()
            del self._connection

    @cached_property
    def _connection(self) -> Connection:
        connection = Connection(self._path)
        try:
            if version_of(connection) != NEWEST_VERSION:
                migrate(connection, packaged_migrations())
        except BaseException:
            connection.close()
            raise
        return connection
