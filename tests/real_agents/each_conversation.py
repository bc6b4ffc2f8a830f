"""What holds for every agent over several prompts: it is resumed, forked, and leaves programs running."""

import os

import pytest

from tests.real_agents.agent_programs import PROGRAMS
from tests.real_agents.conftest import Opened
from tests.real_agents.measured import Measured
from tests.real_agents.workplace import Workplace, until

FORKED = [name for name, agent in PROGRAMS.items() if agent.forked is not None]


def plans(place: Workplace) -> list[tuple[str, str]]:
    """Return the prompts, the newest first, each with the name of its session."""
    return [(entry["title"], entry["handle"].partition("@")[0]) for entry in place.log()]


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_resumed_session_goes_on_and_its_prompts_and_calls_go_one_by_one(
    name: str, at_work: Opened
) -> None:
    with at_work(name) as place:
        before = place.seen()
        place.prompt("Work first", place.agent.shell("echo 1 > first.txt"))
        between = place.seen()
        calls = (
            place.agent.shell("echo 2 > second.txt"),
            place.agent.shell("rm first.txt; echo 3 > third.txt"),
        )
        place.prompt("Work second", *calls, how=place.agent.continued)
        until(lambda: place.log()[0]["status"] == "done", "the second prompt is over")
        after = place.seen()
        assert plans(place) == [("Work second", name), ("Work first", name)]
        listed = place.mulligan("log", "2")["calls"]
        assert [(call["name"], call["files"]) for call in listed] == [("2.1", 1), ("2.2", 2)]
        place.mulligan("undo", "--only", "2.2", "--yes")
        there = {path.name for path in place.folder.iterdir()}
        assert {"first.txt", "second.txt"} <= there
        assert "third.txt" not in there
        place.mulligan("redo", "--yes")
        assert place.seen() == after
        place.mulligan("undo", "--only", "2", "--yes")
        assert place.seen() == between
        place.mulligan("redo", "--yes")
        place.mulligan("undo", "--only", name, "--yes")
        assert place.seen() == before
        place.mulligan("redo", "--yes")
        assert place.seen() == after


@pytest.mark.parametrize("name", FORKED)
def test_a_forked_session_is_another_and_each_goes_alone(name: str, at_work: Opened) -> None:
    with at_work(name) as place:
        place.prompt("Work first", place.agent.shell("echo 1 > first.txt"))
        between = place.seen()
        assert place.agent.forked is not None
        place.prompt("Work second", place.agent.shell("echo 2 > second.txt"), how=place.agent.forked)
        until(lambda: place.log()[0]["status"] == "done", "the second prompt is over")
        assert plans(place) == [("Work second", f"{name}-2"), ("Work first", name)]
        place.mulligan("undo", "--only", f"{name}-2", "--yes")
        assert place.seen() == between


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_program_that_a_command_left_running_is_named_and_ended(
    name: str, at_work: Opened, measured: Measured
) -> None:
    with at_work(name) as place:
        before = place.seen()
        pid_file = place.scene.home / "pid"
        started = f"setsid sleep 3600 > /dev/null 2>&1 < /dev/null & echo $! > {pid_file}"
        place.prompt("Begin something", place.agent.shell(f"rm .env; {started}"))
        pid = int(pid_file.read_text())
        try:
            if not os.path.exists(f"/proc/{pid}"):  # the agent ended it itself
                measured.keep(f"{name} left", "ended by the agent")
                return
            preview = place.mulligan("undo", "1", "--dry-run")["processes"]
            assert {process["call"] for process in preview} == {"1.1"}, preview
            measured.keep(f"{name} left", "named")
            done = place.mulligan("undo", "1", "--end-processes", "--yes")["processes"]
            assert all(process["ended"] for process in done)
            until(lambda: not os.path.exists(f"/proc/{pid}"), "it is gone")
            assert place.seen() == before
        finally:
            if os.path.exists(f"/proc/{pid}"):
                os.kill(pid, 9)
