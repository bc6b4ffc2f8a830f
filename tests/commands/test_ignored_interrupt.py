"""A caller that ignores Ctrl-C, as `nohup` and the background of a script do: the program ignores it too."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE


def started(folder: Path) -> "subprocess.Popen[str]":
    """Run a command that waits for a file, and return once it does."""
    outside = folder.parent / "outside"  # of the real folder, which the sandbox hides
    outside.mkdir()
    waits = f"touch {outside}/started; while ! test -e {outside}/go; do sleep 0.02; done; grep SigIgn /proc/self/status"
    around = {**os.environ, "MULLIGAN_SANDBOX_WRITABLE": str(outside)}
    command = [sys.executable, "-m", "mulligan", "run", "--format", "json", "--", "sh", "-c", waits]
    process = subprocess.Popen(command, cwd=folder, env=around, stdout=subprocess.PIPE, text=True)
    while not (outside / "started").exists():
        assert process.poll() is None
        time.sleep(0.02)
    return process


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(("ignored", "code"), [(True, 0), (False, 130)])
def test_ctrl_c_is_ignored_where_the_caller_ignores_it(project: Path, ignored: bool, code: int) -> None:
    was = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    try:
        process = started(project)
    finally:
        signal.signal(signal.SIGINT, was)
    process.send_signal(signal.SIGINT)
    if ignored:
        (project.parent / "outside" / "go").touch()
    answer = json.loads(process.communicate(timeout=PATIENCE)[0])
    assert (process.returncode, answer["exit_code"]) == (code, code)


def test_sigterm_ends_it_all_the_same(project: Path) -> None:
    was = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = started(project)
    finally:
        signal.signal(signal.SIGINT, was)
    process.terminate()
    assert json.loads(process.communicate(timeout=PATIENCE)[0])["error"]["kind"] == "interrupted"
    assert process.returncode == 130
