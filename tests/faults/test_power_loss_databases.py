"""A power cut while a real database is written: it holds what it held or what is wanted, and rows tell which.

Every write and sync of SQLite is noted. After each of them disks are built that hold what was synced and none,
all or any part of the rest, and SQLite opens what is on them.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mulligan.api.project import Project
from mulligan.boundaries import watch
from mulligan.errors import ChangedMeanwhile
from mulligan.ports import Unobserved
from tests.faults.projects import project_in, services_of
from tests.support.homes import home_of, homes_beside
from tests.support.recorded_disk import RecordedDisk, recorded

COPIED = """name: p
resources: {data: {type: sqlite, location: data/app.db}}
steps:
  - {name: rows, tool: sql, args: {statements: ["UPDATE t SET x = x || 'plan'", "INSERT INTO t VALUES ('plan')"]}}
"""
IN_PLACE = """name: p
config: {sandbox.strategy: in_place}
resources: {folder: {type: fs-directory, location: data}, data: {type: sqlite, location: data/app.db}}
steps:
  - {name: rows, tool: sql, resource: data, args: {statements: ["UPDATE t SET x = x || 'plan'"]}}
"""
ROWS = [(f"{number} {'x' * 900}",) for number in range(20)]  # several pages


def make(folder: Path, plan: str, mode: str) -> Path:
    """A project with a plan that is complete; gives the real database."""
    file = folder / "data" / "app.db"
    file.parent.mkdir(parents=True)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(f"PRAGMA journal_mode = {mode}")
        database.execute("CREATE TABLE t (x)")
        database.executemany("INSERT INTO t VALUES (?)", ROWS)
    (folder / "plan.yaml").write_text(plan)
    done = "applied" if plan == IN_PLACE else "complete"
    assert project_in(folder).execute(folder / "plan.yaml").state == done
    return file


def rows_of(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [x for (x,) in database.execute("SELECT x FROM t ORDER BY x")]


class Cuts:
    """What power cuts leave of a database while something is done to it, and of the rows that tell of that."""

    def __init__(self, disk: RecordedDisk, real: Path, home: Path, place: Path) -> None:
        self._disk = disk
        self._real = real
        self._home = home
        self._place = place
        place.mkdir()

    def check(self, before: list[str], after: list[str]) -> tuple[int, int]:
        """Cut the power after each act of SQLite; gives how many disks held what was there, and what is wanted."""
        found = {False: 0, True: 0}
        first = next(at for at, note in enumerate(self._disk.notes) if self._is_real(note.path))
        assert self._is_intended(first), "written before that was recorded"
        for moment in range(first, len(self._disk.notes) + 1):
            settled = not self._is_intended(moment)
            for image in self._disk.images(moment, seeds=1):
                rows = self._rows(image)
                assert rows == after or (rows == before and not settled), (
                    moment,
                    self._disk.notes[moment - 1],
                )
                found[rows == after] += 1
        assert not self._is_intended(len(self._disk.notes))
        return found[False], found[True]

    def _is_real(self, path: str) -> bool:
        return path.startswith(str(self._real))

    def _rows(self, image: dict[str, bytes]) -> list[str]:
        return rows_of(self._built(image, self._real))

    def _is_intended(self, moment: int) -> bool:
        """Whether rows that outlast a power cut say that something is to be done."""
        image = next(self._disk.images(moment, seeds=0))
        with closing(sqlite3.connect(self._built(image, self._home / "mulligan.db"))) as database:
            return database.execute("SELECT count(*) FROM intents").fetchone() != (0,)

    def _built(self, image: dict[str, bytes], file: Path) -> Path:
        for old in self._place.iterdir():
            old.unlink()
        for path, data in image.items():
            if path.startswith(str(file)) and not path.endswith("-shm"):
                (self._place / Path(path).name).write_bytes(data)
        return self._place / file.name


def test_what_another_program_commits_in_the_very_moment_is_kept_and_named(tmp_path: Path) -> None:
    for mode in ("delete", "wal"):
        real = make(tmp_path / mode, COPIED, mode)
        for moment in ("restore.stage", "database.write"):
            commit_at(moment, real, f"by another, at {moment}")
            with pytest.raises(ChangedMeanwhile) as stopped:
                project_in(tmp_path / mode).apply("p")
            assert str(real) in str(stopped.value.facts["paths"])
            assert f"by another, at {moment}" in rows_of(real)
            assert not any("plan" in row for row in rows_of(real))
            with closing(sqlite3.connect(real)) as database, database:
                database.execute("DELETE FROM t WHERE x LIKE 'by another%'")
        assert project_in(tmp_path / mode).apply("p")[1].error is None
        assert "plan" in rows_of(real)


def commit_at(moment: str, file: Path, row: str) -> None:
    """Let another program write a row right before the first act of that name after all was looked at and recorded."""
    passed: set[str] = set()

    def strike(when: str, act: str) -> None:
        if (when, act) == ("before", moment) and "apply.ready" in passed:
            watch(None)
            with closing(sqlite3.connect(file)) as database, database:
                database.execute("INSERT INTO t VALUES (?)", (row,))
        passed.add(act)

    watch(strike)


DONE: dict[str, tuple[str, Callable[[Project], object]]] = {
    "an apply": (COPIED, lambda project: project.apply("p")),
    "a rollback in place": (IN_PLACE, lambda project: project.rollback("p", "first")),
}


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("what", DONE)
def test_it_is_as_before_or_as_wanted(
    what: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "place" / "project"
    homes_beside(folder).mkdir(mode=0o700, parents=True)
    plan, do = DONE[what]
    real = make(folder, plan, mode)
    before = rows_of(real)
    disk = RecordedDisk(folder.parent)
    services = services_of(folder)
    with recorded(disk, monkeypatch):
        project = Project(services=services, observer=Unobserved())
        do(project)
        services.adapters.database.close()
    after = rows_of(real)
    assert before != after
    cuts = Cuts(disk, real, home_of(folder), tmp_path / "image")
    was, became = cuts.check(before, after)
    assert was > 10
    assert became > 3
