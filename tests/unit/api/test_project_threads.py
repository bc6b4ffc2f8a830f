"""Several threads use one project at once, and each of them gets what one alone would get."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mulligan.api.project import Project
from tests.faults.projects import project_in

PLAN = "name: {name}\nsteps:\n  - {{name: one, tool: write_file, args: {{path: {name}, content: '1'}}}}\n"
THREADS = 4

Answer = TypeVar("Answer")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    folder = tmp_path / "project"
    folder.mkdir()
    project = project_in(folder)
    project.execute(_plan(project, "small"))
    yield project
    project.close()


def _plan(project: Project, name: str) -> Path:
    file = project.folder / f"{name}.yaml"
    file.write_text(PLAN.format(name=name))
    return file


def _at_once(work: Callable[[int], Answer]) -> list[Answer]:
    """Do the work in all threads, none of which starts before all are there."""
    together = threading.Barrier(THREADS)

    def start(number: int) -> Answer:
        together.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(start, range(THREADS)))


def _open_databases(project: Project) -> int:
    """Count the descriptors of this process that have the database open."""
    database = project.database.stat()
    found = 0
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            st = os.stat(int(descriptor))
        except OSError:
            continue
        found += (st.st_dev, st.st_ino) == (database.st_dev, database.st_ino)
    return found


def test_threads_ask_for_the_status_of_a_plan_at_once(project: Project) -> None:
    alone = project.status("small")
    answers = _at_once(lambda _: [project.status("small") for _ in range(60)])
    assert all(answer == alone for of_thread in answers for answer in of_thread)


def test_threads_look_at_a_plan_in_every_way_at_once(project: Project) -> None:
    checkpoints, config = project.checkpoints, project.config

    def look(_: int) -> tuple[object, ...]:
        return (
            list(project.plans()),
            list(project.log("small")),
            project.history("small"),
            project.tree("small"),
            project.diff("small"),
            list(checkpoints.list("small")),
            checkpoints.verify(),
            config.list(),
            [tool.name for tool in project.tools.list().tools],
        )

    alone = look(0)
    answers = _at_once(lambda number: [look(number) for _ in range(5)])
    for answer in (answer for of_thread in answers for answer in of_thread):
        for one, other in zip(answer, alone, strict=True):
            assert one == other


def test_threads_run_plans_of_their_own_at_once(project: Project) -> None:
    files = [_plan(project, f"plan{number}") for number in range(THREADS)]
    statuses = _at_once(lambda number: project.execute(files[number]))
    assert [(s.name, s.state) for s in statuses] == [(f"plan{n}", "complete") for n in range(THREADS)]
    assert len(project.plans()) == THREADS + 1


def test_writes_of_several_threads_wait_for_each_other(project: Project) -> None:
    files = [_plan(project, f"plan{number}") for number in range(THREADS)]
    _at_once(lambda number: [project.create(files[number]) for _ in range(10)])
    assert len(project.plans()) == 10 * THREADS + 1


def test_changes_of_another_thread_are_news(project: Project) -> None:
    before = project.changes()
    with ThreadPoolExecutor(1) as other:
        other.submit(project.create, _plan(project, "other")).result()
    assert project.changes() != before


def test_threads_that_end_leave_no_connection_open(project: Project) -> None:
    """SQLite keeps the descriptor of a closed connection for the next one while this process has the file locked."""
    for _ in range(10):
        _at_once(lambda _: project.status("small"))
    assert 1 <= _open_databases(project) <= THREADS + 1
    project.close()
    assert _open_databases(project) == 0


def test_a_closed_project_has_no_file_open_and_goes_on_when_it_is_asked(project: Project) -> None:
    with ThreadPoolExecutor(1) as other:
        other.submit(project.status, "small").result()
        project.close()
        assert _open_databases(project) == 0
        assert other.submit(project.status, "small").result().name == "small"
    assert project.status("small").name == "small"


def test_a_look_opens_one_connection(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    connect: Callable[..., Any] = sqlite3.connect

    def counted(*words: object, **options: object) -> object:
        opened.append(words)
        return connect(*words, **options)

    monkeypatch.setattr(sqlite3, "connect", counted)
    project.close()
    project.status("small")
    assert len(opened) == 1
