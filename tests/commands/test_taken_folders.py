"""A folder on which a plan runs in place: what else would change it is refused, and goes on afterwards."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mulligan
from mulligan.domain.history.timeline_entry import DeedKind
from tests.commands.program import ask, data_of
from tests.commands.timelines import plain_folder
from tests.support.homes import home_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plain_folder(tmp_path)


def test_while_a_session_works_in_place_nothing_else_changes_its_folder(folder: Path) -> None:
    (folder / "made").write_text("before\n")
    data_of(folder, "run", "--name", "ready", "--", "sh", "-c", "echo two >> a.txt")
    with (
        closing(mulligan.open(folder)) as project,
        project.session("busy", resources={"here": mulligan.directory(".", in_place=True)}) as session,
    ):
        with session.step("first"):
            (folder / "made").write_text("by the session\n")
        refused = ask(folder, "run", "--in-place", "--", "true")
        assert (refused["exit_code"], refused["error"]["kind"]) == (125, "location_taken")
        for words in (
            ("apply", "--yes", "ready"),
            ("restore", "--yes", "ready@1", "made"),
            ("undo", "--yes", "busy"),
        ):
            refused = ask(folder, *words)
            assert (refused["exit_code"], refused["error"]["kind"]) in (
                (3, "location_taken"),
                (3, "plan_busy"),
            ), words
            assert "mulligan cancel " in refused["error"]["hint"]
        data_of(folder, "run", "--", "cat", "made")  # a copy is no change
    data_of(folder, "apply", "--yes", "ready")
    data_of(folder, "run", "--in-place", "--", "true")


def test_a_window_of_the_timeline_is_of_kinds_plans_and_paths(folder: Path) -> None:
    data_of(
        folder, "run", "--name", "one", "--apply", "--", "sh", "-c", "echo 1 > one; mkdir d; echo 2 > d/two"
    )
    data_of(folder, "run", "--in-place", "--name", "two", "--", "sh", "-c", "echo 3 > three")
    with closing(mulligan.open(folder)) as project:

        def numbers(**wish: object) -> list[int]:
            window: Any = project.timeline_window
            return [entry.number for entry in window(limit=10, **wish).entries]

        assert numbers() == [3, 2, 1]
        assert numbers(kinds=[DeedKind.APPLY]) == [2]
        assert numbers(agent="two") == [3]
        assert numbers(agent="claude-code") == []
        assert numbers(path="d/two") == [2, 1]
        assert numbers(path="d") == [2, 1]
        assert numbers(path=".") == [3, 2, 1]
        assert numbers(path="nowhere") == []
        assert numbers(before=3, kinds=[DeedKind.RUN]) == [1]
        first = project.timeline_window(limit=1)
        assert ([entry.number for entry in first.entries], first.before) == ([3], 3)
        last = project.timeline_window(limit=1, before=2)
        assert ([entry.number for entry in last.entries], last.before) == ([1], None)
    shutil.rmtree(home_of(folder) / "store" / "packs")  # damage prevents no look
    with closing(mulligan.open(folder)) as project:
        assert [entry.number for entry in project.timeline_window(limit=9).entries] == [3, 2, 1]
        assert project.timeline_window(limit=9, path="d").entries == ()
