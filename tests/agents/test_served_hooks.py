"""Hooks that a local server answers: the same outcome as without one, whatever happens to the server."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.local_server.server_place import HOOK_CLIENT
from tests.agents.test_hook import DAMAGES, checkout, entries, plain, seen
from tests.agents.test_redo_after_prompts import refused, undone
from tests.commands.program import data_of
from tests.support.fake_agent import FakeAgent
from tests.support.homes import home_of
from tests.support.patience import wait_until

pytestmark = pytest.mark.processes_measured
__all__ = ["checkout", "plain"]  # fixtures
CLIENT = str(HOOK_CLIENT)
PROGRAM = str(Path(sys.executable).with_name("mulligan"))


class ServedAgent(FakeAgent):
    """An agent whose hooks start the client in C."""

    variables: dict[str, str]

    def hook(self, event: str, *, fault: str = "", **fields: object) -> tuple[int, dict[str, Any]]:
        payload = {"session_id": self.session, "cwd": str(self.folder), "hook_event_name": event, **fields}
        environment = self.environment(fault) | getattr(self, "variables", {})
        called = subprocess.run(
            [CLIENT, PROGRAM, *self.words],
            input=json.dumps(payload).encode(),
            cwd=self.folder,
            env=environment,
            capture_output=True,
            check=False,
        )
        assert b"Traceback" not in called.stderr, called.stderr.decode()
        return called.returncode, json.loads(called.stdout) if called.stdout.strip() else {}


@pytest.fixture(autouse=True)
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="ms-", dir="/tmp") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        monkeypatch.setenv("MULLIGAN_SERVER_START", "never")
        yield


def served(folder: Path) -> int:
    """Start the server of a project; it must know the settings that the agent has in its environment."""
    environment = FakeAgent(folder).environment("")
    command = [sys.executable, "-m", "mulligan", "serve", "--detach", "--format", "json"]
    started = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return int(json.loads(started.stdout)["data"]["pid"])


def requests(folder: Path) -> int:
    status = data_of(folder, "serve", "--status")
    return int(status["requests"]) if status["running"] else -1


def stop(folder: Path) -> None:
    data_of(folder, "serve", "--stop")


def test_one_command_takes_a_prompt_back_byte_for_byte(checkout: Path) -> None:
    agent = ServedAgent(checkout)
    agent.start()
    served(checkout)
    before = seen(checkout)
    for name, damage in DAMAGES.items():
        asked = requests(checkout)
        agent.prompt(name)
        agent.shell(damage)
        agent.stop()
        assert seen(checkout) != before, name
        data_of(checkout, "undo", "--yes")
        assert seen(checkout) == before, name
        if (
            "clean" not in name
        ):  # which removes the way from the folder to the server, until a command finds the home
            assert requests(checkout) >= asked + 4, name
    assert data_of(checkout, "serve", "--status")["watched_trees"] > 0
    stop(checkout)


def test_a_prompt_without_a_change_leaves_what_can_be_redone(checkout: Path) -> None:
    agent = ServedAgent(checkout)
    served(checkout)
    after = undone(agent, checkout)
    with agent.prompted("explain it"):
        agent.shell("cat a.txt")
    data_of(checkout, "redo", "--yes")
    assert seen(checkout) == after
    data_of(checkout, "undo", "--yes")
    with agent.prompted("more"):
        agent.shell("echo new > new")
    assert requests(checkout) >= 8
    assert refused(checkout)
    stop(checkout)


def test_a_server_that_is_killed_between_any_two_events_is_not_missed(plain: Path) -> None:
    agent = ServedAgent(plain)
    pid = served(plain)
    before = seen(plain)

    def kill() -> None:
        nonlocal pid
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not data_of(plain, "serve", "--status")["running"], "the server is gone")
        pid = served(plain)

    agent.start()
    kill()
    agent.prompt("first")
    call = agent.before("echo two > a.txt")
    kill()
    agent.run("echo two > a.txt; echo new > b.txt")
    agent.after(call, "echo two > a.txt")
    os.kill(pid, signal.SIGKILL)  # perhaps before it has recorded what it answered
    agent.stop()
    (entry,) = entries(plain)
    assert (entry["title"], entry["status"] in ("done", "interrupted")) == ("first", True)
    data_of(plain, "undo", "--yes")
    assert seen(plain) == before


def test_events_that_are_not_for_this_server_are_handled_without_it(plain: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    data_of(other, "init")
    served(plain)
    asked = requests(plain)
    elsewhere = ServedAgent(other)
    elsewhere.folder = plain  # the hook starts in one folder, and its payload names another
    payload_of_other = json.dumps(
        {"session_id": "x", "cwd": str(other), "hook_event_name": "SessionStart"}
    ).encode()
    environment = FakeAgent(plain).environment("")
    call = [CLIENT, PROGRAM, "hook", "claude-code"]
    subprocess.run(call, input=payload_of_other, cwd=plain, env=environment, check=True)
    assert [plan["name"] for plan in data_of(other, "list")["plans"]] == ["claude-code"]
    with_setting = ServedAgent(plain)
    with_setting.variables = {"MULLIGAN_SANDBOX_EXCLUDE": "secret"}
    with_setting.start()
    subprocess.run(
        [*call, "--unknown"], input=b"{}", cwd=plain, env=environment, check=False, capture_output=True
    )
    subprocess.run(call, input=b"not JSON", cwd=plain, env=environment, check=True)
    assert requests(plain) >= asked + 4, "it was asked each time"
    assert [plan["name"] for plan in data_of(plain, "list")["plans"]] == ["claude-code"]
    stop(plain)


def test_a_hook_starts_the_server_unless_the_settings_forbid_it(plain: Path) -> None:
    agent = ServedAgent(plain)
    agent.start()
    assert not data_of(plain, "serve", "--status")["running"]
    agent.variables = {"MULLIGAN_SERVER_START": "auto"}
    agent.prompt("first")
    wait_until(lambda: data_of(plain, "serve", "--status")["running"], "a server runs")
    asked = requests(plain)
    agent.shell("echo two > a.txt")
    agent.stop()
    assert requests(plain) >= asked + 3
    (entry,) = entries(plain)
    assert entry["title"] == "first"
    stop(plain)


def test_settings_that_are_changed_count_from_the_next_event_on(checkout: Path) -> None:
    served(checkout)
    data_of(checkout, "config", "set", "agent.databases", "*.db")
    agent = ServedAgent(checkout)
    agent.start()
    plan = data_of(checkout, "list")["plans"][0]["handle"]
    assert len(data_of(checkout, "status", plan)["sandboxes"]) == 2
    stop(checkout)


def test_what_went_wrong_after_a_call_is_said_at_the_next_event(plain: Path) -> None:
    agent = ServedAgent(plain, session=str(plain))  # what went wrong is said once per session
    served(plain)
    agent.start()
    agent.prompt("first")
    call = agent.before("x")
    store = home_of(plain) / "store"
    kept = store.rename(store.with_name("kept"))
    store.write_text("not a folder")
    agent.run("echo two > a.txt")
    agent.after(call, "x")
    _, answer = agent.hook("Stop")
    assert "mulligan could not take a checkpoint" in json.dumps(answer)
    store.unlink()
    kept.rename(store)
    stop(plain)


def follows(server: int) -> bool:
    """Return whether a server waits for the end of a process."""
    found: list[str] = []
    for descriptor in Path(f"/proc/{server}/fd").iterdir():
        with suppress(OSError):
            found.append(os.readlink(descriptor))
    return "anon_inode:[pidfd]" in found


def test_what_the_user_does_after_a_cut_off_command_is_not_its_work(plain: Path) -> None:
    agent = ServedAgent(plain, "3ca5d8d1-0000-4000-8000-0123456789ab")
    server = served(plain)
    agent.start()
    before = seen(plain)
    agent.prompt("first")
    agent.before("make")
    program = "echo one > one; read line; echo two > two"
    command = subprocess.Popen(
        ["/bin/sh", "-c", program],
        cwd=plain,
        env={**os.environ, "CLAUDE_CODE_SESSION_ID": agent.session},
        stdin=subprocess.PIPE,
    )
    wait_until((plain / "one").exists, "the command works")
    assert entries(plain)[0]["status"] == "running"
    wait_until(lambda: follows(server), "the server follows it")
    command.communicate(b"\n")  # it ends, and no hook says so
    wait_until(lambda: entries(plain)[0]["after"] is not None, "the server noticed")
    (plain / "mine").write_text("the user's\n")
    agent.prompt("second")
    (call,) = data_of(plain, "log", "1")["calls"]
    assert (call["status"], call["files"], call["shared"]) == ("interrupted", 2, 0)
    done = data_of(plain, "undo", "1", "--yes")
    assert done["messages"] == []
    assert (plain / "mine").exists()
    (plain / "mine").unlink()
    assert seen(plain) == before
    data_of(plain, "redo", "--yes")
    (plain / "mine").write_text("the user's\n")
    data_of(plain, "undo", "--only", "1.1", "--yes")
    assert sorted(os.listdir(plain)) == [".mulligan", "a.txt", "mine"]
    stop(plain)


def test_a_command_that_goes_on_after_a_look_keeps_its_work(plain: Path) -> None:
    agent = ServedAgent(plain, "3ca5d8d1-0000-4000-8000-0123456789ab")
    server = served(plain)
    agent.start()
    before = seen(plain)
    agent.prompt("first")
    call = agent.before("make")
    marked = {**os.environ, "CLAUDE_CODE_SESSION_ID": agent.session}
    command = subprocess.Popen(
        ["/bin/sh", "-c", "echo one > one; read line"], cwd=plain, env=marked, stdin=subprocess.PIPE
    )
    wait_until((plain / "one").exists, "the command works")
    wait_until(lambda: follows(server), "the server follows it")
    command.communicate(b"\n")
    wait_until(lambda: entries(plain)[0]["after"] is not None, "the server noticed")
    (plain / "two").write_text("by another program of the call\n")
    agent.after(call, "make")  # late
    agent.stop()
    (entry,) = entries(plain)
    assert (entry["status"], entry["files"]) == ("done", 2)
    data_of(plain, "undo", "--yes")
    assert seen(plain) == before
    stop(plain)
