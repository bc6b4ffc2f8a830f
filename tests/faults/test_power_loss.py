"""A power cut at any commit: what was not synced is gone, and no row names any of it.

While a plan runs, every sync is noted. At every commit a disk is built that holds only what was synced by then:
files with the contents they had at their sync, under names that were in their folder at its sync. SQLite syncs
its log with every commit; that it was asked to is looked at here, that it does is its own promise.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mulligan.adapters.db.connection import SqliteConnection
from mulligan.adapters.db.database_file import sqlite_database
from mulligan.boundaries import watch
from mulligan.domain.checkpoints.store_report import Damage
from mulligan.ports import Unobserved
from tests.faults.projects import project_in
from tests.support.homes import home_of, homes_beside
from tests.support.snapshot_world import new_store

PLAN = """\
name: p
resources: {code: {type: fs-directory, location: code}, data: {type: fs-directory, location: data}}
steps:
  - {name: one, tool: shell, args: {command: 'mkdir a; echo 1 > a/one; rm gone'}}
  - {name: two, tool: write_file, resource: data, args: {path: two, content: "2"}}
  - {name: three, tool: shell, args: {command: 'rm -r a; echo 3 > three'}}
"""


class Disk:
    """What of a folder a power cut would leave."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._contents: dict[int, bytes] = {}  # by inode
        self._names: dict[Path, dict[str, int]] = {}  # by folder: the inodes of its entries

    def synced(self, fd: int) -> None:
        """Take note of a sync."""
        path = Path(f"/proc/self/fd/{fd}").readlink()
        if path.is_dir():
            self._names[path] = {entry.name: entry.inode() for entry in os.scandir(path)}
        else:
            self._contents[os.fstat(fd).st_ino] = Path(f"/proc/self/fd/{fd}").read_bytes()

    def survives(self, path: Path) -> bool:
        """Whether the names on the way to it are durable."""
        way = [path, *path.parents]
        below = way[: way.index(self._top)]
        return all(each.name in self._names.get(each.parent, {}) for each in below)

    def build(self, packs: Path, place: Path) -> None:
        """Build the folder of packs as it would be found."""
        place.mkdir(parents=True)
        if self.survives(packs):
            for name, inode in self._names.get(packs, {}).items():
                (place / name).write_bytes(self._contents.get(inode, b""))


def _damage(home: Path, database: Path) -> dict[str, tuple[Damage, ...]]:
    """What is wrong with the snapshots that the rows of a database name."""
    store = new_store(home, boot_id="another")
    rows = sqlite_database(database)
    with rows.reading() as db:
        bases = [sandbox.base for sandbox in db.sandboxes.all()]
        snapshots = [*db.checkpoints.snapshots(), *bases]
    rows.close()
    return {s.id: hurt for s, hurt in store.verify(snapshots, quick=False, observer=Unobserved()).items()}


def _copy_database(home: Path, target: Path) -> Path:
    for name in ("mulligan.db", "mulligan.db-wal"):
        if (home / name).exists():
            (target / name).write_bytes((home / name).read_bytes())
    return target / "mulligan.db"


def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name in ("code", "data"):
        (folder / name).mkdir(parents=True)
        (folder / name / "gone").write_text(name)
    (folder / "plan.yaml").write_text(PLAN)
    homes_beside(folder).mkdir(mode=0o700)  # on the disk whose power is cut
    return folder


class Cuts:
    """Power cuts at every commit of a project."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._disk = Disk(folder.parent)
        really: Callable[[int], None] = os.fsync
        monkeypatch.setattr(os, "fsync", lambda fd: (really(fd), self._disk.synced(fd)))
        fd = os.open(folder.parent, os.O_RDONLY)
        self._disk.synced(fd)  # the project folder itself is the user's
        os.close(fd)
        self.images = 0
        self.hurt: list[object] = []

    def look(self, when: str, act: str) -> None:
        """Cut the power after a commit, and look at what is left."""
        if (when, act) == ("after", "rows.commit"):
            home, image = home_of(self._folder), self._folder.parent / f"image{self.images}"
            self.images += 1
            self._disk.build(home / "store" / "packs", image / "packs")
            assert self._disk.survives(home), "the project home is not durable"
            self.hurt += _damage(image, _copy_database(home, image)).items()


@pytest.fixture(autouse=True)
def nobody_watches() -> Iterator[None]:
    yield
    watch(None)


def test_rows_name_only_what_outlasts_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _folder(tmp_path)
    cuts = Cuts(folder, monkeypatch)
    watch(cuts.look)

    project = project_in(folder)
    project.execute(folder / "plan.yaml")
    project.rollback("p", "first")
    project.checkpoints.prune("p", keep=2)

    assert cuts.hurt == []
    assert cuts.images > 15


class Death(BaseException):
    """The end of a process, as far as it can be had inside another."""


@pytest.mark.parametrize("strategy", ["filesystem_copy", "in_place"])
@pytest.mark.parametrize(("act", "number"), [("home.make", 1), ("folder.make", 1), ("folder.make", 2)])
def test_what_a_killed_process_made_and_never_synced_is_synced_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str, number: int, strategy: str
) -> None:
    folder = _folder(tmp_path)
    (folder / "plan.yaml").write_text(f"{PLAN}config: {{sandbox.strategy: {strategy}}}\n")
    passed: list[str] = []

    def die(when: str, name: str) -> None:
        passed.append(f"{when} {name}")
        if passed.count(f"after {act}") == number:
            raise Death

    cuts = Cuts(folder, monkeypatch)
    watch(die)
    with pytest.raises(Death):
        project_in(folder).execute(folder / "plan.yaml")
    watch(cuts.look)

    project_in(folder).execute(folder / "plan.yaml")

    assert cuts.hurt == []
    assert cuts.images > 10


def _commits(path: Path) -> bytes:
    """A database whose commits are all in its log; gives the log."""
    connection = SqliteConnection(path)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    with connection.transaction(write=True):
        connection.execute("CREATE TABLE t (x)")
    for number in range(5):
        with connection.transaction(write=True):
            connection.execute("INSERT INTO t VALUES (?)", (number,))
            connection.execute("INSERT INTO t VALUES (?)", (number,))
    log = Path(f"{path}-wal").read_bytes()
    (path.parent / "copy.db").write_bytes(path.read_bytes())
    connection.close()
    return log


def _rows(database: Path) -> list[int]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as found:
        if not found.execute("SELECT name FROM sqlite_master").fetchall():
            return []  # not even the first commit
        return [x for (x,) in found.execute("SELECT x FROM t ORDER BY x")]


@pytest.mark.parametrize("tail", [b"", b"\0" * 4096, b"\xff" * 4096])
def test_a_torn_log_gives_whole_commits(tmp_path: Path, tail: bytes) -> None:
    log = _commits(tmp_path / "a.db")
    copy = tmp_path / "copy.db"
    counts: list[int] = []
    for end in [*range(0, len(log), 1021), len(log)]:
        Path(f"{copy}-wal").write_bytes(log[:end] + tail)
        Path(f"{copy}-shm").unlink(missing_ok=True)
        rows = _rows(copy)
        assert rows == [number for number in range(len(rows) // 2) for _ in "12"], end
        counts.append(len(rows))
    assert counts == sorted(counts)  # the more of the log is there, the more commits are
    assert set(counts) == {0, 2, 4, 6, 8, 10}


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    connection = SqliteConnection(tmp_path / "a.db")
    settings = {
        name: next(iter(connection.rows(f"PRAGMA {name}")[0])) for name in ("journal_mode", "synchronous")
    }
    assert settings == {"journal_mode": "wal", "synchronous": 2}
    connection.close()
