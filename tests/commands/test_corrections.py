"""Corrections on every kind of resource, cut off in the middle, and in the words that people see."""

import io
import os
import signal
import sqlite3
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from mulligan.cli.main import run
from mulligan.domain.history.correction import CorrectionMode
from tests.commands.program import ask, data_of
from tests.faults.projects import project_in
from tests.support.forked_program import run_program
from tests.support.homes import home_of

STEPS = """\
  - {name: first, tool: write_file, args: {path: first, content: "1"}}
  - {name: choose, decision: {question: Which?, chosen: lark, alternatives: [ply]}}
  - {name: tell, tool: write_file, args: {path: told, content: "${{ steps.choose.output }}/${{ guidance }}"}}
"""


def project(folder: Path, head: str = "", steps: str = STEPS) -> None:
    (folder / "plan.yaml").write_text(f"name: p\n{head}steps:\n{steps}")
    data_of(folder, "plan", "execute", "plan.yaml")


def decision(folder: Path, question: str = "Which?") -> str:
    def found(node: dict[str, Any]) -> list[str]:
        here = [node["id"]] if node.get("question") == question else []
        return [*here, *(id for child in node["children"] for id in found(child))]

    return found(data_of(folder, "plan", "tree")["tree"])[-1]


def words_for(folder: Path, *more: str, guidance: str = "g") -> list[str]:
    return ["plan", "correct", "--mode", "revert", "--guidance", guidance, *more, decision(folder)]


def correct(folder: Path, *more: str, guidance: str = "g") -> dict[str, Any]:
    return ask(folder, *words_for(folder, "--yes", *more, guidance=guidance))


def sandbox(folder: Path) -> Path:
    return Path(data_of(folder, "plan", "status")["sandboxes"][0]["path"])


def test_checkouts_and_databases_go_back_together(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "file").write_text("one\n")
    for words in ("init -q", "add -A", "-c user.name=me -c user.email=me@here commit -qm start"):
        subprocess.run(["git", *words.split()], cwd=checkout, check=True)
    commit = "git -c user.name=me -c user.email=me@here commit -qam"
    project(
        tmp_path,
        "resources:\n"
        "  app: {type: git-checkout, location: checkout}\n"
        "  data: {type: sqlite, location: data.db, create: true}\n",
        f"""\
  - {{tool: sql, resource: data, args: {{statements: ["CREATE TABLE said (what)"]}}}}
  - {{name: choose, decision: {{question: Which?, chosen: lark}}}}
  - {{tool: sql, resource: data, args: {{statements: ["INSERT INTO said VALUES ('${{{{ guidance }}}}')"]}}}}
  - {{tool: shell, args: {{command: 'echo "$MULLIGAN_GUIDANCE" > file; {commit} "said $MULLIGAN_GUIDANCE"'}}}}
""",
    )
    answer = correct(tmp_path, guidance="better")
    assert (answer["exit_code"], answer["data"]["attempt"]) == (0, 2), answer
    app, data = (Path(s["path"]) for s in answer["data"]["sandboxes"])
    log = subprocess.run(
        ["git", "log", "--format=%s"], cwd=app, check=True, capture_output=True, text=True
    ).stdout
    assert log.splitlines() == ["said better", "start"]
    rows = sqlite3.connect(data)
    assert rows.execute("SELECT what FROM said").fetchall() == [("better",)]
    rows.close()
    groups = data_of(tmp_path, "checkpoint", "list", "p")["checkpoints"]
    guidance = [c for c in groups if c["decision_id"] == answer["data"]["correction"]["intervention_id"]]
    restored = {
        c["resource"]: c for c in groups if c["group_id"] == next(c["parent_group_id"] for c in guidance)
    }
    assert restored["app"]["checkpoint_id"] == answer["data"]["correction"]["restored_checkpoint"]
    assert [(c["resource"], c["modified"], c["size_bytes"], c["step_index"]) for c in guidance] == [
        ("app", False, 0, 1),
        ("data", False, 0, 1),
    ]
    assert guidance[1]["sandbox_ref"] == restored["data"]["sandbox_ref"]
    git_dir = answer["data"]["sandboxes"][0]["git_dir"]
    trees = [
        subprocess.run(
            ["git", "--git-dir", git_dir, "rev-parse", f"{name}^{{tree}}"], check=True, capture_output=True
        ).stdout
        for name in (f"refs/checkpoints/{guidance[0]['checkpoint_id']}", restored["app"]["sandbox_ref"])
    ]
    assert trees[0] == trees[1]


def test_in_place_the_real_folder_goes_back_and_what_was_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = tmp_path / "real"
    project(tmp_path, "resources: {real: {type: fs-directory, location: real, strategy: in_place}}\n")
    (real / "mine").write_text("mine")
    answer = correct(tmp_path, "--choose", "ply", "--no-execute")
    assert [p.name for p in real.iterdir()] == ["first"]
    assert {c["file"] for c in answer["data"]["changes_reverted"]} == {"mine", "told"}
    data_of(tmp_path, "plan", "rollback", "--yes", "p", answer["data"]["pre_rollback_checkpoint"])
    assert (real / "mine").read_text() == "mine"
    assert (real / "told").read_text() == "lark/"


def test_guidance_may_be_long_and_of_several_lines(tmp_path: Path) -> None:
    project(
        tmp_path,
        steps="  - {name: choose, decision: {question: Which?, chosen: lark}}\n"
        '  - {tool: shell, args: {command: "cp $MULLIGAN_GUIDANCE_FILE long || true"}}\n',
    )
    text = "a line of guidance, ünïcode too\n" * 3000
    assert correct(tmp_path, guidance=text)["exit_code"] == 0
    assert (sandbox(tmp_path) / "long").read_text() == text


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    project(tmp_path)
    for answer in (
        correct(tmp_path, guidance="\udcff"),
        correct(tmp_path, "--choose", "\udcff"),
        correct(tmp_path, guidance="\n"),
    ):
        assert (answer["exit_code"], answer["error"]["kind"]) == (2, "usage_wrong")
    assert data_of(tmp_path, "plan", "status")["attempt"] == 1


def test_a_correction_that_was_killed_is_finished_by_whoever_comes_next(tmp_path: Path) -> None:
    project(tmp_path)
    words = words_for(tmp_path, "--yes", "--choose", "ply", guidance="after a crash")
    fault = {"MULLIGAN_FAULT": "before:correction.settle:1:SIGKILL"}
    ended = run_program(words, folder=tmp_path, environment={**os.environ, **fault})
    assert ended.returncode == -signal.SIGKILL
    status = data_of(tmp_path, "plan", "status")
    assert (status["attempt"], status["corrections"]) == (1, [])
    shown = ask(tmp_path, *words_for(tmp_path, "--dry-run"))
    assert "an interrupted return would be finished first" in shown["messages"]
    again = ask(tmp_path, *words)
    assert again["error"]["kind"] == "decision_superseded"
    assert "mulligan resume" in again["error"]["hint"]
    resumed = data_of(tmp_path, "plan", "resume", "p")
    assert (resumed["attempt"], resumed["state"]) == (2, "complete")
    assert [c["guidance"] for c in resumed["corrections"]] == ["after a crash"]
    assert (sandbox(tmp_path) / "told").read_text() == "ply/after a crash"


def test_the_log_and_the_tree_tell_of_it(tmp_path: Path) -> None:
    project(tmp_path)
    corrected = decision(tmp_path)
    done = correct(tmp_path, guidance="other words")["data"]
    (told,) = (e for e in data_of(tmp_path, "plan", "log")["events"] if e["type"] == "correction")
    assert (told["data"]["decision_id"], told["data"]["guidance"]) == (corrected, "other words")
    assert (told["data"]["attempt"], told["data"]["paths"]) == (2, 1)
    tree = data_of(tmp_path, "plan", "tree")["tree"]
    guidance = next(n for n in tree["children"] if n["type"] == "decision")
    assert tree["attempt"] == 2
    assert guidance["correction"] == {
        "correction_id": done["correction"]["correction_id"],
        "mode": CorrectionMode.REVERT,
        "decision_id": corrected,
        "attempt": 2,
    }
    attempts = [n["attempt"] for n in [*tree["children"], *guidance["children"]] if n["type"] == "checkpoint"]
    assert attempts == [1, 1, 1, 2, 2]


def test_attempts_that_were_pruned_and_plans_that_have_none_are_told(tmp_path: Path) -> None:
    project(tmp_path)
    done = correct(tmp_path, guidance="x")["data"]
    id = done["correction"]["correction_id"]
    (tmp_path / "other.yaml").write_text("name: other\nsteps: [{name: s, checkpoint: c}]\n")
    data_of(tmp_path, "plan", "execute", "other.yaml")
    foreign = ask(tmp_path, "plan", "diff", "other", "--correction", id)["error"]
    assert (foreign["kind"], done["plan_id"] in foreign["hint"]) == ("correction_not_found", True)
    named = data_of(tmp_path, "plan", "diff", "p", "--correction", id[:20])
    assert [(f["path"], f["status"]) for f in named["files"]] == [("told", "modified")]
    data_of(tmp_path, "checkpoint", "prune", "p", "--keep", "3")
    kept = data_of(tmp_path, "plan", "diff", "--correction", id)
    assert kept["old"]["checkpoint_type"] == "pre_rollback"
    assert kept["files"] == named["files"]
    rows = sqlite3.connect(home_of(tmp_path) / "mulligan.db")
    rows.execute(
        "DELETE FROM checkpoints WHERE group_id IN (SELECT group_id FROM checkpoint_groups WHERE attempt = 1)"
    )
    rows.execute("DELETE FROM checkpoint_groups WHERE attempt = 1")
    rows.commit()
    gone = ask(tmp_path, "plan", "diff", "--correction", id)["error"]
    assert (gone["kind"], "--from" in gone["hint"]) == ("checkpoint_not_found", True)
    rows.execute("UPDATE checkpoint_groups SET between_steps = 0")
    rows.commit()
    again = ("plan", "correct", "--mode", "revert", "--guidance", "y", "--yes")
    lost = ask(tmp_path, *again, done["correction"]["intervention_id"])
    assert lost["error"]["kind"] == "decision_out_of_reach"
    rows.execute("UPDATE plans SET phase = 'apply', state = 'applied' WHERE name = 'p'")
    rows.commit()
    rows.close()
    applied = ask(tmp_path, *again, done["correction"]["intervention_id"])
    assert (applied["exit_code"], applied["error"]["kind"]) == (3, "plan_already_applied")


def test_going_forward_brings_back_what_a_mended_plan_was(tmp_path: Path) -> None:
    """Also without a correction: `plan resume --plan` replaces steps as well."""
    project(tmp_path)
    done = data_of(tmp_path, "plan", "status")["last_checkpoint_id"]
    data_of(tmp_path, "plan", "rollback", "--yes", "p", "first")
    (tmp_path / "plan.yaml").write_text("name: p\nsteps:\n  - {name: only, checkpoint: only}\n")
    mended = data_of(tmp_path, "plan", "resume", "--plan", "plan.yaml", "p")
    assert [s["name"] for s in mended["steps"]] == ["only"]
    short = mended["last_checkpoint_id"]
    data_of(tmp_path, "plan", "rollback", "--yes", "p", done)
    steps = data_of(tmp_path, "plan", "status")["steps"]
    assert [(s["name"], s["status"]) for s in steps] == [(n, "done") for n in ("first", "choose", "tell")]
    data_of(tmp_path, "plan", "rollback", "--yes", "p", "first")
    assert len(data_of(tmp_path, "plan", "status")["steps"]) == 3  # back on the same line it is the same plan
    data_of(tmp_path, "plan", "rollback", "--yes", "p", short)
    assert [s["name"] for s in data_of(tmp_path, "plan", "status")["steps"]] == ["only"]


def test_going_back_past_a_correction_takes_back_what_it_made_of_the_plan(tmp_path: Path) -> None:
    project(tmp_path)
    correct(tmp_path, guidance="words")
    correct(tmp_path, "--choose", "ply", guidance="and ply")
    assert (sandbox(tmp_path) / "told").read_text() == "ply/words\nand ply"
    data_of(tmp_path, "plan", "rollback", "--yes", "p", "first")
    data_of(tmp_path, "plan", "resume", "p")
    assert (sandbox(tmp_path) / "told").read_text() == "lark/"
    kept = [
        c["checkpoint_id"]
        for c in data_of(tmp_path, "checkpoint", "list", "p", "--all")["checkpoints"]
        if c["checkpoint_type"] == "pre_rollback"
    ]
    data_of(tmp_path, "plan", "rollback", "--yes", "p", kept[-1])  # forward, into the third attempt
    assert (sandbox(tmp_path) / "told").read_text() == "ply/words\nand ply"
    correct(tmp_path, guidance="more")
    assert (sandbox(tmp_path) / "told").read_text() == "ply/words\nand ply\nmore"


def test_an_undo_that_fails_is_a_warning(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    (home_of(tmp_path) / "tools.py").write_text(
        "import mulligan\n"
        "def never(context, arguments, result):\n    raise ValueError('not today')\n"
        "@mulligan.tool(side_effects=['external'], undo=never)\n"
        "def publish(context):\n    pass\n"
    )
    data_of(tmp_path, "tool", "trust", "--yes")
    project(
        tmp_path,
        steps="  - {name: choose, decision: {question: Which?, chosen: a}}\n  - {name: out, tool: publish}\n",
    )
    answer = correct(tmp_path, "--no-execute")
    assert (answer["status"], answer["exit_code"]) == ("warn", 0)
    assert answer["data"]["impact"]["undo_failed"] == ["publish in step 'out'"]


def _said(folder: Path, *words: str) -> tuple[int, str]:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "utf-8", write_through=True)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with chdir(folder), redirect_stdout(stream), redirect_stderr(stream):
            code = run([*words, "--format", "plain"])
    finally:
        signal.signal(signal.SIGTERM, handler)
    return code, raw.getvalue().decode()


def test_what_people_see(tmp_path: Path) -> None:
    project(tmp_path)
    code, shown = _said(tmp_path, *words_for(tmp_path, "--dry-run", guidance="other\nwords"))
    assert code == 0
    assert "for attempt 2\n1 path to be changed; 1 tool call, 1 decision to be taken back\n" in shown
    assert "to be left behind: Which? -> lark (p/d1)" in shown
    assert "removed  workspace  told" in shown
    assert "ready to go on" not in shown
    code, asked = _said(tmp_path, *words_for(tmp_path))
    assert code == 3
    assert "to be left behind" in asked
    code, done = _said(tmp_path, *words_for(tmp_path, "--yes", "--no-execute", guidance="other\nwords"))
    assert code == 0
    assert "for attempt 2 by correction" in done
    assert "the earlier attempt is kept in" in done
    assert "`mulligan resume p` runs on" in done
    _, status = _said(tmp_path, "plan", "status")
    assert "p: ready to go on with step 2 (choose), attempt 2" in status
    assert "other\\nwords" in status
    _, tree = _said(tmp_path, "plan", "tree")
    assert "guidance of attempt 2 in step choose: Which? -> other\\nwords" in tree
    words = ["plan", "correct", "--mode", "append", "--guidance", "g", "--yes", decision(tmp_path)]
    code, would = _said(tmp_path, *words, "--dry-run")
    assert (code, "p would get step 2 (append to choose) for attempt 3; nothing is undone" in would) == (
        0,
        True,
    )
    assert "child plan choose again of steps: choose\n" in would
    assert "complete" not in would
    code, waiting = _said(tmp_path, *words, "--no-execute")
    assert (code, "`mulligan resume p` runs on" in waiting) == (0, True)
    code, done = _said(tmp_path, *words)
    assert (code, "p: complete, attempt 3" in done) == (0, True)
    assert "p got step 2 (append to choose) for attempt 3 by correction" in done
    assert "it was started before, and is continued" in done


def test_from_python(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(f"name: p\nsteps:\n{STEPS}")
    project = project_in(tmp_path)
    project.execute(tmp_path / "plan.yaml")
    id = next(n.id for n in project.tree("p").children if n.type == "decision")
    _, preview = project.correct(id, guidance="g", dry_run=True)
    assert (preview.dry_run, preview.correction.correction_id, preview.execution) == (True, None, None)
    status, corrected = project.correct(id, guidance="g", choose="ply")
    assert (status.attempt, corrected.correction.superseded_decisions) == (2, (id,))
    assert status.resumed_from is not None
    assert project.diff_of_correction(corrected.correction.correction_id or "").files


@pytest.mark.parametrize("limit", [3, 6])
def test_retention_keeps_the_way_back_and_the_end_of_each_attempt(tmp_path: Path, limit: int) -> None:
    project(tmp_path, f"config: {{max_checkpoints_per_plan: {limit}}}\n")
    for number in range(3):
        answer = correct(tmp_path, guidance=f"g{number}")
        assert answer["exit_code"] == 0, answer
    groups = data_of(tmp_path, "checkpoint", "list", "p", "--all")["checkpoints"]
    assert len(groups) <= max(limit, 4)
    assert data_of(tmp_path, "checkpoint", "verify")["damaged"] == []
    assert data_of(tmp_path, "plan", "status")["attempt"] == 4
