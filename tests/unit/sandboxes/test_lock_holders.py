"""Who holds a lock, also where the system names the device of a file in two ways, as on btrfs."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.sqlite import lock_holders

HOLDING = (
    "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"
)


@pytest.fixture
def holder(tmp_path: Path):
    command = [sys.executable, "-c", HOLDING, str(tmp_path / "file")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        yield process
        process.stdin.close()


def test_the_process_is_named(holder: "subprocess.Popen[str]", tmp_path: Path) -> None:
    found = lock_holders.holders_of((tmp_path / "file").stat())
    assert [words.split(" (")[0] for words in found] == [f"process {holder.pid}"]


def test_the_process_is_named_where_the_device_of_the_lock_is_another(
    holder: "subprocess.Popen[str]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = (tmp_path / "file").stat()
    given = [line for line in Path("/proc/locks").read_text().splitlines() if f":{file.st_ino} " in line]
    ours, others = (f"ff:fe:{file.st_ino}", f"ff:fd:{file.st_ino + 1}")
    assert given, "the lock is there"
    as_on_btrfs = tmp_path / "locks"
    ended = subprocess.Popen(["true"])
    ended.wait()
    as_on_btrfs.write_text(
        f"1: FLOCK  ADVISORY  WRITE {holder.pid} {ours} 0 EOF\n"
        f"2: FLOCK  ADVISORY  WRITE {os.getpid()} {ours} 0 EOF\n"  # another file of that number
        f"3: FLOCK  ADVISORY  WRITE {ended.pid} {ours} 0 EOF\n"
        f"4: FLOCK  ADVISORY  WRITE {holder.pid} {others} 0 EOF\n"
    )
    monkeypatch.setattr(lock_holders, "_LOCKS", as_on_btrfs)
    found = lock_holders.holders_of(file)
    assert [words.split(" (")[0] for words in found] == [f"process {holder.pid}"]


def test_a_lock_that_is_nobodys_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (tmp_path / "other").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert lock_holders.holders_of((tmp_path / "file").stat()) == ()
