"""A disk that is full in the middle of an apply: everything real is as before, and it works once there is room."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from mulligan.domain.plans.plan import Phase, State
from mulligan.errors import MulliganError
from tests.faults.projects import project_in
from tests.faults.trials import picture_without_times
from tests.support.git_world import run_git
from tests.support.small_disk import PAGE, SmallDisk, small_disk

PLAN = """name: p
resources:
  site: {type: git-checkout, location: site}
  rows: {type: sqlite, location: rows.db}
steps:
  - name: change
    tool: shell
    args: {command: "for n in 1 2 3 4 5 6; do head -c 20000 /dev/urandom > new$n; done; rm gone; echo plan >> text"}
  - {name: rows, tool: sql, resource: rows, args: {statements: ["UPDATE t SET x = randomblob(20000)"]}}
"""


@pytest.fixture
def disk(tmp_path: Path) -> Generator[SmallDisk]:
    with small_disk(tmp_path / "disk", 8 << 20) as made:
        yield made


def seen(folder: Path) -> tuple[object, ...]:
    """All that a user sees of the real resources."""
    site = folder / "site"
    with closing(sqlite3.connect(folder / "rows.db")) as database:
        rows = database.execute("SELECT x FROM t").fetchall()
    files = {name: what for name, what in picture_without_times(site).items() if b"refs/mulligan" not in name}
    return files, rows, run_git(site, "status", "--porcelain"), run_git(site, "log")


def test_all_is_as_before_until_there_is_room(disk: SmallDisk) -> None:
    folder = disk.path / "project"
    site = folder / "site"
    site.mkdir(parents=True)
    for name in ("text", "gone"):
        (site / name).write_text(name)
    for words in (
        "init -q -b main",
        "config user.name U",
        "config user.email u@h",
        "add -A",
        "commit -qm first",
    ):
        run_git(site, *words.split())
    with closing(sqlite3.connect(folder / "rows.db")) as database, database:
        database.execute("CREATE TABLE t (x)")
        database.executemany("INSERT INTO t VALUES (?)", [(os.urandom(20_000),) for _ in range(5)])
    (folder / "plan.yaml").write_text(PLAN)
    assert project_in(folder).execute(folder / "plan.yaml").state is State.COMPLETE
    before, failed, room = seen(folder), [], 0
    while True:
        disk.leave(room)
        try:
            _, done = project_in(folder).apply("p")
        except MulliganError as exc:
            failed.append(exc)
        else:
            break
        finally:
            disk.make_room()
        assert seen(folder) == before, (room, failed[-1].text)
        room += 24 * PAGE
    assert done.error is None
    assert len(failed) > 3
    for failure in failed:
        assert "No space left" in failure.text or "full" in failure.text, failure.text
        assert failure.next_step
    status = project_in(folder).status("p")
    assert (status.phase, status.state) == (Phase.APPLY, State.APPLIED)
    assert run_git(site, "log", "--format=%s").split() == ["p", "first"]
    assert (site / "text").read_text() == "textplan\n"
    assert project_in(folder).checkpoints.verify().damaged == ()
