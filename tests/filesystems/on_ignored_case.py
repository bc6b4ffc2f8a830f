"""A real folder on a filesystem that ignores upper and lower case, bound into a project that does not."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

PLAN = """\
name: {name}
resources: {{real: {{type: fs-directory, location: real}}}}
steps:
  - {{name: make, tool: shell, args: {{command: "{command}"}}}}
"""


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    mount = Path(os.environ["MULLIGAN_TEST_MOUNT"])
    kept = mount / "kept"
    (kept / "docs").mkdir(parents=True)
    (kept / "docs" / "readme").write_text("mine")
    assert (kept / "docs" / "README").exists(), "this filesystem tells upper from lower case"
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    folder = Path(f"/var/tmp/mulligan-case-{os.getpid()}")
    (folder / "real").mkdir(parents=True)
    subprocess.run(["mount", "--bind", str(kept), str(folder / "real")], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder / "real")], check=True)
        subprocess.run(["rm", "-rf", str(folder), str(kept)], check=True)


def ask(project: Path, *words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "mulligan", *words, "--format", "json"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def execute(project: Path, name: str, command: str) -> None:
    (project / "plan.yaml").write_text(PLAN.format(name=name, command=command))
    answer = ask(project, "plan", "execute", "plan.yaml")
    assert answer["exit_code"] == 0, answer


@pytest.mark.parametrize(
    "command",
    [
        "echo yours > docs/README",
        "mkdir docs/Readme; echo x > docs/Readme/x",
        "mkdir new; echo a > new/One; echo b > new/one",
    ],
)
def test_two_names_that_are_one_there_are_refused_and_nothing_is_touched(project: Path, command: str) -> None:
    execute(project, "p", command)
    answer = ask(project, "plan", "apply", "--yes", "p")
    assert answer["error"]["kind"] == "restore_failed", answer
    assert answer["error"]["path"].lower() == answer["error"]["other"].lower()
    assert [path.name for path in (project / "real").rglob("*")] == ["docs", "readme"]
    assert (project / "real" / "docs" / "readme").read_text() == "mine"


def test_other_names_are_applied_and_taken_back(project: Path) -> None:
    execute(project, "p", "echo yours > docs/readme; mkdir new; echo x > new/file; ln -s file new/link")
    assert ask(project, "plan", "apply", "--yes", "p")["exit_code"] == 0
    assert (project / "real" / "docs" / "readme").read_text() == "yours\n"
    assert (project / "real" / "new" / "link").read_text() == "x\n"
    assert ask(project, "plan", "unapply", "--yes", "p")["exit_code"] == 0
    assert (project / "real" / "docs" / "readme").read_text() == "mine"
    assert not (project / "real" / "new").exists()
