"""Faults that tests ask for strike where they were asked to, once, and what says no fault is refused."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulligan.boundaries import act, watch
from mulligan.errors import UsageWrong
from mulligan.wiring.faults import arm


@pytest.fixture(autouse=True)
def unarmed() -> Iterator[None]:
    yield
    watch(None)


def test_an_act_fails_at_the_time_that_was_asked_for_and_only_then(tmp_path: Path) -> None:
    arm({"MULLIGAN_FAULT": "before:pack.name:2:ENOSPC", "MULLIGAN_FAULT_LOG": str(tmp_path / "log")})
    done: list[str] = []
    for name in ("pack.name", "pack.sync"):
        with act(name):
            done.append(name)
    with pytest.raises(OSError, match="No space left") as failure, act("pack.name"):
        done.append("never")
    with act("pack.name"):
        done.append("pack.name")
    assert failure.value.errno == errno.ENOSPC
    assert done == ["pack.name", "pack.sync", "pack.name"]
    told = (tmp_path / "log").read_text().splitlines()
    assert told == [
        "before pack.name", "after pack.name", "before pack.sync", "after pack.sync",
        "before pack.name", "fault pack.name", "before pack.name", "after pack.name",
    ]  # fmt: skip


def test_an_act_that_failed_by_itself_is_not_passed(tmp_path: Path) -> None:
    arm({"MULLIGAN_FAULT_LOG": str(tmp_path / "log")})
    with pytest.raises(KeyError), act("pack.name"):
        raise KeyError
    assert (tmp_path / "log").read_text() == "before pack.name\n"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("pack.sync", "before or after"),
        ("before:pack.snyc:1:SIGKILL", "pack.sync"),
        ("before:pack.sync:one:SIGKILL", "a number"),
        ("before:pack.sync:1:EINTR", "SIGKILL, SIGTERM, SIGSTOP, ENOSPC, EIO"),
        ("after:pack.sync:1:EIO", "SIGKILL, SIGTERM"),
        ("before:group.record:1", "SIGKILL, SIGTERM"),
    ],
)
def test_what_says_no_fault_is_refused(text: str, hint: str) -> None:
    with pytest.raises(UsageWrong) as refusal:
        arm({"MULLIGAN_FAULT": text})
    assert hint in refusal.value.next_step


def test_tools_see_nothing_of_it(tmp_path: Path) -> None:
    plan = "name: p\nsteps:\n  - {name: one, tool: shell, args: {command: 'env > seen'}}\n"
    (tmp_path / "plan.yaml").write_text(plan)
    command = [sys.executable, "-m", "mulligan", "plan", "execute", "plan.yaml", "--format", "json"]
    environment = {**os.environ, "MULLIGAN_FAULT_LOG": str(tmp_path / "log")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    (sandbox,) = json.loads(done.stdout)["data"]["sandboxes"]
    assert "MULLIGAN_FAULT" not in (Path(sandbox["path"]) / "seen").read_text()
    assert "before call.run" in (tmp_path / "log").read_text()
