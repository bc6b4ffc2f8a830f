"""What the step of a killed run still does is ended before anything is restored."""

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.faults.processes import processes_with
from tests.support.homes import home_of
from tests.support.patience import PATIENCE
from tests.support.users import ROOT_ALONE, USERS, User
from tests.unit.tools.daemons import is_gone_or_zombie

GO_ON = 'if [ -e "$MULLIGAN_VAR_GO_ON" ]; then echo done > b; exit; fi\n'
MARKED = """(setsid sh -c 'while :; do date +%N > b; sleep 0.01; done' &)
echo $$ > started
sleep 60
"""
WIPED = """env -i /usr/bin/setsid /bin/sh -c 'echo $$ > {pid}; {before} while :; do date +%N > {b}; sleep 0.01; done' &
while [ ! -s {pid} ]; do sleep 0.01; done
echo $$ > started
sleep 60
"""
IN_SANDBOX = WIPED.format(pid="pid", before="", b="b")
IN_NO_FOLDER = WIPED.format(pid="pid", before="cd /; exec 1> /dev/null;", b='"$0/b"').replace(
    "' &\n", '\' "$PWD" > /dev/null 2>&1 &\n', 1
)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder on disk that every user can reach, and that is no temporary folder of the tools."""
    with TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


class Killed:
    """A plan whose step runs on, while the runner, its launcher and the launcher's guardian were killed."""

    def __init__(self, user: User, place: Path, command: str, **plan: Any) -> None:
        self.user = user
        self.project = place / "project"
        self.folder = self.project / "app"
        self.folder.mkdir(parents=True)
        self.go_on = place / "go"
        resources = {"app": {"type": "fs-directory", "location": "app", **plan.pop("resource", {})}}
        steps = [
            {"name": "first", "tool": "write_file", "args": {"path": "a", "content": "1"}},
            {"name": "second", "tool": "shell", "args": {"command": GO_ON + command}},
        ]
        variables = {"go-on": str(self.go_on)}
        document = {"name": "writer", "resources": resources, "variables": variables, "steps": steps, **plan}
        (self.project / "plan.yaml").write_text(json.dumps(document))
        user.owns(place)
        runner = user.start_mulligan(self.project, "plan", "execute", "plan.yaml")
        self.sandbox = self._sandbox_with("started")
        self.plan_id = self.user.ask(self.project, "plan", "list")["data"]["plans"][0]["plan_id"]
        launchers = processes_with("MULLIGAN_LAUNCHER", "1")
        own = [pid for pid in processes_with("MULLIGAN_PLAN_ID", self.plan_id) if pid in launchers]
        assert len(own) == 2, "a launcher and its guardian"
        for pid in own:  # none of them learns of the death of another
            os.kill(pid, signal.SIGSTOP)
        for pid in (runner.pid, *own):
            os.kill(pid, signal.SIGKILL)
        runner.wait()

    def _sandbox_with(self, name: str) -> Path:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            sandboxes = [self.folder, *home_of(self.project).glob("sandboxes/*/app")]
            found = [each for each in sandboxes if (each / name).exists() and (each / "b").exists()]
            if found:
                return found[0]
            time.sleep(0.01)
        raise AssertionError("the step never started")

    @property
    def orphan(self) -> int:
        """The process that wiped its environment."""
        return int((self.sandbox / "pid").read_text())

    def resume(self) -> dict[str, Any]:
        """Let the plan continue, with a step that ends at once."""
        self.go_on.touch()
        return self.user.ask(self.project, "plan", "resume", "writer")

    def ends_well(self) -> None:
        """Resume, and see that nothing of the orphan is left, in the system or in the result."""
        answer = self.resume()
        assert answer["data"]["state"] == ("applied" if self.sandbox == self.folder else "complete"), answer
        assert processes_with("MULLIGAN_PLAN_ID", self.plan_id) == []
        assert (self.sandbox / "b").read_text() == "done\n"
        kept = self.project / "kept"
        restored = self.user.ask(self.project, "checkpoint", "restore", "latest", "--to", str(kept))
        assert restored["exit_code"] == 0, restored
        assert (kept / "app" / "b").read_text() == "done\n"
        log = self.user.ask(self.project, "plan", "log", "writer")["data"]["events"]
        assert any("ended a process that a killed run had left running" in str(event) for event in log)


def is_alive(pid: int) -> bool:
    try:
        return b") Z" not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


def end(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    while is_alive(pid):
        time.sleep(0.01)


@pytest.mark.parametrize("name", USERS)
def test_an_orphan_that_keeps_writing_leaves_nothing_in_the_result(name: str, place: Path) -> None:
    killed = Killed(User(name, place), place, MARKED)
    assert processes_with("MULLIGAN_PLAN_ID", killed.plan_id), "nothing survived: the test shows nothing"
    killed.ends_well()


@pytest.mark.parametrize("name", USERS)
@pytest.mark.parametrize("resource", [{}, {"strategy": "in_place"}], ids=["copy", "in place"])
def test_an_orphan_that_wiped_its_environment_leaves_nothing_either(
    name: str, resource: dict[str, str], place: Path
) -> None:
    killed = Killed(User(name, place), place, IN_SANDBOX, resource=resource)
    orphan = killed.orphan
    assert is_alive(orphan), "nothing survived: the test shows nothing"
    killed.ends_well()
    assert not is_alive(orphan)


@pytest.mark.parametrize("isolate", ["auto", "off"])
@pytest.mark.parametrize("name", ROOT_ALONE)
def test_an_orphan_that_is_nowhere_is_found_by_its_control_group(
    name: str, isolate: str, place: Path
) -> None:
    killed = Killed(User(name, place), place, IN_NO_FOLDER, config={"sandbox.isolate": isolate})
    orphan = killed.orphan
    assert os.readlink(f"/proc/{orphan}/cwd") == "/"
    killed.ends_well()
    assert not is_alive(orphan)


def test_an_orphan_of_tools_that_were_not_confined_is_named_before_anything_is_restored(place: Path) -> None:
    """Nothing shows whose it is, where no control group can be made."""
    config = {"sandbox.isolate": "off", "sandbox.at": "own-path"}
    killed = Killed(User("ordinary", place), place, IN_SANDBOX, config=config)
    orphan = killed.orphan
    answer = killed.resume()
    assert (answer["exit_code"], answer["error"]["kind"]) == (1, "process_survives"), answer
    assert answer["error"]["pid"] == orphan
    assert "date +%N" in answer["error"]["command"]
    assert f"`kill {orphan}`" in answer["error"]["hint"]
    assert (killed.sandbox / "started").exists(), "something was restored"
    end(orphan)
    assert killed.resume()["data"]["state"] == "complete"
    assert (killed.sandbox / "b").read_text() == "done\n"


def test_an_orphan_that_sees_the_sandbox_at_the_real_path_is_ended(place: Path) -> None:
    """Whatever it wiped, and though nothing confines it: its mounts show whose it is."""
    killed = Killed(User("ordinary", place), place, IN_SANDBOX, config={"sandbox.isolate": "off"})
    orphan = killed.orphan
    answer = killed.resume()
    assert answer["data"]["state"] == "complete", answer
    assert is_gone_or_zombie(orphan)
    assert (killed.sandbox / "b").read_text() == "done\n"


def test_what_users_do_in_a_sandbox_themselves_is_left_alone(place: Path) -> None:
    """Their shell on a terminal, and a program without one that has a file there open."""
    killed = Killed(User("ordinary", place), place, MARKED)
    controller, terminal = pty.openpty()
    shell = killed.user.start(
        killed.sandbox,
        *("setsid", "--ctty", "sh", "-c", "echo up; sleep 600"),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    editor = killed.user.start(
        killed.sandbox, "setsid", "sh", "-c", "exec 3>> a; echo up; sleep 600", stdout=subprocess.PIPE
    )
    try:
        assert os.read(controller, 10).strip() == b"up"
        assert editor.stdout is not None
        assert editor.stdout.readline() == b"up\n"
        killed.ends_well()
        assert [shell.poll(), editor.poll()] == [None, None]
    finally:
        for each in (shell, editor):
            os.killpg(each.pid, signal.SIGKILL)
            each.wait()
        assert editor.stdout is not None
        editor.stdout.close()
        for descriptor in (controller, terminal):
            os.close(descriptor)
