"""A local server at the limits of the system: too few watches, a full disk. Hooks and commands lose nothing by it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.served import BEFORE, trial
from tests.support.patience import wait_until
from tests.support.small_disk import small_disk

MIB = 1 << 20
_FOLDERS = 300
_FILES = 2_100  # of a tree that is worth asking a server about
_FEW = f"echo 20 > /proc/sys/user/max_inotify_watches && exec {sys.executable} -m mulligan serve"


@pytest.fixture
def _limits() -> None:
    """Skip where no limit of a process can be lowered."""
    lowered = ["unshare", "-U", "-r", "sh", "-c", "echo 20 > /proc/sys/user/max_inotify_watches"]
    try:
        done = subprocess.run(lowered, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if done.returncode:
        pytest.skip("no user namespace can be made here")


@contextmanager
def short_of_watches(folder: Path, environment: dict[str, str]) -> Iterator[int]:
    """Serve with a limit of the system that the tree exceeds."""
    server = subprocess.Popen(["unshare", "-U", "-r", "sh", "-c", _FEW], cwd=folder, env=environment)
    try:
        yield server.pid
    finally:
        server.terminate()
        server.wait()


@pytest.mark.usefixtures("_limits")
def test_a_server_that_gets_too_few_watches_says_so_and_nothing_is_missed() -> None:
    with trial("") as tried:
        for number in range(_FILES):
            file = tried.folder / f"d{number % _FOLDERS}" / f"f{number}"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"{number}\n")
        agent = tried.agent
        with short_of_watches(tried.folder, tried.environment(armed=False)):
            wait_until(lambda: tried.do("serve", "--status")["running"], "the server runs")
            asked = tried.do("serve", "--status")["requests"]
            agent.start()
            agent.prompt("first")
            agent.shell("echo two > a.txt; echo two > d7/new")
            agent.stop()
            assert tried.do("serve", "--status")["requests"] >= asked + 5, "it answered the hooks"
            (tried.folder / "d9" / "by hand").write_text("kept\n")
            for _ in range(2):  # the first look of a process is a scan in any case
                tried.do("checkpoint", "create", "claude-code", "--label", "mine")
            assert tried.do("serve", "--status")["unwatched"], "it can watch the tree"
            assert any(str(tried.folder) in each for each in tried.do("doctor")["system"])
            tried.do("undo", "--yes")
            assert tried.files() == BEFORE
            assert not (tried.folder / "d7" / "new").exists()
            assert (tried.folder / "d9" / "by hand").read_text() == "kept\n"


def test_a_disk_that_is_full_under_the_server_blocks_no_agent_and_loses_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 8 * MIB) as disk, trial("", disk.path / "homes") as tried:
        agent = tried.agent
        with tried.served() as server:
            agent.start()
            agent.prompt("first")
            call = agent.before("one")
            disk.leave(0)
            agent.run("head -c 100000 /dev/urandom | base64 > big; echo two > a.txt; rm b.txt")
            agent.after(call, "one")
            _, answer = agent.hook("Stop", background_tasks=[])
            assert "full" in answer["systemMessage"], "the disk is not full"
            _, answer = agent.hook("UserPromptSubmit", prompt="second", prompt_id="p2")
            assert "systemMessage" not in answer, "it is said once"
            disk.make_room()
            agent.shell("echo three > a.txt")
            agent.stop()
            assert server.poll() is None, "the server goes on"
        after = tried.files()
        entries = tried.do("log")["entries"]
        for _ in entries:
            tried.do("undo", "--yes")
        assert tried.files() == BEFORE
        for _ in entries:
            tried.do("redo", "--yes")
        assert tried.files() == after
