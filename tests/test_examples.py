"""The plans and programs in `examples/` do what they say, run as their first lines tell."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import mulligan
from tests.support.page_examples import Example
from tests.support.page_walks import Typed, follow

EXAMPLES = Path(__file__).parents[1] / "examples"
PLANS = sorted(EXAMPLES.glob("*/plan.yaml"))


def told(plan: Path) -> list[Typed]:
    """The commands in the first lines of a plan, in a copy of its folder."""
    head = plan.read_text(encoding="utf-8").partition("\nname:")[0]
    lines = re.findall(r"^#     (.+?)(?: +# exit code (\d))?$", head, re.MULTILINE)
    example = Example(
        page=plan.parent.name, line=1, language="sh", text="", after=(), exit_code=0, not_run=None, file=None
    )
    return [
        Typed(example=example, command=command, exit_code=int(code or 0))
        for command, code in [(f"cd {plan.parent.name}", "0"), *lines]
    ]


def run_as_told(name: str, tmp_path: Path) -> tuple[Path, list[str]]:
    """Run a plan's commands; gives the copy of its folder, and what each of them printed."""
    plan = EXAMPLES / name / "plan.yaml"
    home = tmp_path / "you"
    shutil.copytree(plan.parent, home / name)
    return home / name, follow(told(plan), home)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.parent.name)
def test_a_plan_says_what_it_shows_how_to_run_it_and_what_to_look_at(plan: Path) -> None:
    head = plan.read_text(encoding="utf-8").partition("\nname:")[0]
    assert re.match(r"# \w.*\n#\n# How to run it, in a copy of this folder:\n#\n", head)
    assert "\n# What to look at: " in head
    assert f"({plan.parent.name}/plan.yaml)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


def test_code_is_changed_and_tested_before_it_is_applied(tmp_path: Path) -> None:
    folder, _ = run_as_told("code-change", tmp_path)
    assert "unicodedata" in (folder / "slug.py").read_text()
    assert "test_accents" in (folder / "test_slug.py").read_text()


def test_a_database_and_its_program_are_migrated_together(tmp_path: Path) -> None:
    folder, printed = run_as_told("migration", tmp_path)
    reports = [text for text in printed if text.startswith("Ada: ")]
    assert reports == ["Ada: 30.00\nAlan: 0.10\n"] * 2
    rows = sqlite3.connect(folder / "orders.db").execute("SELECT customer, cents FROM orders").fetchall()
    assert rows == [("Ada", 999), ("Ada", 2001), ("Alan", 10)]


def test_child_plans_meet_in_one_file_and_the_conflict_is_mended(tmp_path: Path) -> None:
    folder, printed = run_as_told("conflict", tmp_path)
    assert any("<<<<<<< tune\n" in text for text in printed)
    wanted = "[server]\nworkers = 8\n\n[client]\ntimeout = 120\n\n[log]\nlevel = debug\n"
    assert (folder / "service.ini").read_text() == wanted


def test_a_decision_is_corrected_and_only_what_followed_from_it_done_again(tmp_path: Path) -> None:
    folder, _ = run_as_told("correction", tmp_path)
    assert not (folder / "settings.json").exists()
    assert (folder / "settings.ini").read_text().startswith("# people edit it\n[app]\nhost = localhost\n")
    calls = [e for e in mulligan.open(folder).log("settings-file") if e.type == "step_started"]
    assert len(calls) == 5


def test_a_failed_step_is_taken_back_and_mended(tmp_path: Path) -> None:
    folder, printed = run_as_told("failing-step", tmp_path)
    assert any("+Report\n" in text for text in printed)
    assert printed[-1] == "Report\nSum: 32\n"
    assert (folder / "report.txt").read_text() == printed[-1]


def test_the_best_of_three_ways_is_applied(tmp_path: Path) -> None:
    program = [sys.executable, str(EXAMPLES / "best_of.py"), str(tmp_path / "new")]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    sizes = {way: int(size) for way, size in re.findall(r"^(\w+): (\d+) bytes", ended.stdout, re.MULTILINE)}
    best = min(sizes, key=sizes.__getitem__)
    assert f"{best}: {sizes[best]} bytes, applied\n" in ended.stdout
    assert sorted(file.name for file in (tmp_path / "new").glob("squares.*")) == sorted(
        [f"squares.{best}", "squares.txt"]
    )
    assert (tmp_path / "new" / f"squares.{best}").stat().st_size == sizes[best]


def test_a_graph_goes_back_two_nodes_with_its_files(tmp_path: Path) -> None:
    program = [sys.executable, str(EXAMPLES / "langgraph_files.py"), str(tmp_path / "shop")]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "first way: planned, edited: subtract, documented, failed",
        "files: price.py subtract.md test_price.py",
        "went back to before the edit; files: test_price.py",
        "second way: planned, edited: percentage, documented, passed",
        "files: percentage.md price.py test_price.py",
        "applied: percentage.md price.py test_price.py",
    ]


def test_an_agent_s_loop_is_killed_and_goes_on(tmp_path: Path) -> None:
    """Only what passes is applied; what was given up before the kill is not tried again."""
    program = str(EXAMPLES / "agent_loop.py")
    killed = {
        **os.environ,
        "MULLIGAN_FAULT": "after:return.settle:1:SIGKILL",
    }  # the first idea was taken back
    words = [sys.executable, program, str(tmp_path)]
    assert subprocess.run(words, env=killed, check=False).returncode == -signal.SIGKILL
    assert list(tmp_path.glob("*.py")) == []
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "add.py").read_text() == "def add(a, b):\n    return a + b\n"
    project = mulligan.open(tmp_path)
    (plan,) = project.plans()
    assert (ended.stdout, plan.state, plan.steps_done) == (f"applied {plan.plan_id}\n", "applied", 2)
    assert sum(event.type == "step_failed" for event in project.log(plan.plan_id)) == 3
