"""The database: opened, migrated, and reached through one transaction object.

What screens do not read is imported when it is first needed: a command does not pay for what it does not use.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.adapters.db.connection import Connection
from mulligan.adapters.db.rows.checkpoint_rows import SqlCheckpointRepository
from mulligan.adapters.db.rows.plan_rows import SqlPlanRepository
from mulligan.adapters.db.rows.sandbox_rows import SqlSandboxRepository
from mulligan.adapters.db.rows.step_rows import (
    SqlDecisionRepository,
    SqlStepRepository,
    SqlToolCallRepository,
)
from mulligan.adapters.db.schema_version import NEWEST_VERSION, version_of
from mulligan.errors import PlanTakenOver

if TYPE_CHECKING:
    from mulligan.ports import (
        CheckpointRepository,
        ChildRepository,
        Claim,
        CorrectionRepository,
        DecisionRepository,
        EventRepository,
        HistoryRepository,
        IntentRepository,
        PlanRepository,
        RealChangeRepository,
        SandboxRepository,
        StepRepository,
        ToolCallRepository,
    )

_COUNTER = "PRAGMA user_version"
_COUNTED = 1 << 30
_VERSION = "PRAGMA data_version"
_CHECK = "PRAGMA integrity_check"
_REFERENCES = "PRAGMA foreign_key_check"
_FENCE = "SELECT fence FROM plans WHERE plan_id = ?"


class SqlTransaction:
    """All rows, in one transaction; a repository is made when it is asked for."""

    def __init__(self, connection: Connection) -> None:
        """Give every repository the same connection."""
        self._db = connection

    @property
    def plans(self) -> PlanRepository:
        """Plans."""
        return SqlPlanRepository(self._db)

    @property
    def steps(self) -> StepRepository:
        """How far each step got."""
        return SqlStepRepository(self._db)

    @property
    def tool_calls(self) -> ToolCallRepository:
        """Tool calls."""
        return SqlToolCallRepository(self._db)

    @property
    def decisions(self) -> DecisionRepository:
        """Decisions."""
        return SqlDecisionRepository(self._db)

    @property
    def corrections(self) -> CorrectionRepository:
        """Corrections."""
        from mulligan.adapters.db.rows.correction_rows import SqlCorrectionRepository

        return SqlCorrectionRepository(self._db)

    @property
    def checkpoints(self) -> CheckpointRepository:
        """Checkpoint groups and their checkpoints."""
        return SqlCheckpointRepository(self._db)

    @property
    def children(self) -> ChildRepository:
        """Which plans are children of which."""
        from mulligan.adapters.db.rows.child_rows import SqlChildRepository

        return SqlChildRepository(self._db)

    @property
    def history(self) -> HistoryRepository:
        """Lines of history."""
        from mulligan.adapters.db.rows.history_rows import SqlHistoryRepository

        return SqlHistoryRepository(self._db)

    @property
    def intents(self) -> IntentRepository:
        """What is under way."""
        from mulligan.adapters.db.rows.history_rows import SqlIntentRepository

        return SqlIntentRepository(self._db)

    @property
    def events(self) -> EventRepository:
        """The log."""
        from mulligan.adapters.db.rows.history_rows import SqlEventRepository

        return SqlEventRepository(self._db)

    @property
    def sandboxes(self) -> SandboxRepository:
        """Sandboxes."""
        return SqlSandboxRepository(self._db)

    @property
    def real_changes(self) -> RealChangeRepository:
        """What was applied."""
        from mulligan.adapters.db.rows.real_change_rows import SqlRealChangeRepository

        return SqlRealChangeRepository(self._db)


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

    def changes(self) -> int:
        """A number that is another one after others have recorded something."""
        row = self._connection.row(_VERSION)
        return int(row[0]) if row else 0

    def settle(self) -> None:
        """Write something, over what a killed process may have left at the end of the log.

        Killed between writing its commit to the log and telling others of it, a process leaves a transaction that
        no reader sees, and that comes back when the log is next read as a whole. What is written now stands in
        its place.
        """
        with self._connection.transaction(write=True):
            row = self._connection.row(_COUNTER)
            count = int(row[0]) if row else 0
            self._connection.execute(f"PRAGMA user_version = {(count + 1) % _COUNTED}")

    def problems(self) -> list[str]:
        """What SQLite finds wrong with the file, and rows that refer to rows that are not there."""
        connection = self._connection
        found = [str(row[0]) for row in connection.rows(_CHECK)]
        lost = [
            f"a row of {row[0]} refers to one of {row[2]} that is gone"
            for row in connection.rows(_REFERENCES)
        ]
        from mulligan.adapters.db.row_checks import unsound_rows  # here: only who looks for trouble needs it

        with self.reading() as db:
            return [*(text for text in found if text != "ok"), *lost, *unsound_rows(connection, db)]

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
                from mulligan.adapters.db.migration import migrate, packaged_migrations

                migrate(connection, packaged_migrations())
        except BaseException:
            connection.close()
            raise
        return connection
