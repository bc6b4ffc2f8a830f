"""Whatever system call fails, or is the last: users have all or nothing, know where they are, and can go on.

A sample; `syscalls.py` strikes at all of them (`nox -s syscalls`).
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.syscall_shim import ALONE, LASTING, TOGETHER, Control, ways
from tests.faults.syscall_trials import Fault, Found, NeverFired, Trials
from tests.faults.syscall_world import COMMANDS
from tests.faults.syscalls import NEVER, WRONG, Journal, faults_of, sample, strike, summarise

SEED, SIZE = 14, 16


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    return Trials(tmp_path_factory.mktemp("syscalls"))


@pytest.fixture(scope="module")
def chosen(trials: Trials) -> list[Fault]:
    return sample(trials, SEED, SIZE)


@pytest.mark.parametrize("number", range(SIZE))
def test_a_system_call_that_fails(
    trials: Trials, chosen: list[Fault], number: int, record_property: Callable[[str, object], None]
) -> None:
    found = trials.strike(chosen[number])
    assert found.wrong == [], f"{chosen[number]}, {found.hit}: {found.message}"
    record_property("faults survived", 1)


def test_a_sample_strikes_at_every_command_in_every_way(chosen: list[Fault]) -> None:
    assert {fault.command for fault in chosen} == {command.name for command in COMMANDS}
    hows = {fault.how for fault in chosen}
    assert {ALONE, TOGETHER} < hows
    assert any(how.endswith(LASTING) for how in hows)
    assert any(not how.endswith(LASTING) and how.startswith("E") for how in hows)


def test_the_calls_that_write_are_seen(trials: Trials) -> None:
    """Those of Python, SQLite and git: one that is not wrapped would never be struck."""
    calls = {call for each in trials.undisturbed.values() for call in each.calls}
    assert calls >= {
        "write", "pwrite64", "open", "openat", "rename", "renameat", "link", "linkat", "unlink", "unlinkat", "mkdir",
        "mkdirat", "rmdir", "ftruncate64", "fsync", "fdatasync", "syncfs", "fchmod", "chmod", "utimensat", "futimens",
        "flock", "sendfile64",
    }  # fmt: skip


def test_a_fault_that_never_fires_is_a_failure(trials: Trials, tmp_path: Path) -> None:
    beyond = Fault(command="doctor", number=1_000_000, how="EIO")
    with pytest.raises(NeverFired):
        trials.strike(beyond)
    journal = Journal(tmp_path / "found.jsonl")
    strike(trials, beyond, journal)
    assert journal.found[str(beyond)]["outcome"] == NEVER
    assert Journal(tmp_path / "found.jsonl").has(beyond)


def test_what_was_found_is_summed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.faults.syscalls.state", lambda: "state")
    (tmp_path / "all" / "state" / "1-of-1").mkdir(parents=True)
    journal = Journal(tmp_path / "all" / "state" / "1-of-1" / "found.jsonl")
    good, bad = Fault(command="gc", number=1, how="EIO"), Fault(command="gc", number=2, how="KILL")
    journal.note(good, Found(), "failed")
    journal.note(bad, Found(wrong=["half a state"]), WRONG)
    assert (journal.has(good), journal.has(bad)) == (True, False)  # what was wrong is struck again
    assert summarise(tmp_path / "all", tmp_path / "all.json") == {"failed": 1, WRONG: 1}
    document = json.loads((tmp_path / "all.json").read_text())
    assert [entry["fault"] for entry in document["wrong"]] == ["gc: 2 KILL"]


def test_every_call_has_ways_to_fail(trials: Trials) -> None:
    faults = list(faults_of(trials, ["gc"]))
    assert {fault.number for fault in faults} == set(range(1, len(trials.undisturbed["gc"].calls) + 1))
    assert {"ENOSPC", "EIO", "EMFILE", "EINTR"} < set(ways("open"))
    assert "ENOSPC" not in ways("unlink")


CALLS = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for _ in range(3):
    try:
        os.write(fd, b"x")
    except OSError as exc:
        print(exc.strerror)
print(os.fstat(fd).st_size)
"""


@pytest.mark.parametrize(
    ("how", "printed"),
    [
        ("EIO", ["Input/output error", "2"]),
        ("EIO+", ["Input/output error", "Input/output error", "1"]),
        ("KILL", []),
    ],
)
def test_the_library_strikes_at_the_call_that_was_named(tmp_path: Path, how: str, printed: list[str]) -> None:
    control = Control(tmp_path)
    control.arm(3, how)
    argv = [sys.executable, "-I", "-c", CALLS, str(tmp_path / "file")]
    environment = control.environment({}, listed=False)
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    hit = control.hit()
    assert hit is not None
    assert (hit.call, hit.path) == ("write", str(tmp_path / "file"))
    assert done.stdout.split("\n")[:-1] == printed
    assert done.returncode == (-9 if how == "KILL" else 0)
