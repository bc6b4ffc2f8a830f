"""Whatever a caller does to the command line and the streams, the answer is an exit code and never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLAN = "name: p\nsteps:\n  - {name: one, tool: shell, args: {command: echo 1 > one}}\n"
LONG = "a" * 300  # longer than any name may be
NOT_UTF8 = os.fsdecode(b"x\xff")


def _mulligan(folder: Path, *words: str, streams: str = "") -> "subprocess.CompletedProcess[str]":
    """Run the program; `streams` are redirections as a shell writes them."""
    line = f'exec "$@" {streams}'
    argv = ["/bin/sh", "-c", line, "sh", sys.executable, "-m", "mulligan", *words]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, errors="replace", check=False)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "plan.yaml").write_text(PLAN)
    assert _mulligan(folder, "plan", "execute", "plan.yaml").returncode == 0
    return folder


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["plan", "status", NOT_UTF8], 3),
        (["plan", "execute", NOT_UTF8], 3),
        (["checkpoint", "show", NOT_UTF8], 3),
        (["checkpoint", "verify", ""], 3),
        (["plan", "rollback", "--yes", "latest", NOT_UTF8], 3),
        (["plan", "execute", LONG], 3),
        (["plan", "execute", f"{LONG}.yaml"], 2),
        (["plan", "create", "missing.yaml"], 2),
        (["--project", LONG, "plan", "status"], 1),
        (["init", LONG], 1),
        (["checkpoint", "restore", "latest", "--to", LONG], 1),
    ],
)
def test_words_that_name_nothing_are_refused(project: Path, words: list[str], code: int) -> None:
    done = _mulligan(project, *words)

    assert (done.returncode, done.stderr.count("Traceback")) == (code, 0), done.stderr
    assert "hint: " in done.stderr


@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&-", ">&- 2>&- <&-", "2>/dev/full"])
def test_a_plan_runs_to_its_end_whoever_closed_its_streams(project: Path, streams: str) -> None:
    done = _mulligan(project, "plan", "execute", "plan.yaml", streams=streams)

    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert '"state": "complete"' in _mulligan(project, "plan", "status", "--format", "json").stdout


@pytest.mark.parametrize("format", ["plain", "rich", "json"])
def test_an_answer_that_cannot_be_written_is_no_success(project: Path, format: str) -> None:
    done = _mulligan(project, "plan", "status", "--format", format, streams=">/dev/full")

    assert (done.returncode, done.stderr.count("Traceback")) == (1, 0), done.stderr
    assert "could not be written" in done.stderr


def test_a_folder_that_is_gone_is_no_place_to_work_in(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    argv = [
        "/bin/sh",
        "-c",
        'rmdir "$PWD"; exec "$@"',
        "sh",
        sys.executable,
        "-m",
        "mulligan",
        "plan",
        "list",
    ]
    done = subprocess.run(argv, cwd=gone, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr.count("Traceback")) == (1, 0), done.stderr
