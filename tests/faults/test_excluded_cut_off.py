"""A process is killed while it makes a sandbox: the next one makes it whole, with what is in no checkpoint."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.forked_program import run_program

PLAN = """name: p
config: {sandbox.exclude: ["*.log"]}
steps:
  - {name: change, tool: shell, args: {command: "cat build/deep/x.o app.log > seen"}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "build" / "deep").mkdir(parents=True)
    (folder / "build" / "deep" / "x.o").write_text("object\n")
    (folder / "app.log").write_text("log\n")
    (folder / "a.txt").write_text("one\n")
    (folder / ".mulliganignore").write_text("build/\n")
    (folder / "plan.yaml").write_text(PLAN)
    return folder


def mulligan(folder: Path, *words: str, **environment: str) -> tuple[int, dict[str, Any]]:
    done = run_program([*words, "--format", "json"], folder=folder, environment={**os.environ, **environment})
    return done.returncode, json.loads(done.stdout or "{}")


def boundaries(folder: Path, log: Path) -> list[str]:
    """Every boundary that an undisturbed run passes until its sandbox is recorded."""
    code, _ = mulligan(folder, "plan", "execute", "plan.yaml", MULLIGAN_FAULT_LOG=str(log))
    assert code == 0
    lines = [line.split() for line in log.read_text().splitlines()]
    passed = [words[-1] for words in lines if "after" in words]
    return passed[: passed.index("sandbox.record") + 1]


def check(folder: Path, answer: dict[str, Any]) -> None:
    (sandbox,) = answer["data"]["sandboxes"]
    top = Path(sandbox["path"])
    assert (top / "seen").read_text() == "object\nlog\n"
    assert (top / "build" / "deep" / "x.o").read_text() == "object\n"
    code, diff = mulligan(folder, "plan", "diff", "p")
    assert (code, [file["path"] for file in diff["data"]["files"]]) == (0, ["seen"])


def test_kills_while_a_sandbox_is_made_are_survived(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [
        each
        for each in boundaries(folder, tmp_path / "log")
        if each.startswith(("restore.", "sandbox.", "tree."))
    ]
    assert passed.count("restore.sync") == 2, "that of the files, and that of what is excluded"
    assert {"tree.copy", "tree.write"} <= set(passed)
    for act, number in sorted({(each, n) for each in passed for n in (1, passed.count(each))}):
        subprocess.run(["rm", "-rf", str(folder / ".mulligan")], check=True)
        monkeypatch.setenv(
            "MULLIGAN_HOME", str(tmp_path / f"homes-{act}-{number}")
        )  # a new project each time
        fault = f"after:{act}:{number}:SIGKILL"
        code, _ = mulligan(folder, "plan", "execute", "plan.yaml", MULLIGAN_FAULT=fault)
        assert code == -9, fault
        code, answer = mulligan(folder, "plan", "execute", "p")
        if code != 0:
            code, answer = mulligan(folder, "plan", "resume", "p")
        assert code == 0, (fault, answer)
        check(folder, answer)
