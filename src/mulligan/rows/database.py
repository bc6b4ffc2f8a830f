"""The database of a project, reached through transactions."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.rows.place_codec import ABSOLUTE
from mulligan.rows.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from mulligan.ports import Claim
    from mulligan.rows.place_codec import Places
    from mulligan.rows.sql_connection import SqlConnection

_FENCE = "SELECT fence FROM plans WHERE plan_id = ?"


class RowGuard:
    """A guard of transactions that write; this one refuses nothing."""

    @property
    def is_alone(self) -> bool:
        """Return whether this thread keeps all others from writing, in a transaction of another connection."""
        return False

    def before_rows(self, connection: SqlConnection) -> None:
        """Check at the beginning of a transaction that writes, and raise what refuses it."""


class Database:
    """Plans and checkpoints behind one connection, opened when it is first needed; used by one thread at a time."""

    def __init__(
        self,
        connect: Callable[[], SqlConnection],
        places: Places = ABSOLUTE,
        guard: RowGuard | None = None,
    ) -> None:
        """Take a way to connect, the folders that paths in rows are relative to, and who may refuse to write."""
        self._connect = connect
        self._places = places
        self._guard = guard or RowGuard()

    @contextmanager
    def reading(self) -> Generator[Transaction]:
        """Read one consistent state, without waiting for a writer."""
        connection = self._connection  # once: `close` in another thread must not exchange it in between
        with connection.transaction(write=False):
            yield Transaction(connection, self._places)

    @contextmanager
    def writing(self) -> Generator[Transaction]:
        """Write without a claim: to create a plan, or to claim one."""
        connection = self._connection
        with connection.transaction(write=True):
            self._guard.before_rows(connection)
            yield Transaction(connection, self._places)

    @contextmanager
    def writing_as(self, claim: Claim) -> Generator[Transaction]:
        """Write as a claimant; PlanTakenOver when another process has claimed the plan since."""
        connection = self._connection
        with connection.transaction(write=True):  # nobody else writes, so the fence holds until the commit
            row = connection.row(_FENCE, (claim.plan_id,))
            if row is None or row["fence"] != claim.fence:
                raise errors.PlanTakenOver(plan_id=claim.plan_id)
            self._guard.before_rows(connection)
            yield Transaction(connection, self._places)

    def changes(self) -> int:
        """Return a number that is different after others have recorded something; it is cheap to ask for."""
        return self._connection.changes()

    def settle(self) -> None:
        """Make what a killed process was committing either visible to all readers or gone for good.

        The caller deletes next what no row names, while no process that could write such a row is alive.
        """
        if not self._guard.is_alone:  # else all that others were committing has ended
            self._connection.settle()

    def copy_to(self, target: Path) -> None:
        """Write a consistent copy of the database into a file."""
        self._connection.copy_to(target)

    def problems(self) -> list[str]:
        """List what is wrong with the rows as they are stored; DatabaseUnusable where they cannot be read."""
        from mulligan.rows.unreadable_rows import unreadable_rows  # here: only a search for trouble needs it

        with self.reading() as db:
            return [*self._connection.problems(), *unreadable_rows(db)]

    def close(self) -> None:
        """Close the connection; the next call opens another one."""
        connection: SqlConnection | None = self.__dict__.pop("_connection", None)
        if connection is not None:
            connection.close()

    @cached_property
    def _connection(self) -> SqlConnection:
        return self._connect()
