"""The everyday verbs: without a group, and without a plan where the newest that suits is meant."""

from contextlib import chdir
from pathlib import Path

import pytest

import mulligan
from mulligan.cli.main import run
from tests.commands.program import ask, data_of

PLAN = """\
name: Tune it
steps:
  - {name: write, tool: write_file, args: {path: a.txt, content: "new"}}
  - {name: pick, decision: {question: Which?, chosen: this, alternatives: [that]}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "tune.yaml").write_text(PLAN)
    data_of(tmp_path, "plan", "execute", "tune.yaml")
    return tmp_path


@pytest.mark.parametrize("verb", ["diff", "list", "status"])
def test_a_verb_is_the_command_of_its_group(project: Path, verb: str) -> None:
    short, long = ask(project, verb), ask(project, "plan", verb)
    assert short["command"] == long["command"] == f"plan {verb}"
    assert short["data"] == long["data"]


@pytest.mark.parametrize(
    ("words", "example"),
    [
        (["accept", "--help"], "mulligan accept upgrade-api"),
        (["help", "accept"], "mulligan accept upgrade-api"),
        (["plan", "accept", "--help"], "mulligan plan accept upgrade-api"),
        (["show", "--help"], "mulligan show latest"),
        (["diff", "--help"], "mulligan diff upgrade-api --from draft | git apply"),
    ],
)
def test_the_example_has_the_words_that_were_typed(
    capsys: pytest.CaptureFixture[str], words: list[str], example: str
) -> None:
    assert run(words) == 0
    assert f"Example:\n    {example}\n" in capsys.readouterr().out


def test_show_is_of_checkpoints(project: Path) -> None:
    shown = ask(project, "show", "tune-it@1")
    assert (shown["command"], shown["data"]["number"]) == ("checkpoint show", 1)


def test_the_newest_plan_that_suits_is_meant(project: Path) -> None:
    data_of(project, "plan", "create", "tune.yaml")
    assert data_of(project, "resume", "--dry-run")["handle"] == "tune-it-2"
    assert data_of(project, "rollback", "--dry-run", "first")["rollback_summary"]["plan"] == "Tune it"
    applied = data_of(project, "apply", "--yes")
    assert applied["plan_id"] == data_of(project, "status", "tune-it")["plan_id"]
    assert (project / "a.txt").read_text() == "new"
    assert data_of(project, "unapply", "--yes")["plan_id"] == applied["plan_id"]
    assert (project / "a.txt").read_text() == "old"
    data_of(project, "resume")
    assert data_of(project, "status")["state"] == "complete"


@pytest.mark.parametrize(("words", "act"), [(["unapply", "--yes"], "unapply"), (["resume"], "resume")])
def test_where_none_suits_it_is_refused(project: Path, words: list[str], act: str) -> None:
    refused = ask(project, *words)
    assert (refused["exit_code"], refused["error"]["kind"], refused["error"]["act"]) == (
        3,
        "no_plan_suits",
        act,
    )
    assert "`mulligan list`" in refused["error"]["hint"]


def test_without_any_plan_that_is_said(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    assert ask(tmp_path, "apply", "--yes")["error"]["kind"] == "no_plans_yet"


def test_a_decision_by_its_step_and_its_correction_by_its_number(project: Path) -> None:
    words = ["correct", "pick", "--mode", "revert", "--choose", "that", "--guidance", "the other", "--yes"]
    data_of(project, *words)
    assert data_of(project, "diff", "--correction", "tune-it/c1")["files"] == []
    assert ask(project, "diff", "--correction", "tune-it/c2")["error"]["kind"] == "correction_not_found"
    again = ["correct", "tune-it/d1", "--mode", "revert", "--guidance", "once more", "--yes"]
    assert ask(project, *again)["error"]["kind"] == "decision_superseded"


def test_several_decisions_of_one_step_go_by_their_numbers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    project = mulligan.init(tmp_path)
    with project.session("twice") as session, session.step("pick"):
        session.record_decision("Which?", chosen="this")
        session.record_decision("How?", chosen="so")
    correct = ["correct", "pick", "--mode", "revert", "--guidance", "other", "--yes"]
    assert ask(tmp_path, *correct)["error"]["kind"] == "ambiguous"
    with chdir(tmp_path):
        assert run([*correct, "--format", "plain"]) == 3
        shown = capfd.readouterr().err
        assert "twice/d1, twice/d2" in shown
        assert "`mulligan plan tree twice`" in shown
        assert run(["plan", "tree", "twice", "--format", "plain"]) == 0
    tree = capfd.readouterr().out
    assert "(twice/d1)" in tree
    assert "(twice/d2)" in tree


def test_a_label_cannot_look_like_a_number(project: Path) -> None:
    refused = ask(project, "checkpoint", "create", "tune-it", "--label", "v@2")
    assert (refused["exit_code"], refused["error"]["kind"]) == (2, "usage_wrong")


def test_a_plan_without_a_checkpoint_is_not_taken_for_one(project: Path) -> None:
    refused = ask(project, "rollback", "--yes", "tune-it")
    assert (refused["exit_code"], refused["error"]["kind"]) == (2, "usage_wrong")
    assert "`mulligan checkpoint list tune-it`" in refused["error"]["hint"]
    assert ask(project, "rollback", "--yes", "nothing")["error"]["kind"] == "checkpoint_not_found"
