"""The program as users run it, answering with one JSON document: in this process where one is enough."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from mulligan.cli.main import run
from tests.support.homes import home_of
from tests.support.patience import PATIENCE

STEP_BYTES = 20_000


def start(folder: Path, *words: str) -> "subprocess.Popen[str]":
    """Start a command."""
    command = [sys.executable, "-m", "mulligan", *words, "--format", "json"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer_of(process: "subprocess.Popen[str]") -> dict[str, Any]:
    """Wait for a command and read its answer."""
    printed, complaints = process.communicate(timeout=PATIENCE)
    assert printed, complaints
    answer: dict[str, Any] = json.loads(printed)
    assert answer["exit_code"] == process.returncode
    return answer


def ask(folder: Path, *words: str) -> dict[str, Any]:
    """Run a command and read its answer, whatever it is."""
    raw = io.BytesIO()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with chdir(folder), redirect_stdout(io.TextIOWrapper(raw, "utf-8", write_through=True)) as stdout:
            code = run(["--format", "json", *words])
            stdout.detach()
    finally:
        signal.signal(signal.SIGTERM, handler)
    answer: dict[str, Any] = json.loads(raw.getvalue())
    assert answer["exit_code"] == code
    return answer


def data_of(folder: Path, *words: str) -> Any:
    """Run a command that should succeed; gives its data."""
    answer = ask(folder, *words)
    assert answer["exit_code"] == 0, answer
    return answer["data"]


def words_in(shown: str) -> list[str]:
    """The words of an answer for people in any order, but for times, which are told in different ways."""
    times = r"\(?(\d+ (s|min|h|days) ago|just now)\)?|\d{4}-\d\d-\d\d\s+\d\d:\d\d:\d\d"
    return sorted(re.sub(times, "", shown).split())


def project_with_plan(folder: Path, *, steps: int, limit: int) -> str:
    """Run a plan whose steps each add STEP_BYTES or a little more to the store; gives its id."""
    lines = ["name: growing", f"config: {{max_checkpoints_per_plan: {limit}}}", "steps:"]
    for number in range(steps):
        content = os.urandom(STEP_BYTES).hex()  # compressed to half of it, at best
        lines.append(f"  - {{name: s{number}, tool: write_file, args: {{path: data, content: '{content}'}}}}")
    (folder / "plan.yaml").write_text("\n".join(lines))
    return data_of(folder, "plan", "execute", "plan.yaml")["plan_id"]


def store_size(folder: Path) -> int:
    """What the packs of a project take."""
    return sum(path.stat().st_size for path in (home_of(folder) / "store" / "packs").iterdir())
