"""Real folders that do not tell `README` from `readme`: refused by name, and nothing is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE

SOURCE = Path(__file__).parents[1] / "shims" / "ignoring_case.c"
PLAN = """\
name: p
resources: {{real: {{type: fs-directory, location: real}}}}
steps:
  - {{name: make, tool: shell, args: {{command: "{command}"}}}}
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("shim") / "ignoring_case.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return library


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "real" / "docs").mkdir(parents=True)
    (tmp_path / "real" / "docs" / "README").write_text("mine")
    return tmp_path


def ask(project: Path, *words: str, shim: Path | None = None) -> dict[str, Any]:
    around = {**os.environ}
    if shim is not None:
        around |= {"LD_PRELOAD": str(shim), "IGNORE_CASE_IN": str(project / "real")}
    command = [sys.executable, "-m", "mulligan", *words, "--format", "json"]
    done = subprocess.run(
        command, cwd=project, env=around, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def execute(project: Path, command: str) -> None:
    (project / "plan.yaml").write_text(PLAN.format(command=command))
    assert ask(project, "plan", "execute", "plan.yaml")["exit_code"] == 0


def tree(project: Path) -> dict[str, str]:
    folder = project / "real"
    return {str(f.relative_to(folder)): f.read_text() for f in folder.rglob("*") if f.is_file()}


@pytest.mark.parametrize(
    ("command", "path", "other"),
    [
        ("echo yours > docs/readme", "docs/readme", "docs/README"),
        ("mkdir docs/readme; echo yours > docs/readme/x", "docs/readme", "docs/README"),
        ("mkdir new; echo a > new/One; echo b > new/one", "new/One", "new/one"),
        ("mkdir new; echo a > new/é; echo b > new/É", "new/É", "new/é"),
        ("ln -s x DOCS", "DOCS", "docs"),
    ],
)
def test_two_names_that_are_one_there_are_refused_and_nothing_is_touched(
    project: Path, shim: Path, command: str, path: str, other: str
) -> None:
    execute(project, command)
    before = tree(project)
    answer = ask(project, "plan", "apply", "--yes", "p", shim=shim)
    assert (answer["exit_code"], answer["error"]["kind"]) == (1, "restore_failed"), answer
    assert "upper and lower case" in answer["error"]["message"]
    assert {answer["error"]["path"], answer["error"]["other"]} == {
        str(project / "real" / n) for n in (path, other)
    }
    assert tree(project) == before
    assert ask(project, "plan", "apply", "--yes", "p")["exit_code"] == 0, (
        "where they are two names it is applied"
    )
    assert len(tree(project)) > len(before) or (project / "real" / "DOCS").is_symlink()


@pytest.mark.parametrize(
    "command",
    [
        "mv docs/README docs/readme; echo more > docs/other",
        "rm -r docs; mkdir Docs; echo x > Docs/readme",
        "echo yours > docs/README",
    ],
)
def test_a_name_that_takes_the_place_of_the_other_is_fine(project: Path, shim: Path, command: str) -> None:
    execute(project, command)
    answer = ask(project, "plan", "apply", "--yes", "p", shim=shim)
    assert answer["exit_code"] == 0, answer
    assert answer["data"]["state"] == "applied"


def test_a_folder_like_the_project_home_cannot_be_put_over_it(project: Path, shim: Path) -> None:
    (project / "plan.yaml").write_text(
        "name: p\nsteps: [{name: s, tool: shell, args: {command: 'mkdir .MULLIGAN; echo x > .MULLIGAN/config.toml'}}]\n"
    )
    assert ask(project, "plan", "execute", "plan.yaml")["exit_code"] == 0
    around = {"LD_PRELOAD": str(shim), "IGNORE_CASE_IN": str(project)}
    command = [sys.executable, "-m", "mulligan", "plan", "apply", "--yes", "p", "--format", "json"]
    done = subprocess.run(
        command,
        cwd=project,
        env={**os.environ, **around},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert json.loads(done.stdout)["error"]["kind"] == "restore_failed", done.stdout
    assert not (project / ".MULLIGAN").exists()


def test_a_checkpoint_is_not_restored_into_a_new_folder_there(project: Path, shim: Path) -> None:
    execute(project, "echo yours > docs/readme")
    answer = ask(project, "checkpoint", "restore", "latest", "--to", "real/copy", shim=shim)
    assert answer["error"]["kind"] == "restore_failed", answer
