"""Processes that a command of an agent left running: named, ended on request, and never those of somebody else."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.agents.agent_processes import end_process, processes_of
from mulligan.domain.agents.left_process import TICKS
from tests.agents.test_hook import plain, seen
from tests.commands.program import data_of
from tests.support.fake_agent import FakeAgent
from tests.support.patience import wait_until

pytestmark = pytest.mark.processes_measured

__all__ = ["plain"]  # a fixture
SESSION = "3ca5d8d1-0000-4000-8000-0123456789ab"
_WAITING = "print(flush=True); import time; time.sleep(600)"
_STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {_WAITING}"


class Programs:
    """Programs that run until the test ends."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []
        self.children: list[int] = []

    def start(
        self, folder: Path, more: Mapping[str, str], script: str = _WAITING, stdin: int | None = None
    ) -> int:
        """Start one, and return its pid once it runs."""
        environment = {**os.environ, **more}
        program = subprocess.Popen(
            [sys.executable, "-S", "-c", script],
            cwd=folder,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
        )
        self.started.append(program)
        assert program.stdout is not None
        program.stdout.readline()
        return program.pid

    def goes_on(self, pid: int) -> int:
        """Let one fork, and return the pid of its child."""
        program = next(each for each in self.started if each.pid == pid)
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(b"\n")
        program.stdin.close()
        child = int(program.stdout.readline())
        self.children.append(child)
        return child

    def runs(self, pid: int) -> bool:
        return next(each for each in self.started if each.pid == pid).poll() is None


@pytest.fixture
def programs() -> Iterator[Programs]:
    found = Programs()
    yield found
    for child in found.children:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    for program in found.started:
        with suppress(ProcessLookupError):
            os.kill(program.pid, signal.SIGKILL)
        program.wait()
        assert program.stdout is not None
        program.stdout.close()


def _now() -> datetime:
    return datetime.now(UTC)


MARK = {"CLAUDE_CODE_SESSION_ID": SESSION}


def test_what_a_cut_off_call_left_running_is_named_and_ended_on_request(
    plain: Path, tmp_path: Path, programs: Programs
) -> None:
    agent = FakeAgent(plain, SESSION)
    agent.start()
    earlier = programs.start(plain, MARK)
    agent.prompt("first")
    agent.shell("echo kept > kept")
    before = seen(plain)
    agent.prompt("second")
    agent.before("make")
    agent.run("echo new > new")
    left = programs.start(plain, MARK)
    mine = programs.start(plain, {})
    elsewhere = programs.start(tmp_path, MARK)
    said = agent.prompt("third")["systemMessage"]
    time.sleep(
        3 * TICKS.total_seconds()
    )  # the system knows when a process started to some hundredths of a second
    later = programs.start(plain, MARK)
    assert f"kill {left}" in said
    assert not any(str(pid) in said for pid in (earlier, mine, elsewhere))
    (named,) = data_of(plain, "undo", "2", "--dry-run")["processes"]
    assert (named["pid"], named["call"], named["ended"]) == (left, "2.1", False)
    (named,) = data_of(plain, "undo", "--only", "2.1", "--dry-run", "--end-processes")["processes"]
    assert programs.runs(left)
    (ended,) = data_of(plain, "undo", "2", "--end-processes", "--yes")["processes"]
    assert (ended["pid"], ended["ended"]) == (left, True)
    wait_until(lambda: not programs.runs(left), "it is gone")
    assert all(programs.runs(pid) for pid in (earlier, mine, elsewhere, later))
    assert seen(plain) == before


def test_what_still_runs_is_said_when_it_is_not_ended(plain: Path, programs: Programs) -> None:
    agent = FakeAgent(plain, SESSION)
    agent.start()
    agent.prompt("first")
    agent.before("make")
    agent.run("echo new > new")
    left = programs.start(plain, MARK)
    (named,) = data_of(plain, "undo", "--only", "1.1", "--yes")["processes"]
    assert (named["pid"], named["ended"]) == (left, False)
    assert programs.runs(left)


def test_a_stubborn_process_is_killed_and_another_one_with_its_number_never(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mulligan.adapters.agents.agent_processes._PATIENCE", 0.2)
    pid = programs.start(tmp_path, MARK, _STUBBORN)
    (found,) = processes_of(SESSION, (), str(tmp_path), _now)
    other = replace(found, ticks=found.ticks + 1)
    assert end_process(other)
    assert programs.runs(pid)
    assert end_process(found)
    wait_until(lambda: not programs.runs(pid), "it is gone")
    assert end_process(found)


@pytest.mark.parametrize("words", [(), ("--project", "here")], ids=["serve", "serve of a project"])
def test_short_ids_and_processes_of_mulligan_are_not_recognised(
    tmp_path: Path, programs: Programs, words: tuple[str, ...]
) -> None:
    programs.start(tmp_path, {"CLAUDE_CODE_SESSION_ID": "s1"})
    assert processes_of("s1", (), str(tmp_path), _now) == []
    script = tmp_path / "mulligan"
    script.write_text(_WAITING)
    program = subprocess.Popen(
        [sys.executable, "-S", "-P", str(script), *words, "serve"],
        cwd=tmp_path,
        env={**os.environ, **MARK},
        stdout=subprocess.PIPE,
    )
    programs.started.append(program)
    assert program.stdout is not None
    program.stdout.readline()
    assert processes_of(SESSION, (), str(tmp_path), _now) == []


class Gemini:
    """A session of Gemini CLI, whose commands do not know its id."""

    MARKS: Mapping[str, str] = {"GEMINI_CLI": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}

    def __init__(self, folder: Path, session: str) -> None:
        self.agent = FakeAgent(folder, session, "gemini-cli")
        self.agent.hook("SessionStart", source="startup")
        self.agent.hook("BeforeAgent", prompt="Begin it")

    def call(self, event: str) -> None:
        self.agent.hook(event, tool_name="run_shell_command", tool_input={"command": "x"})
        if event == "BeforeTool":
            (self.agent.folder / f"{len(os.listdir(self.agent.folder))}.txt").write_text("called\n")


def test_commands_without_the_id_of_their_session_are_those_of_the_only_session_at_work(
    plain: Path, programs: Programs
) -> None:
    starts = (
        f"import os, sys; print(flush=True); sys.stdin.readline(); print(os.fork(), flush=True); {_WAITING}"
    )
    first = Gemini(plain, SESSION)
    earlier = programs.start(plain, Gemini.MARKS)
    first.call("BeforeTool")
    programs.start(plain, {"GEMINI_CLI": "1"})  # a server of tools
    left = programs.start(plain, Gemini.MARKS, starts, subprocess.PIPE)
    first.call("AfterTool")
    second = Gemini(plain, SESSION[::-1])
    second.call("BeforeTool")
    child = programs.goes_on(left)  # the work of the first, although it begins now
    theirs = programs.start(plain, Gemini.MARKS)
    first.call("BeforeTool")
    of_either = programs.start(plain, Gemini.MARKS)
    second.call("AfterTool")
    first.call("AfterTool")
    named = {
        entry["handle"].partition("@")[0]: {
            (process["pid"], process["call"])
            for process in data_of(plain, "undo", str(entry["number"]), "--dry-run")["processes"]
        }
        for entry in data_of(plain, "log")["entries"]
    }
    assert named == {"gemini-cli": {(left, "1.1"), (child, "1.1")}, "gemini-cli-2": {(theirs, "2.1")}}
    ended = data_of(plain, "undo", "2", "--end-processes", "--yes")["processes"]
    assert [(process["pid"], process["ended"]) for process in ended] == [(theirs, True)]
    wait_until(lambda: not programs.runs(theirs), "it is gone")
    assert all(programs.runs(pid) for pid in (earlier, left, of_either))
