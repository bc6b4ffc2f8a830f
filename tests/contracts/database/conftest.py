"""The databases that the contract runs against: another one is a line here."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from mulligan.adapters.db.database_file import NEWEST_VERSION, open_sqlite
from mulligan.adapters.postgres import schema_versions
from mulligan.adapters.postgres.schema_versions import make_schema, open_postgres
from mulligan.adapters.postgres.server_address import ServerAddress
from mulligan.domain.history.lines import Line
from mulligan.domain.text.ids import PlanId
from mulligan.rows.database import Database
from mulligan.rows.sql_connection import SqlConnection
from tests.support.shared_database import is_whole_run, new_address
from tests.unit.examples import a_plan

# How to open a connection to the database in a folder; the first one makes it.
DATABASES: dict[str, Callable[[Path], Callable[[], SqlConnection]]] = {
    "sqlite": lambda folder: partial(open_sqlite, folder / "mulligan.db"),
    "postgresql": lambda _: _postgresql(),
}
PLAN = PlanId("01K00000000000000000000001")


def _postgresql() -> Callable[[], SqlConnection]:
    address = ServerAddress.of(new_address())
    made: list[str] = []

    def connect() -> SqlConnection:
        if not made:
            made.append(make_schema(address, "of this test"))
        return open_postgres(address)

    return connect


# What the default run tries with a server too; `nox -s shared` runs the whole contract.
_SAMPLE = {
    f"test_{name}" for name in ("changes", "fence", "newest_schema", "statements", "transactions", "writers")
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try every database; those on a server with a sample of the contract, unless all of it is asked for."""
    if "kind" in metafunc.fixturenames:
        whole = is_whole_run() or metafunc.module.__name__.rpartition(".")[2] in _SAMPLE
        metafunc.parametrize("kind", [kind for kind in DATABASES if whole or kind == "sqlite"])


@pytest.fixture
def newest(kind: str) -> int:
    """The newest version of its schema."""
    return {"sqlite": NEWEST_VERSION, "postgresql": schema_versions.NEWEST_VERSION}[kind]


@pytest.fixture
def connect(kind: str, tmp_path: Path) -> Iterator[Callable[[], SqlConnection]]:
    """Open one more connection to the same database."""
    connect_once = DATABASES[kind](tmp_path)
    with ExitStack() as opened:

        def connect() -> SqlConnection:
            connection = connect_once()
            opened.callback(connection.close)
            return connection

        yield connect


@pytest.fixture
def connection(connect: Callable[[], SqlConnection]) -> SqlConnection:
    return connect()


@pytest.fixture
def empty(connect: Callable[[], SqlConnection]) -> Database:
    """A database without a row."""
    return Database(connect)


@pytest.fixture
def database(empty: Database) -> Database:
    """A database with one plan."""
    with empty.writing() as db:
        db.plans.add(a_plan(PLAN))
        db.history.start(PLAN, Line(line=1, parent_line=None, fork_seq=0))
    return empty
