"""What a newcomer stumbles over: words that count right, say which way a plan went, and know what was meant."""

import re
from contextlib import chdir
from pathlib import Path

import pytest

from mulligan.cli.invocation import Invocation
from mulligan.cli.main import run
from tests.commands.program import ask, data_of, words_in
from tests.support.homes import home_of

PLAN = """
name: tour
steps:
  - {name: one, tool: write_file, args: {path: a.txt, content: "one\\n"}, checkpoint: draft}
  - {name: choose, decision: {question: Which?, chosen: this}}
  - {name: two, tool: write_file, args: {path: a.txt, content: "two\\n"}, checkpoint: before release}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("old\n")
    (folder / "plan.yaml").write_text(PLAN)
    data_of(folder, "plan", "execute", "plan.yaml")
    return folder


@pytest.fixture
def shown(project: Path, capfdbinary: pytest.CaptureFixture[bytes]):
    """What people see of a command, on both streams."""

    def show(*words: str) -> str:
        capfdbinary.readouterr()
        with chdir(project):
            run([*words, "--format", "plain"])
        printed = capfdbinary.readouterr()
        return (printed.out + printed.err).decode()

    return show


def test_one_is_not_many(project: Path, shown) -> None:
    told = shown("plan", "rollback", "tour", "draft", "--dry-run")
    assert "1 path to be changed; 1 tool call, 1 decision to be taken back\n" in told
    assert "1 older plan" not in shown("plan", "list", "--limit", "1")
    entries = len(re.findall(r"^\d\d:\d\d:\d\d ", shown("plan", "log"), re.MULTILINE))
    assert "note: 1 older entry not shown\n" in shown("plan", "log", "--limit", str(entries - 1))
    assert "note: 1 older group not shown\n" in shown("checkpoint", "list", "--limit", "7")
    assert "1 checkpoint looked at, 0 damaged\n" in shown("checkpoint", "verify", "draft")
    assert "1 group would be removed, 7 kept\n" in shown(
        "checkpoint", "prune", "tour", "--keep", "7", "--dry-run"
    )


def test_a_rollback_says_which_way_it_goes(project: Path, shown) -> None:
    assert "tour would go back to tour@3, your label 'draft'\n" in shown(
        "plan", "rollback", "tour", "draft", "--dry-run"
    )
    done = ask(project, "plan", "rollback", "tour", "draft", "--yes")["data"]
    assert done["rollback_summary"]["direction"] == "back"
    kept = done["post_rollback_state"]["pre_rollback_checkpoint"]
    preview = shown("plan", "rollback", "tour", kept, "--dry-run")
    assert "tour would go forward to tour@9, before a rollback\n" in preview
    assert "1 path to be changed; 0 tool calls, 0 decisions to be taken back\n" in preview
    assert "tour went forward to tour@9, before a rollback\n" in shown(
        "plan", "rollback", "tour", kept, "--yes"
    )
    assert "went back to " in shown("plan", "rollback", "tour", "first", "--yes")


def test_a_step_back_on_a_line_that_was_left_is_no_step_forward(project: Path) -> None:
    first, *_ = data_of(project, "checkpoint", "list")["checkpoints"][1:]
    data_of(project, "plan", "rollback", "tour", "first", "--yes")
    data_of(project, "plan", "resume", "tour")
    went = data_of(project, "plan", "rollback", "tour", first["checkpoint_id"], "--yes")
    assert first["step_index"] == 0
    assert went["rollback_summary"]["direction"] == "back"


def test_a_misspelt_label_is_answered_with_the_nearest(project: Path) -> None:
    for words in (("plan", "rollback", "--dry-run", "tour", "befor release"), ("checkpoint", "show", "drft")):
        error = ask(project, *words)["error"]
        assert error["kind"] == "checkpoint_not_found"
        meant = "before release" if "rollback" in words else "draft"
        assert error["hint"].startswith(f"did you mean '{meant}'? `mulligan checkpoint list ")
    assert "'latest'" in ask(project, "checkpoint", "show", "lastest")["error"]["hint"]
    assert "did you mean" not in ask(project, "checkpoint", "show", "nonsense")["error"]["hint"]


def test_a_plan_that_has_no_checkpoints_yet_says_so(project: Path) -> None:
    plan_id = data_of(project, "plan", "create", "plan.yaml")["plan_id"]
    for words in (("checkpoint", "show", "latest"), ("plan", "rollback", "--yes", plan_id, "first")):
        error = ask(project, *words)["error"]
        assert error["kind"] == "checkpoint_not_found"
        assert f"plan {plan_id} has none yet" in error["hint"]
    assert (
        ask(project, "plan", "rollback", "--yes", plan_id, "nonsense")["error"]["kind"]
        == "checkpoint_not_found"
    )


def test_a_label_that_is_given_again_is_told_and_no_way_leads_to_it_but_the_number(
    project: Path, shown
) -> None:
    taken = ask(project, "checkpoint", "create", "tour", "--label", "draft")
    assert taken["status"] == "ok"
    assert taken["messages"] == ["'draft' is the label of another checkpoint too: name each by its number"]
    assert ask(project, "checkpoint", "create", "tour", "--label", "alone")["messages"] == []
    error = ask(project, "checkpoint", "show", "draft")["error"]
    assert error["kind"] == "ambiguous"
    assert error["hint"] == "several have that label: name one by its number"
    assert "name each by its number" in shown("checkpoint", "create", "tour", "--label", "draft")
    data_of(project, "plan", "rollback", "tour", "first", "--yes")
    assert ask(project, "checkpoint", "create", "tour", "--label", "draft")["messages"] == []


def test_an_ambiguous_prefix_wants_more_of_the_id(project: Path) -> None:
    prefix = data_of(project, "checkpoint", "show", "draft")["checkpoint_id"][:6]
    error = ask(project, "checkpoint", "show", prefix)["error"]
    assert (error["kind"], error["hint"]) == ("ambiguous", "give more characters of the id")


def test_no_word_is_cut_on_a_narrow_terminal(
    project: Path, shown, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    plain = words_in(shown("checkpoint", "list"))
    for columns in ("80", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        with chdir(project):
            assert run(["checkpoint", "list", "--format", "rich"]) == 0
        assert words_in(capfdbinary.readouterr().out.decode()) == plain


def test_help_has_its_short_name_everywhere(shown) -> None:
    assert shown("-h").startswith("Usage: mulligan [")
    assert shown("plan", "-h").startswith("Usage: mulligan plan [")
    assert shown("plan", "rollback", "-h").startswith("Usage: mulligan plan rollback [")


def test_a_restored_folder_is_told_as_it_is(project: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "link").symlink_to(project)
    for to, wanted in {
        "../look": tmp_path / "look",
        "./here": project / "here",
        "../far/link/../up": tmp_path / "up",
    }.items():
        (restored,) = data_of(project, "checkpoint", "restore", "draft", "--to", to)["restored"]
        assert restored["path"] == str(wanted.resolve() / "workspace")
        assert (wanted / "workspace" / "a.txt").read_text() == "one\n"
    (tmp_path / "dangling").symlink_to("nowhere")
    for to in ("../dangling", "../look", "..", "."):
        assert ask(project, "checkpoint", "restore", "draft", "--to", to)["error"]["kind"] == "target_exists"


def test_what_was_applied_is_told_as_done(project: Path, shown) -> None:
    assert "\nwould be applied in workspace: 1 file, +1 -1\n" in shown("plan", "apply", "tour", "--dry-run")
    assert "\napplied in workspace: 1 file, +1 -1\n" in shown("plan", "apply", "tour", "--yes")
    assert "\ntaken back in workspace: 1 file, +1 -1\n" in shown("plan", "unapply", "tour", "--yes")


def test_a_resume_that_was_only_tried_did_not_go_on(project: Path, shown) -> None:
    ask(project, "plan", "rollback", "tour", "draft", "--yes")
    assert "\nwould go on from " in shown("plan", "resume", "--dry-run", "tour")
    assert "\nwent on from " in shown("plan", "resume", "tour")


def test_a_checkpoint_has_one_id_wherever_it_is_shown(project: Path, shown) -> None:
    views = data_of(project, "checkpoint", "list")["checkpoints"]
    for words, field, sign in (
        (("plan", "log"), "number", "@"),
        (("plan", "tree"), "number", "tour@"),
        (("plan", "tree", "--ids"), "checkpoint_id", "("),
        (("plan", "report", "--html", "-"), "number", "@"),
    ):
        told = shown(*words)
        assert [view for view in views if f"{sign}{view[field]}" not in told] == [], words


def test_what_a_tool_call_left_is_told_as_that(project: Path, shown) -> None:
    plan_id = data_of(project, "plan", "status")["plan_id"]
    left = home_of(project.resolve()) / "scratch" / plan_id / "tmp"
    left.mkdir(parents=True)
    orphan = home_of(project.resolve()) / "sandboxes" / plan_id / "none"
    orphan.mkdir()
    told = shown("doctor")
    assert f"removed the folder {left}, which an interrupted tool call left behind" in told
    assert f"removed the folder {orphan}, which belongs to no plan" in told
    assert not left.exists()


def test_a_tree_tells_what_the_last_failure_left_from_those_before(project: Path, shown) -> None:
    (project / "plan.yaml").write_text(
        'name: fails\nsteps:\n  - {name: bad, tool: shell, args: {command: "false"}}\n'
    )
    for words in (("plan", "execute", "plan.yaml"), ("plan", "resume", "fails")):
        assert ask(project, *words)["exit_code"] == 1
    told = [
        line for line in shown("plan", "tree", "--show-superseded").splitlines() if "when it failed" in line
    ]
    assert [re.split(", |checkpoint ", line)[-1] for line in told] == [
        "left behind)",
        "what step 1 left when it failed (fails@5)",
    ]


def test_the_cause_of_a_failed_step_is_told_once_in_full(project: Path, shown) -> None:
    (project / "plan.yaml").write_text(
        "name: fails\nsteps:\n  - {name: bad, tool: shell, args: {command: 'echo why >&2; exit 3'}}\n"
    )
    told = shown("plan", "execute", "plan.yaml")
    assert "\nshell: ended with exit status 3" in told
    *_, error, hint = told.splitlines()
    assert error == "error: step 'bad' failed: shell: ended with exit status 3"
    assert hint.startswith("hint: correct the command")
    assert len(hint) < 240
    assert told.count("why") == 2, "as it came, and where the step failed"
    assert "\nwhy" in ask(project, "plan", "resume", "fails")["error"]["message"]


def test_what_was_shown_with_the_question_is_not_shown_again(
    project: Path, shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Invocation, "confirm", lambda *_given, **_options: None)
    for words, row, done in (
        (("undo",), "restored  workspace  a.txt\n", "\nundid 3 in the sandbox: step two (tour)"),
        (("plan", "rollback", "tour", "first"), "restored  workspace  a.txt\n", "\ntour went back to "),
        (("plan", "resume", "tour"), "", "went on from"),
        (("plan", "apply", "tour"), "modified  workspace  a.txt\n", "\napplied in workspace: "),
        (("plan", "unapply", "tour"), "modified  workspace  a.txt\n", "\ntaken back in workspace: "),
    ):
        told = shown(*words)
        assert done in told
        assert not row or told.count(row) == 1, told
    assert "\n1 path changed; " not in shown("plan", "unapply", "tour")


def test_a_result_that_changes_while_the_question_waits_is_not_applied(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(*_given: object, **_options: object) -> None:
        data_of(project, "run", "--on", "tour", "--", "sh", "-c", "echo owt > a.txt")

    monkeypatch.setattr(Invocation, "confirm", change)
    assert ask(project, "plan", "apply", "tour")["error"]["kind"] == "result_changed"
    assert (project / "a.txt").read_text() == "old\n"
    monkeypatch.undo()
    assert ask(project, "plan", "apply", "tour", "--yes")["exit_code"] == 0
    assert (project / "a.txt").read_text() == "owt\n"


def test_of_a_database_no_lines_are_counted(project: Path, shown) -> None:
    (project / "data.yaml").write_text(
        "name: data\nresources: {db: {type: sqlite, location: app.db, create: true}}\n"
        "steps: [{name: fill, tool: sql, args: {statements: ['CREATE TABLE t AS SELECT 1 z, 2 a']}},\n"
        "  {name: read, tool: sql, args: {statements: [SELECT * FROM t]}}]\n"
    )
    assert "\nz  a\n1  2\n" in shown("plan", "execute", "data.yaml")
    page = shown("plan", "report", "data", "--html", "-")
    assert page.index("&quot;z&quot;: 1") < page.index("&quot;a&quot;: 2")
    assert "\nwould be applied in db: database made\n" in shown("plan", "apply", "data", "--dry-run")
    assert "\napplied in db: database made\n" in shown("plan", "apply", "data", "--yes")


def test_a_choice_corrects_a_decision_without_more_words(project: Path, shown) -> None:
    told = shown("correct", "tour/d1", "--choose", "that", "--yes")
    assert [line for line in told.splitlines() if "decision:" in line] == ["  decision: Which? that"]
    correction = data_of(project, "status")["corrections"][0]
    assert (correction["mode"], correction["chosen"], correction["guidance"]) == ("revert", "that", "that")
    told = shown("correct", "tour/d3", "--choose", "other", "--guidance", "because", "--yes")
    assert [line for line in told.splitlines() if "decision:" in line] == ["  decision: Which? other"]
    assert data_of(project, "status")["corrections"][1]["guidance"] == "because"
    refused = ask(project, "correct", "choose", "--yes")
    assert (refused["exit_code"], refused["error"]["kind"]) == (2, "usage_wrong")


def test_the_newest_plan_is_the_first_in_a_list(project: Path, shown) -> None:
    data_of(project, "run", "true")
    assert [plan["handle"] for plan in data_of(project, "list")["plans"]] == ["tour", "true"]
    told = shown("list")
    assert told.index("\ntrue ") < told.index("\ntour ")


def test_an_empty_list_of_one_state_does_not_say_that_there_are_no_plans(project: Path, shown) -> None:
    assert shown("list", "--state", "errored") == "no plan is in that state\n"


@pytest.mark.parametrize(("word", "state"), [("failed", "errored"), ("ready to go on", "queued")])
def test_a_state_goes_by_its_word_in_the_list(project: Path, shown, word: str, state: str) -> None:
    ask(project, "run", "--name", "bad", "--", "false")
    data_of(project, "rollback", "--yes", "tour@2")
    plans = data_of(project, "list", "--state", word)["plans"]
    assert [plan["state"] for plan in plans] == [state]
    assert f" {word} " in shown("list", "--state", word)


def test_a_list_without_homes_to_remove_removes_nothing(project: Path, shown) -> None:
    assert "would" not in shown("projects", "prune", "--yes")


NAMELESS = """
name: nameless
steps:
  - run: echo hello
  - decision: {question: Which name?, chosen: this}
  - run: "false"
"""


def test_steps_without_a_name_are_shown_by_what_they_do(tmp_path: Path, shown) -> None:
    (tmp_path / "plan.yaml").write_text(NAMELESS)
    assert ask(tmp_path, "plan", "execute", "plan.yaml")["exit_code"] == 1
    status = data_of(tmp_path, "status")
    assert [step["name"] for step in status["steps"]] == ["step-1", "step-2", "step-3"]
    assert [step["about"] for step in status["steps"]] == ["echo hello", "Which name?", "false"]
    for words in (("status",), ("log",), ("log", "nameless")):
        told = shown("--project", str(tmp_path), *words)
        assert "echo hello" in told
        assert "Which name?" in told
    assert "failed at step 3 (false)" in shown("--project", str(tmp_path), "status")


def test_the_log_of_a_plan_is_in_the_order_of_its_times(project: Path) -> None:
    times = [event["created_at"] for event in data_of(project, "plan", "log")["events"]]
    assert times == sorted(times)
