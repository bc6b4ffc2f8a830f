"""What tests of databases share: a kind with a home, databases in every state, and what they hold."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.private_sandbox import Workplace
from mulligan.adapters.sandboxes.sqlite.database_copy import DatabaseCopies
from mulligan.adapters.sandboxes.sqlite.database_sandbox import SqliteSandboxes
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.checkpoints.store_report import Capture
from mulligan.domain.resources.placement import folder_name
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox
from mulligan.domain.text.ids import PlanId
from mulligan.ports import SandboxOrder
from tests.support.snapshot_world import Watcher, new_store

PLAN = PlanId("01JZZZZZZZZZZZZZZZZZZZZZZZ")
DATA = Resource(
    name="data", type=ResourceType.SQLITE, location="app.db", strategy=None, from_revision=None, create=False
)


@dataclass(frozen=True)
class DatabaseWorld:
    """A project with room for databases, and the kind that works on them."""

    project: Path
    store: PackedSnapshotStore
    around: tuple[Workplace, DatabaseCopies, str]
    kind: SqliteSandboxes

    @property
    def real(self) -> Path:
        return self.project / "app.db"

    @property
    def sandboxes(self) -> Path:
        return self.project / ".mulligan" / "sandboxes"

    def order(self, *, inside: str | None = None, create: bool = False, name: str = "data") -> SandboxOrder:
        """An order for the real database, in a folder of its own or inside that of a resource `outer`."""
        plan = self.sandboxes / PLAN
        path = plan / "outer" / inside if inside else plan / folder_name(name) / "app.db"
        return SandboxOrder(
            plan_id=PLAN,
            resource=replace(DATA, name=name, create=create),
            location=self.real,
            path=path,
            excluded=frozenset(),
            include_ignored=True,
        )

    def make(self, **how: object) -> Sandbox:
        return self.kind.create(self.order(**how), Watcher())[0]  # pyright: ignore[reportArgumentType] - handed on

    def capture(self, sandbox: Sandbox) -> Capture:
        return self.kind.capture(sandbox, Watcher())


def new_world(
    tmp_path: Path,
    *,
    boot_id: str = "this boot",
    busy_limit: float = 1.0,
    now_ns: Callable[[], int] = time.time_ns,
) -> DatabaseWorld:
    project = tmp_path / "project"
    home = project / ".mulligan"
    home.mkdir(parents=True, exist_ok=True)
    store = new_store(home / "store")
    place = Workplace(
        store=store,
        home=home / "sandboxes",
        project=project,
        project_home=home,
        user_home=Path("/nonexistent/me"),
        pool=lambda: 1,
    )
    around = (place, DatabaseCopies(now_ns, busy_limit), boot_id)
    return DatabaseWorld(project, store, around, SqliteSandboxes(*around))


def run_sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def rows(path: Path, statement: str = "SELECT * FROM t") -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def content(path: Path) -> object:
    """All that a user can tell of a database, read from a copy so that reading leaves nothing beside it."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        pragmas = ("user_version", "application_id", "page_size", "encoding", "auto_vacuum", "journal_mode")
        told = {name: connection.execute(f"PRAGMA {name}").fetchone() for name in pragmas}
        schema = connection.execute("SELECT * FROM sqlite_schema ORDER BY name").fetchall()
        return list(connection.iterdump()), schema, told


def is_sound(path: Path) -> bool:
    return rows(path, "PRAGMA integrity_check") == [("ok",)]


def beside(path: Path) -> list[str]:
    """What stands in the database's folder under its name or a longer one."""
    return sorted(each.name for each in path.parent.iterdir() if each.name.startswith(path.name))


@contextmanager
def program(code: str, path: Path) -> Generator["subprocess.Popen[str]"]:
    """A process that works on a database; it says when it has begun, and is ended when the block is."""
    child = subprocess.Popen(
        [sys.executable, "-c", code, os.fspath(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "ready\n"
        yield child
    finally:
        child.kill()
        child.stdin.close()
        child.stdout.close()
        child.wait()


WRITER = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
c.execute("PRAGMA synchronous = OFF")
n = 0
while True:
    c.execute("BEGIN IMMEDIATE")
    n += 1
    c.execute("INSERT INTO a VALUES (?, ?)", (n, "x" * 300))
    c.execute("INSERT INTO b VALUES (?, ?)", (n, "y" * 300))
    c.execute("COMMIT")
    if n == 1:
        print("ready", flush=True)
"""  # two tables that hold as many rows, whenever one looks

LOCKER = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN EXCLUSIVE")
c.execute("INSERT INTO t VALUES ('locked')")
print("ready", flush=True)
sys.stdin.readline()
"""

SPILLER = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA cache_size = 1")
c.execute("BEGIN IMMEDIATE")
c.executemany("INSERT INTO t VALUES (?)", [("half done " * 50,)] * 2000)
print("ready", flush=True)
sys.stdin.readline()
"""  # killed, it leaves a journal that has to be rolled back

COMMITTER = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("INSERT INTO t VALUES ('in the wal')")
print("ready", flush=True)
sys.stdin.readline()
"""  # killed, it leaves a -wal that holds what was committed
