"""An environment full of nonsense: told by its variable, or of no consequence."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.program import refused, say
from tests.support.small_disk import small_disk

PLAN = "name: p\nsteps:\n  - {name: one, tool: shell, args: {command: echo 1 > one}}\n"
WRONG = {
    "MULLIGAN_CORE_FORMAT": "",
    "MULLIGAN_PLAN_MAX_PARALLEL": "-1",
    "MULLIGAN_SANDBOX_CHECKPOINT_MAX_CHECKPOINTS_PER_PLAN": "9" * 5000,
    "MULLIGAN_SANDBOX_ISOLATE": "\x1b[31m",
    "MULLIGAN_PROJECT": "/nonexistent",
    "MULLIGAN_FAULT": "nonsense",
}
HARMLESS = {
    "TERM": "\x1b[nonsense",
    "LANG": "xx_YY.nonsense",
    "LC_ALL": "nonsense",
    "COLUMNS": "-7",
    "LINES": "nonsense",
    "NO_COLOR": "\udcff",
    "TMPDIR": "/nonexistent",
    "PYTHONIOENCODING": "utf-8",
    "GIT_DIR": "/nonexistent",
    "XDG_CONFIG_HOME": "relative",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


@pytest.mark.parametrize("name", WRONG)
def test_a_variable_of_ours_that_says_nothing(
    project: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(project, "init")
    monkeypatch.setenv(name, WRONG[name])
    error = refused(project, ("plan", "execute", "plan.yaml"), 2, 3)
    assert name in f"{error['message']} {error['hint']} {error}" or "/nonexistent" in error["message"]
    monkeypatch.delenv(name)
    assert say(project, "plan", "list").document["data"]["plans"] == []


def test_nonsense_for_others_is_of_no_consequence(project: Path) -> None:
    """In processes of their own: what they say is read when a process starts."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **HARMLESS}
    for words in (["plan", "execute", "plan.yaml"], ["--format", "rich", "plan", "status"]):
        done = subprocess.run(
            [sys.executable, "-m", "mulligan", *words],
            cwd=project,
            env=environment,  # and no HOME
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr.count(b"Traceback")) == (0, 0), done.stderr


def test_a_disk_that_can_only_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was recorded can be looked at, and nothing is half done."""
    with small_disk(tmp_path / "disk", 16 << 20) as disk:
        monkeypatch.setenv("MULLIGAN_HOME", str(disk.path / "homes"))
        folder = disk.path / "project"
        folder.mkdir()
        (folder / "plan.yaml").write_text(PLAN)
        argv = [sys.executable, "-m", "mulligan", "plan", "execute", "plan.yaml"]
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)  # which leaves no file open
        disk.make_read_only()
        for words in (("plan", "status"), ("plan", "log"), ("plan", "list"), ("checkpoint", "list")):
            said = say(folder, *words)
            assert said.code == 0 or "read-only" in said.error["message"].lower(), said.document
        for words in (
            ("plan", "execute", "plan.yaml"),
            ("checkpoint", "create", "p", "--label", "x"),
            ("gc",),
        ):
            assert "read-only" in refused(folder, words, 1)["message"].lower()


def test_a_project_folder_that_can_only_be_read(tmp_path: Path) -> None:
    """Its home is elsewhere, and is found also where the folder lost what names it; plans run in their sandboxes."""
    with small_disk(tmp_path / "disk", 16 << 20) as disk:
        (disk.path / "plan.yaml").write_text(PLAN)
        argv = [sys.executable, "-m", "mulligan", "plan", "execute", "plan.yaml"]
        subprocess.run(argv, cwd=disk.path, check=True, capture_output=True)
        shutil.rmtree(disk.path / ".mulligan")
        disk.make_read_only()
        assert say(disk.path, "plan", "status").code == 0
        assert say(disk.path, "plan", "execute", "plan.yaml").code == 0
        assert say(disk.path, "plan", "apply", "--yes", "latest").code == 1
