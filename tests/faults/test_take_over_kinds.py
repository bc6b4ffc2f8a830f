"""A process that stands still inside of an act, whose plan is taken, wakes up: checkouts, databases, children."""

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mulligan import boundaries
from mulligan.adapters import plan_locks as locks
from mulligan.adapters.sandboxes.git.position import index_lock
from mulligan.adapters.tools.process import survivors
from mulligan.api.project import Project
from mulligan.domain.plans.plan import State
from mulligan.errors import MulliganError, ResourceUnsuitable
from tests.faults.projects import project_in
from tests.faults.trials import picture_without_times
from tests.support.git_world import repository_picture, run_git
from tests.support.homes import home_of
from tests.support.snapshot_world import picture

COPIED = """name: p
resources:
  repo: {type: git-checkout, location: repo}
  rows: {type: sqlite, location: repo/app.db}
steps:
  - name: change
    tool: shell
    args:
      command: |
        rm gone; echo new > kept; mkdir made; echo 1 > made/file; git add -A
        export GIT_AUTHOR_DATE=2026-01-02T00:00:00Z GIT_COMMITTER_DATE=2026-01-02T00:00:00Z
        git -c user.name=x -c user.email=x@x commit -qm plan
  - {name: rows, tool: sql, resource: rows, args: {statements: [INSERT INTO t VALUES (2)]}}
  - {name: last, tool: write_file, args: {path: last, content: "3"}}
"""
FIRST = "2026-01-01T00:00:00Z"
IN_PLACE = COPIED.replace("name: p\n", "name: p\nconfig: {sandbox.strategy: in_place}\n")
FAMILY = """name: p
resources: {code: {type: fs-directory, location: repo}}
steps:
  - name: parts
    subplans:
      max_parallel: 1
      plans:
        - {name: left, steps: [{name: do, tool: shell, args: {command: "rm gone; echo left > made"}}]}
        - {name: right, steps: [{name: do, tool: write_file, args: {path: right, content: "1"}}]}
"""


@pytest.fixture(autouse=True)
def nobody_watches() -> Iterator[None]:
    yield
    boundaries.watch(None)


class Stopped:
    """A process that stands still at an act, and can be woken."""

    def __init__(self, work: Callable[[], object], moment: str, *, looked: bool, said: Path) -> None:
        self._said = said
        sys.stdout.flush()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                with _stopping_at(moment, looked=looked):
                    work()
                said.write_text("done")
            except MulliganError as exc:
                said.write_text(exc.kind)
            finally:
                os._exit(0)
        _, status = os.waitpid(self._pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), said.read_text()

    def leave(self, database: Path) -> None:
        """Let it go on until it does not have the database locked: another of its threads may have written."""
        while _is_locked(database):
            os.kill(self._pid, signal.SIGCONT)
            time.sleep(0.01)
            os.kill(self._pid, signal.SIGSTOP)
            os.waitpid(self._pid, os.WUNTRACED)

    def wake(self) -> str:
        """Let it go on to its end; gives how that was."""
        os.kill(self._pid, signal.SIGCONT)
        os.waitpid(self._pid, 0)
        return self._said.read_text()


def _is_locked(database: Path) -> bool:
    with closing(sqlite3.connect(database, timeout=0.2, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        connection.execute("ROLLBACK")
        return False


@contextmanager
def _stopping_at(moment: str, *, looked: bool) -> Generator[None]:
    """Stand still at the first act of that name: before it is asked whether this may go on, or right after.

    Once what is to be done is recorded: a step, or a rollback.
    """
    come_to: list[str] = []
    passed: set[str] = set()

    def stop() -> None:
        boundaries.watch(None)
        os.kill(os.getpid(), signal.SIGSTOP)

    def strike(when: str, act: str) -> None:
        passed.add(act)
        if f"{when}:{act}" == moment and passed & {"return.ready", "call.run"}:
            come_to.append(act) if looked else stop()

    def look_last() -> None:
        if come_to:
            come_to.clear()
            stop()

    boundaries.watch(strike)
    with boundaries.guarded(look_last):  # older than all others
        yield


def make(folder: Path, plan: str) -> Project:
    """A checkout with a database in it, and a plan."""
    repo = folder / "repo"
    repo.mkdir()
    for name in ("gone", "kept"):
        (repo / name).write_text(name)
    with closing(sqlite3.connect(repo / "app.db")) as database:
        database.executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1);")
    (repo / ".gitignore").write_text("*.db\n")
    for words in ("init -q -b main", "add -A", "commit -qm first"):
        run_git(repo, *words.split(), GIT_AUTHOR_DATE=FIRST, GIT_COMMITTER_DATE=FIRST)
    (folder / "plan.yaml").write_text(plan)
    return project_in(folder)


def everything(folder: Path) -> dict[str, object]:
    """All rows, every byte of the sandboxes with its times, and the user's repository."""
    home = home_of(folder)
    with closing(sqlite3.connect(home / "mulligan.db")) as database:
        rows = list(database.iterdump())
    sandboxes = {  # folders beside sandboxes are for work in progress, and the time of theirs tells of that
        name: what
        for name, what in picture(home / "sandboxes").items()
        if name.count(b"/") > 1 and not name.split(b"/")[2].startswith(b".")
    }
    assert sandboxes or "in_place" in (folder / "plan.yaml").read_text()
    return {
        "rows": rows,
        "sandboxes": sandboxes,
        "repository": repository_picture(folder / "repo", pins=True),
        "files": picture(folder / "repo"),
    }


@pytest.fixture
def unkillable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can be ended, as one that waits for a disk which never answers."""
    monkeypatch.setattr(locks.FilePlanLocks, "_is_ours_to_end", lambda *_: False)
    monkeypatch.setattr(
        survivors, "PATIENCE", 0.3
    )  # a launcher whose runner stands still does not end by itself


ROLLBACK = [
    ("before:restore.remove", True),
    ("before:restore.place", True),
    ("before:database.place", True),
    ("before:return.settle", False),
]


@pytest.mark.usefixtures("unkillable")
@pytest.mark.parametrize(("moment", "looked"), ROLLBACK)
def test_one_stopped_inside_of_a_rollback_of_a_checkout(moment: str, looked: bool, tmp_path: Path) -> None:
    project = make(tmp_path, COPIED)
    undisturbed = picture_without_times(Path(project.execute(tmp_path / "plan.yaml").sandboxes[0].path))
    user = repository_picture(tmp_path / "repo")
    stopped = Stopped(
        lambda: project_in(tmp_path).rollback("p", "first"), moment, looked=looked, said=tmp_path / "said"
    )
    status, _ = project_in(tmp_path).resume("p", take_over=True)
    assert status.state is State.COMPLETE
    before = everything(tmp_path)
    assert stopped.wake() == "plan_taken_over"
    assert everything(tmp_path) == before
    assert picture_without_times(Path(status.sandboxes[0].path)) == undisturbed
    assert repository_picture(tmp_path / "repo") == user
    assert project_in(tmp_path).checkpoints.verify().damaged == ()


STEPS = [
    ("before:call.start", False),
    ("before:git.name", True),
    ("before:group.record", True),
]


@pytest.mark.usefixtures("unkillable")
@pytest.mark.parametrize(("moment", "looked"), STEPS)
def test_one_stopped_inside_of_a_step_on_a_checkout(moment: str, looked: bool, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    twin.mkdir()
    undisturbed = picture_without_times(
        Path(make(twin, COPIED).execute(twin / "plan.yaml").sandboxes[0].path)
    )
    folder = tmp_path / "stopped"
    folder.mkdir()
    make(folder, COPIED).create(folder / "plan.yaml")
    user = repository_picture(folder / "repo")
    first = project_in(folder)
    stopped = Stopped(lambda: first.execute("p"), moment, looked=looked, said=tmp_path / "said")
    status, _ = project_in(folder).resume("p", take_over=True)
    assert status.state is State.COMPLETE
    before = everything(folder)
    assert stopped.wake() == "plan_taken_over"
    assert everything(folder) == before
    assert picture_without_times(Path(status.sandboxes[0].path)) == undisturbed
    assert repository_picture(folder / "repo") == user


@pytest.mark.usefixtures("unkillable")
@pytest.mark.parametrize("moment", ["before:restore.place", "before:database.write"])
def test_one_stopped_inside_of_a_rollback_in_place(moment: str, tmp_path: Path) -> None:
    project = make(tmp_path, IN_PLACE)
    project.execute(tmp_path / "plan.yaml")
    undisturbed = picture_without_times(tmp_path / "repo")
    stopped = Stopped(
        lambda: project_in(tmp_path).rollback("p", "first"), moment, looked=False, said=tmp_path / "said"
    )
    status, _ = project_in(tmp_path).resume("p", take_over=True)
    assert status.state is State.APPLIED
    before = everything(tmp_path)
    assert stopped.wake() == "plan_taken_over"
    assert everything(tmp_path) == before
    assert picture_without_times(tmp_path / "repo") == undisturbed


@pytest.mark.usefixtures("unkillable")
def test_one_that_holds_the_lock_of_a_user_s_index_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may still write to it has it locked: the rollback is finished when it let go."""
    monkeypatch.setattr(index_lock, "_PATIENCE", 0.2)
    project = make(tmp_path, IN_PLACE)
    project.execute(tmp_path / "plan.yaml")
    undisturbed = picture_without_times(tmp_path / "repo")
    stopped = Stopped(
        lambda: project_in(tmp_path).rollback("p", "first"),
        "before:position.move",
        looked=False,
        said=tmp_path / "said",
    )
    with pytest.raises(ResourceUnsuitable, match=r"index\.lock"):
        project_in(tmp_path).resume("p", take_over=True)
    assert stopped.wake() == "plan_taken_over"
    assert not (tmp_path / "repo" / ".git" / "index.lock").exists()
    assert project_in(tmp_path).resume("p")[0].state is State.APPLIED
    assert picture_without_times(tmp_path / "repo") == undisturbed


@pytest.mark.usefixtures("unkillable")
def test_the_children_of_a_plan_are_taken_with_it(tmp_path: Path) -> None:
    project = make(tmp_path, FAMILY)
    project.create(tmp_path / "plan.yaml")
    first = project_in(tmp_path)
    stopped = Stopped(lambda: first.execute("p"), "after:call.run", looked=False, said=tmp_path / "said")
    stopped.leave(project.database)
    status, _ = project_in(tmp_path).resume("p", take_over=True)
    assert status.state is State.COMPLETE
    assert (Path(status.sandboxes[0].path) / "made").read_text() == "left\n"
    before = everything(tmp_path)
    assert stopped.wake() == "plan_taken_over"
    assert everything(tmp_path) == before
