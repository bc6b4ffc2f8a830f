"""What the system says of other processes, at awkward moments and of awkward paths."""

import mmap
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mulligan.adapters.tools.process import process_table

_MAPPING = """\
import mmap, sys
with open(sys.argv[1], "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
print("mapped", flush=True)
sys.stdin.read()
"""


@contextmanager
def waiting(*words: str, **variables: str) -> Generator[int]:
    """A program that has printed a line and waits; gives its id."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-S", "-c", *words], stdin=pipe, stdout=pipe, env=variables) as it:
        assert it.stdout is not None
        it.stdout.readline()
        yield it.pid
        it.kill()


def test_a_program_that_is_being_started_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel shows neither its words nor its variables for a moment."""
    read, early = process_table._read, list("starts")  # noqa: SLF001 - stands for the kernel

    def reading(pid: int, name: str) -> bytes:
        if name in ("environ", "cmdline") and early:
            early.pop()
            return b""
        return read(pid, name)

    with waiting("import sys; print(flush=True); sys.stdin.read()", MARK="it") as pid:
        monkeypatch.setattr(process_table, "_read", reading)
        assert process_table.has_variable(pid, "MARK")
    assert not early


def test_one_that_never_shows_any_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_table, "_read", lambda _pid, _name: b"")
    monkeypatch.setattr(process_table, "_STARTING", 0.01)
    assert process_table.environment(os.getpid()) == [b""]


@pytest.mark.parametrize("name", ["folder", "fol\nder", "fol\\012der", "f\udcff"])
def test_a_mapped_file_is_in_use_when_it_is_no_longer_open(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "file").write_bytes(bytes(mmap.PAGESIZE))
    with waiting(_MAPPING, str(folder / "file")) as pid:
        assert process_table.uses(pid, [str(folder)])
        assert process_table.uses(pid, [str(folder / "file")])
        assert not process_table.uses(pid, [str(folder)[:-1], str(tmp_path / "other")])
