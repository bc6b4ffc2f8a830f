"""Which processes may be git at work in a folder: only then its locks are left alone."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.sandboxes.git.git_processes import git_at_work

LATER = time.time() + 3600


@pytest.fixture
def pids(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Show only these processes: what else runs on this machine may be git, too."""
    shown, listdir = list[str](), os.listdir

    def those(path: Any = ".") -> list[str]:
        return shown if path == "/proc" else listdir(path)

    monkeypatch.setattr(os, "listdir", those)
    return shown


@contextmanager
def running(pids: list[str], name: str, *words: str, cwd: Path) -> Iterator[int]:
    """Have a process that is named so, and show it alone."""
    code = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [name, "-c", code, *words],
        executable=sys.executable,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        pids[:] = [str(process.pid)]
        try:
            yield process.pid
        finally:
            process.kill()


def test_a_git_in_a_folder_or_with_it_among_its_words_is_at_work_there(
    tmp_path: Path, pids: list[str]
) -> None:
    inner, other = tmp_path / "top" / "inner", tmp_path / "other"
    for folder in (inner, other):
        folder.mkdir(parents=True)
    with running(pids, "git-remote", cwd=inner):
        assert git_at_work([tmp_path / "top"], LATER)
        assert not git_at_work([other], LATER)
        assert not git_at_work([tmp_path / "top"], time.time() - 3600)  # it began later
    with running(pids, "git", f"--git-dir={inner}", cwd=other):
        assert git_at_work([inner], LATER)
    with running(pids, "vim", cwd=inner):
        assert not git_at_work([inner], LATER)


def test_where_processes_cannot_be_seen_git_may_be_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listdir = os.listdir

    def nothing(path: Any = ".") -> list[str]:
        if path == "/proc":
            raise FileNotFoundError(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", nothing)
    assert git_at_work([tmp_path], LATER)


@pytest.mark.parametrize("named", [True, False])
def test_a_git_of_another_user_may_be_at_work_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pids: list[str], named: bool
) -> None:
    """One that has no words yet is looked at again when it has."""
    readlink, read_bytes = os.readlink, Path.read_bytes
    with running(pids, "git", cwd=tmp_path) as pid:

        def denied(path: Any, **how: Any) -> Any:
            if os.fsencode(path) in (b"/proc/%d/cwd" % pid, b"/proc/%d/exe" % pid):
                raise PermissionError(path)
            return readlink(path, **how)

        def words(path: Path) -> bytes:
            return b"" if not named and str(path) == f"/proc/{pid}/cmdline" else read_bytes(path)

        monkeypatch.setattr(os, "readlink", denied)
        monkeypatch.setattr(Path, "read_bytes", words)
        assert git_at_work([tmp_path / "elsewhere"], LATER) is named


def test_a_git_that_is_being_started_is_known_by_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pids: list[str]
) -> None:
    readlink, read_bytes = os.readlink, Path.read_bytes
    with running(pids, "git", cwd=tmp_path) as pid:

        def program(path: Any, **how: Any) -> Any:
            return b"/usr/bin/git" if os.fsencode(path) == b"/proc/%d/exe" % pid else readlink(path, **how)

        def words(path: Path) -> bytes:
            return b"" if str(path) == f"/proc/{pid}/cmdline" else read_bytes(path)

        monkeypatch.setattr(os, "readlink", program)
        monkeypatch.setattr(Path, "read_bytes", words)
        assert git_at_work([tmp_path], LATER)
