"""What tests of the timeline share."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.commands.program import ask, data_of
from tests.support.forked_program import run_program
from tests.support.git_world import GIT_ENVIRONMENT


def use_own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git read no settings but those of the tests."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_ENVIRONMENT["GIT_CONFIG_GLOBAL"])
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def plain_folder(tmp_path: Path) -> Path:
    """Make a plain folder, not yet a project."""
    made = tmp_path / "plain"
    made.mkdir()
    (made / "a.txt").write_text("a\n")
    return made


def in_place(folder: Path, words: str, *options: str) -> Any:
    """Run a line of shell in place."""
    return data_of(folder, "run", "--in-place", *options, "--", "sh", "-c", words)


def undo(folder: Path, *words: str) -> Any:
    """Undo, and return the data of the answer."""
    return data_of(folder, "undo", "--yes", *words)


def redo(folder: Path) -> Any:
    """Redo, and return the data of the answer."""
    return data_of(folder, "redo", "--yes")


def kind_of(folder: Path, *words: str) -> tuple[int, str]:
    """Run a command that is refused; return its exit code and the kind of its error."""
    answer = ask(folder, *words)
    return answer["exit_code"], answer["error"]["kind"]


def cut_off(folder: Path, fault: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command that a fault strikes."""
    return run_program(words, folder=folder, environment={**os.environ, "MULLIGAN_FAULT": fault})


def killed(folder: Path, fault: str, *words: str) -> None:
    """Run a command that is killed at a boundary."""
    ended = cut_off(folder, fault, *words)
    assert ended.returncode == -9, ended
