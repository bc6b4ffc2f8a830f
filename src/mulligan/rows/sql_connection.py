"""The seam below all rows: what a database must be able to do, whichever it is."""

# pyright: reportReturnType=none
# (a method of a protocol has no body)
from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any, TypeAlias

    Value: TypeAlias = str | int | float | bytes | None


class Row(Protocol):
    """One row of an answer."""

    def __getitem__(self, column: str, /) -> Any:
        """Return the value of a column."""


class SqlConnection(Protocol):
    """A connection to a database with the newest schema; used by one thread at a time.

    Statements name their values by `?`. What the database refuses is raised as DatabaseUnusable.
    """

    def execute(self, statement: str, values: Sequence[Value] = ()) -> None:
        """Run a statement that returns no rows."""

    def row(self, statement: str, values: Sequence[Value] = ()) -> Row | None:
        """Return the first row of the answer, if there is one."""

    def rows(self, statement: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        """Return all rows of the answer."""

    def each(self, statement: str, values: Sequence[Value] = ()) -> Iterator[Row]:
        """Return the rows of the answer one by one, for those that are large."""

    def transaction(self, *, write: bool) -> AbstractContextManager[None]:
        """Commit when the block ends, and roll back when it raises; refuse a transaction inside another.

        A reader sees one consistent state and never waits for a writer. At most one transaction of the whole
        database writes: what it reads stays true until it commits, and statements may count on that (`MAX(seq) + 1`).
        """

    def fence_step(self) -> int:
        """Return by how much a claim raises the fence of its plan: no two claims may get the same number.

        Where a failover may forget the last commits, a step that is drawn at random keeps two claims apart.
        """

    def wake(self, queue: str, entry: str, plan_id: str, number: int) -> None:
        """Enter a plan in the durable queue, in the transaction that is open.

        A database that no worker looks at refuses with ProjectNotShared.
        """

    def changes(self) -> int:
        """Return a number that is different after another connection has committed; it is cheap to ask for."""

    def settle(self) -> None:
        """Make what a killed process was committing either visible to all readers or gone for good."""

    def copy_to(self, target: Path) -> None:
        """Write a consistent copy of the database into a file."""

    def columns(self) -> Mapping[str, Sequence[str]]:
        """Return the columns of each table, in their order."""

    def problems(self) -> list[str]:
        """List what the database itself finds wrong: broken storage, lost references, values of a wrong type."""

    def close(self) -> None:
        """Close the connection; more than once is allowed."""
