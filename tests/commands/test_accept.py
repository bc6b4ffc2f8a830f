"""Plans that are taken as they are: accepted, kept, added to, answered; and what is refused."""

import os
import signal
import sqlite3
import time
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from mulligan.cli.main import run
from tests.commands.program import answer_of, ask, data_of, start
from tests.commands.running import on_a_terminal, sandbox
from tests.support.git_world import run_git
from tests.support.homes import home_of
from tests.support.patience import PATIENCE, wait_until

HALF = """\
name: half
steps:
  - {name: good, run: echo two >> a.txt}
  - {name: bad, run: "echo mess > mess; exit 1"}
  - {name: never, run: touch never}
"""
ASKING = """\
name: asking
steps:
  - {name: begin, run: touch begin}
  - {name: which, decision: {question: Which one?, alternatives: [this, that]}}
  - {name: end, run: 'echo "$MULLIGAN_OUTPUT_WHICH" > end'}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "half.yaml").write_text(HALF)
    (tmp_path / "asking.yaml").write_text(ASKING)
    return tmp_path


def refused(folder: Path, *words: str) -> Any:
    answer = ask(folder, *words)
    assert answer["exit_code"] == (125 if words[0] == "run" else 3), answer
    return answer["error"]


def types(folder: Path, plan: str) -> list[str]:
    found = data_of(folder, "checkpoint", "list", plan)["checkpoints"]
    return [each["checkpoint_type"] for each in found]


def test_the_answer_names_the_group_and_what_did_not_run(folder: Path) -> None:
    ask(folder, "plan", "execute", "half.yaml")
    accepted = data_of(folder, "accept")
    assert (accepted["phase"], accepted["state"], accepted["error"]) == ("execute", "complete", None)
    assert accepted["accepted"]["not_run"] == ["bad", "never"]
    shown = data_of(folder, "checkpoint", "show", f"half@{accepted['accepted']['number']}")
    assert shown["checkpoint_id"] == accepted["accepted"]["checkpoint_id"] == accepted["last_checkpoint_id"]
    assert (shown["checkpoint_type"], shown["metadata"]["reason"]) == ("post_execute", "accept")
    (line,) = data_of(folder, "list")["plans"]
    assert (line["steps_done"], line["steps_total"], line["waiting"]) == (1, 3, None)
    state = data_of(folder, "log", "half")["events"][-1]["data"]
    assert state == {"state": "complete", "accepted": True, "not_run": ["bad", "never"]}


def test_for_people_it_says_how_to_apply_and_what_is_missing(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ask(folder, "run", "--in-place", "--name", "fix", "--", "sh", "-c", "echo b >> a.txt; exit 1")
    code, shown = on_a_terminal(folder, "accept", "fix")
    assert code == 0
    assert "nothing differs" in shown
    assert "mulligan accept fix --at @3" in shown
    assert capfd.readouterr().err is not None


def test_the_step_that_failed_is_named_not_one_that_was_accepted_before(folder: Path) -> None:
    ask(folder, "run", "--name", "fix", "--", "sh", "-c", "exit 1")
    data_of(folder, "accept", "fix")
    code, shown = on_a_terminal(folder, "run", "--on", "fix", "--", "sh", "-c", "exit 2")
    assert code == 2
    assert "fix: failed at step 2" in shown


def test_undo_goes_back_to_before_what_was_accepted(folder: Path) -> None:
    ask(folder, "plan", "execute", "half.yaml")
    data_of(folder, "accept", "half", "--at", "@4")
    at = data_of(folder, "status", "half")
    assert (at["state"], max(os.listdir(sandbox(at)))) == ("complete", "mess")
    undone = data_of(folder, "undo", "--yes", "half")
    assert undone["post_rollback_state"]["state"] == "queued"
    assert not (sandbox(at) / "mess").exists()
    assert (sandbox(at) / "a.txt").read_text() == "one\ntwo\n"


def test_forward_to_what_was_accepted_is_complete_with_steps_as_they_were(folder: Path) -> None:
    ask(folder, "plan", "execute", "half.yaml")
    data_of(folder, "accept")
    before = data_of(folder, "status", "half")["steps"]
    back = data_of(folder, "rollback", "--yes", "half", "first")
    kept = back["post_rollback_state"]["pre_rollback_checkpoint"]
    assert [s["status"] for s in data_of(folder, "status", "half")["steps"]] == ["pending"] * 3
    forward = data_of(folder, "rollback", "--yes", "half", kept)
    assert (forward["post_rollback_state"]["state"], forward["rollback_summary"]["handle"]) == (
        "complete",
        "half",
    )
    after = data_of(folder, "status", "half")["steps"]
    assert (after[0], after[2]) == (before[0], before[2])


def test_a_finished_plan_is_accepted_at_a_checkpoint(folder: Path) -> None:
    data_of(folder, "run", "--name", "fix", "--", "sh", "-c", "echo b >> a.txt")
    accepted = data_of(folder, "accept", "--at", "@2")
    assert accepted["accepted"]["not_run"] == ["sh -c 'echo b >> a.txt'"]
    assert (sandbox(accepted) / "a.txt").read_text() == "one\n"
    again = data_of(folder, "accept", "fix", "--at", "@3")  # where it was complete
    assert (again["state"], again["accepted"]["number"], again["accepted"]["not_run"]) == (
        "complete",
        None,
        [],
    )
    assert (sandbox(again) / "a.txt").read_text() == "one\nb\n"


def test_a_plan_without_checkpoints_is_accepted_without_a_group(folder: Path) -> None:
    (folder / "bare.yaml").write_text("rollback_policy: {enabled: false}\n" + HALF)
    ask(folder, "plan", "execute", "bare.yaml")
    accepted = data_of(folder, "accept", "half")
    assert (accepted["state"], accepted["accepted"]["checkpoint_id"]) == ("complete", None)
    data_of(folder, "apply", "--yes", "half")
    assert (folder / "mess").exists()
    data_of(folder, "unapply", "--yes", "half")
    assert not (folder / "mess").exists()
    data_of(folder, "apply", "--yes", "half")
    assert (folder / "mess").exists()


def test_processes_that_still_write_are_ended_first(folder: Path) -> None:
    script = "echo b >> a.txt; (while :; do echo more >> more; sleep 0.01; done) & exit 1"
    words = ("-c", "sandbox.isolate=off", "run", "--name", "fix", "--", "sh", "-c", script)
    ask(folder, *words)
    data_of(folder, "accept", "fix", "--at", "@3")
    more = sandbox(data_of(folder, "status", "fix")) / "more"
    size = more.stat().st_size if more.exists() else 0
    time.sleep(0.1)
    assert (more.stat().st_size if more.exists() else 0) == size


def test_a_session_and_a_family_are_accepted(folder: Path) -> None:
    import mulligan

    project = mulligan.open(folder) if (folder / ".mulligan").exists() else mulligan.init(folder)

    def fail() -> None:
        with project.session("talk") as session:
            with session.step("one"):
                (session.path() / "b.txt").write_text("b")
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        fail()
    status, accepted = project.accept("talk")
    assert (status.state, [s.status for s in status.steps], accepted.not_run) == ("complete", ["done"], ())
    back = project.rollback("talk", "first")
    assert back.post_rollback_state.state == "queued"
    kept = back.post_rollback_state.pre_rollback_checkpoint
    assert project.rollback("talk", str(kept)).post_rollback_state.state == "complete"
    child = "{name: c, steps: [{run: touch c}, {run: 'false'}]}"
    (folder / "family.yaml").write_text(f"name: family\nsteps: [{{subplans: {{plans: [{child}]}}}}]\n")
    assert project.execute(folder / "family.yaml").state == "errored"
    assert refused(folder, "accept", "family.c")["kind"] == "plan_is_child"
    assert project.accept("family")[0].state == "complete"
    assert project.status("family.c").state == "cancelled"


@pytest.mark.parametrize("act", ["accept", "extend"])
def test_where_no_plan_suits_that_is_said(folder: Path, act: str) -> None:
    words = {"accept": ["accept"], "extend": ["run", "--on", "--", "true"]}
    data_of(folder, "init")
    assert refused(folder, *words[act])["kind"] == "no_plans_yet"
    data_of(folder, "run", "--apply", "--", "sh", "-c", "echo >> a.txt")
    assert refused(folder, *words[act])["kind"] == "no_plan_suits"


# --- run --keep and --on ---------------------------------------------------------------------------------


def test_an_interrupted_command_is_kept(folder: Path) -> None:
    data_of(folder, "init")
    script = "echo b >> a.txt; touch begun; sleep 60"
    running = start(folder, "run", "--keep", "--name", "fix", "--", "sh", "-c", script)
    wait_until(lambda: list(home_of(folder).glob("sandboxes/*/*/begun")), "the command has begun")
    running.send_signal(signal.SIGINT)
    printed, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, printed
    status = data_of(folder, "status", "fix")
    assert (status["state"], (sandbox(status) / "a.txt").read_text()) == ("complete", "one\nb\n")


def test_a_command_that_does_not_start_keeps_nothing(folder: Path) -> None:
    data_of(folder, "init")
    answer = ask(folder, "run", "--keep", "--name", "fix", "--", "no-such-program")
    assert answer["error"]["kind"] == "step_failed"
    assert answer["data"]["state"] == "errored"


def test_a_command_runs_in_the_same_subfolder_or_at_the_top(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "elsewhere").mkdir()
    data_of(folder, "run", "--name", "talk", "--", "touch", "x")
    data_of(folder / "sub", "run", "--on", "talk", "--", "touch", "here")
    in_sandbox = sandbox(data_of(folder, "status", "talk"))
    data_of(in_sandbox / "sub", "--project", str(folder), "run", "--on", "talk", "--", "touch", "there")
    data_of(Path("/"), "--project", str(folder), "run", "--on", "talk", "--", "touch", "top")
    assert sorted(p.name for p in (in_sandbox / "sub").iterdir()) == ["here", "there"]
    assert (in_sandbox / "top").exists()


def test_edits_by_hand_are_in_the_next_step(folder: Path) -> None:
    first = data_of(folder, "run", "--name", "talk", "--", "touch", "x")
    (sandbox(first) / "a.txt").write_text("by hand\n")
    second = data_of(folder, "run", "--on", "talk", "--", "sh", "-c", "cat a.txt > copy")
    assert second["resumed_from"]["edited"] == ["a.txt"]
    assert (sandbox(first) / "copy").read_text() == "by hand\n"
    assert types(folder, "talk")[2:] == ["post_execute", "manual", "before_step", "post_execute"]
    assert data_of(folder, "status", "talk")["steps"][1]["name"] == "sh -c 'cat a.txt > copy'"


def test_steps_that_were_added_go_when_the_plan_goes_back_and_come_when_it_goes_forward(folder: Path) -> None:
    for number in range(3):
        words = ("--on", "talk") if number else ("--name", "talk")
        data_of(folder, "run", *words, "--", "sh", "-c", f"echo {number} >> a.txt")
    numbers = {
        c["number"]: c["step_index"] for c in data_of(folder, "checkpoint", "list", "talk")["checkpoints"]
    }
    assert numbers == {1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2, 7: 3}
    back = data_of(folder, "rollback", "--yes", "talk", "@3")
    assert back["post_rollback_state"]["state"] == "complete"
    assert len(data_of(folder, "status", "talk")["steps"]) == 1
    other = data_of(folder, "run", "--on", "talk", "--", "sh", "-c", "echo other >> a.txt")
    assert (sandbox(other) / "a.txt").read_text() == "one\n0\nother\n"
    data_of(folder, "rollback", "--yes", "talk", "@7")
    status = data_of(folder, "status", "talk")
    assert (status["state"], [s["status"] for s in status["steps"]]) == ("complete", ["done"] * 3)
    assert all(s["duration_ms"] is not None for s in status["steps"])
    assert (sandbox(other) / "a.txt").read_text() == "one\n0\n1\n2\n"
    data_of(folder, "rollback", "--yes", "talk", "@2")
    assert data_of(folder, "status", "talk")["state"] == "queued"
    assert data_of(folder, "resume", "talk")["state"] == "complete"
    assert (sandbox(other) / "a.txt").read_text() == "one\n0\n"


def test_a_step_that_was_added_stays_in_an_edited_plan_file(folder: Path) -> None:
    (folder / "plan.yaml").write_text("name: p\nsteps: [{name: one, run: touch one}]\n")
    data_of(folder, "plan", "execute", "plan.yaml")
    ask(folder, "run", "--on", "p", "--", "sh", "-c", "test -e open")
    (folder / "plan.yaml").write_text(
        "name: p\nsteps: [{name: one, run: touch one}, {name: two, run: touch open}]\n"
    )
    again = ask(folder, "resume", "p", "--plan", "plan.yaml")["data"]
    assert [s["name"] for s in again["steps"]] == ["one", "sh -c 'test -e open'", "two"]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("--name", "x"), "usage_wrong"),
        (("--in-place",), "usage_wrong"),
        (("--resource", "."), "usage_wrong"),
    ],
)
def test_a_plan_has_its_name_and_resource(folder: Path, words: tuple[str, ...], kind: str) -> None:
    data_of(folder, "run", "--name", "talk", "--", "true")
    answer = ask(folder, "run", "--on", "talk", *words, "--", "true")
    assert (answer["exit_code"], answer["error"]["kind"]) == (125, kind)


def test_sessions_and_plans_without_checkpoints_get_no_step(folder: Path) -> None:
    import mulligan

    project = mulligan.init(folder)
    with project.session("talk"):
        pass
    assert refused(folder, "run", "--on", "talk", "--", "true")["kind"] == "plan_not_ready"
    (folder / "bare.yaml").write_text(
        "name: bare\nrollback_policy: {enabled: false}\nsteps: [{run: 'true'}]\n"
    )
    data_of(folder, "plan", "execute", "bare.yaml")
    assert refused(folder, "run", "--on", "bare", "--", "true")["kind"] == "rollback_disabled"
    with pytest.raises(mulligan.errors.UsageWrong):
        project.run_command(["true"], on="bare", name="x")


# --- questions -------------------------------------------------------------------------------------------


def test_a_question_is_data_in_every_answer_and_shown_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ask(folder, "plan", "execute", "asking.yaml")
    assert (asked["exit_code"], asked["error"]["kind"]) == (4, "question_open")
    assert (asked["error"]["question"], asked["error"]["alternatives"]) == ("Which one?", ["this", "that"])
    waiting = {
        "reason": "question",
        "step": "which",
        "question": "Which one?",
        "alternatives": ["this", "that"],
    }
    assert asked["data"]["waiting"] == waiting
    assert asked["data"]["error"]["hint"].startswith("answer with `mulligan answer asking CHOICE`")
    (line,) = data_of(folder, "list", "--waiting")["plans"]
    assert (line["handle"], line["waiting"]) == ("asking", waiting)
    assert types(folder, "asking") == ["pre_execute", "before_step", "before_step"]
    with chdir(folder):
        assert run(["status", "asking"]) == 0
    shown = capsys.readouterr().out
    assert (shown.count("Which one?"), shown.count("mulligan answer asking CHOICE")) == (1, 1)


def test_it_waits_on_a_group_without_triggers_too_and_keeps_edits_made_meanwhile(folder: Path) -> None:
    none = ("-c", "sandbox.checkpoint.auto-create-on=")
    asked = ask(folder, *none, "plan", "execute", "asking.yaml")
    assert types(folder, "asking") == ["pre_execute", "before_step"]
    (sandbox(asked["data"]) / "meanwhile").write_text("edited")
    done = data_of(folder, *none, "answer", "asking", "that")
    assert [s["status"] for s in done["steps"]] == ["done"] * 3
    assert (sandbox(done) / "end").read_text() == "that\n"
    assert (sandbox(done) / "meanwhile").read_text() == "edited"
    assert types(folder, "asking") == ["pre_execute", "before_step", "decision", "post_execute"]


def test_any_text_answers_a_question_without_alternatives(folder: Path) -> None:
    (folder / "open.yaml").write_text("name: open\nsteps: [{name: q, decision: {question: Why?}}]\n")
    assert ask(folder, "plan", "execute", "open.yaml")["exit_code"] == 4
    assert ask(folder, "answer", "open", " ")["error"]["kind"] == "usage_wrong"
    data_of(folder, "answer", "open", "because", "--rationale", "it is so")
    (line,) = [e["data"] for e in data_of(folder, "log", "open")["events"] if e["type"] == "decision"]
    assert line["chosen"] == "because"


def test_undo_and_append_know_a_question(folder: Path) -> None:
    ask(folder, "plan", "execute", "asking.yaml")
    undone = data_of(folder, "undo", "--yes", "asking")
    assert undone["post_rollback_state"]["step_index"] == 0
    assert ask(folder, "resume", "asking")["exit_code"] == 4
    data_of(folder, "answer", "asking", "this")
    more = ("correct", "which", "--mode", "append", "--guidance", "more", "--yes")
    appended = data_of(folder, *more)
    assert [s["status"] for s in appended["steps"]] == ["done"] * 4


def test_plans_with_conflicts_wait_too(folder: Path) -> None:
    first = data_of(folder, "run", "--name", "fix", "--", "sh", "-c", "echo b > a.txt")
    (folder / "a.txt").write_text("mine\n")
    assert ask(folder, "apply", "--yes", "fix")["exit_code"] == 4
    data = data_of(folder, "list", "--waiting", "--limit", "1")
    assert [p["waiting"] for p in data["plans"]] == [{"reason": "conflicts", "paths": ["a.txt"]}]
    code, shown = on_a_terminal(folder, "list", "--waiting")
    assert (code, "1 conflict: a.txt" in shown, "mulligan apply fix" in shown) == (0, True, True)
    ran = data_of(folder, "run", "--on", "fix", "--", "sh", "-c", "echo mine > a.txt")
    assert (ran["state"], (sandbox(first) / "a.txt").read_text()) == ("complete", "mine\n")
    data_of(folder, "apply", "--yes", "fix")


def test_a_session_asks_and_gets_the_answer_when_it_is_resumed(folder: Path) -> None:
    import mulligan

    project, seen = mulligan.init(folder), list[str]()

    def work(**how: Any) -> None:
        with project.session(**how) as session:
            if not session.done("one"):
                with session.step("one"):
                    (session.path() / "one").touch()
            seen.append(session.ask("Which one?", ["this", "that"]))
            with session.step("two"):
                (session.path() / "two").write_text(seen[-1])

    with pytest.raises(mulligan.errors.QuestionOpen) as asked:
        work(name="talk")
    assert asked.value.facts["alternatives"] == ["this", "that"]
    status = project.status("talk")
    assert (status.state, (status.waiting or {})["question"]) == ("constrained", "Which one?")
    with pytest.raises(mulligan.errors.QuestionOpen):
        work(resume="talk")
    assert refused(folder, "answer", "talk", "other")["kind"] == "answer_unknown"
    answered, execution = project.answer("talk", "that", rationale="why not")
    assert (answered.state, execution.only_restored) == ("queued", True)
    work(resume="talk")
    assert (seen, project.status("talk").state) == (["that"], "complete")
    assert project.status("talk").execution.decisions == 1


def test_a_program_that_goes_on_after_its_question_leaves_the_plan_waiting(folder: Path) -> None:
    import mulligan

    project = mulligan.init(folder)
    with project.session("talk") as session:
        with pytest.raises(mulligan.errors.QuestionOpen):
            session.ask("Which one?")
        with pytest.raises(mulligan.errors.SessionClosed):
            session.checkpoint("x")
    assert project.status("talk").state == "constrained"
    with (
        project.session("other") as session,
        session.step("inside"),
        pytest.raises(mulligan.errors.StepUnderWay),
    ):
        session.ask("Which one?")


# --- hand edits, and where they do not count -------------------------------------------------------------


KEPT = """\
name: kept
rollback_policy: {on_failure: keep}
config: {sandbox.checkpoint.auto-create-on: TRIGGERS}
steps: [{name: one, run: 'echo x >> tries; echo mess > mess; test -e open'}]
"""


def test_what_a_failed_step_left_is_an_edit_only_where_a_group_tells_the_two_apart(folder: Path) -> None:
    (folder / "kept.yaml").write_text(KEPT.replace("TRIGGERS", "[]"))
    place = sandbox(ask(folder, "plan", "execute", "kept.yaml")["data"])
    (place / "open").touch()
    again = ask(folder, "resume", "kept")
    assert again["data"]["resumed_from"]["discarded"]
    assert (place / "tries").read_text() == "x\n"


def test_what_was_kept_of_a_failed_step_is_continued_from_once_it_is_edited(folder: Path) -> None:
    (folder / "kept.yaml").write_text(KEPT.replace("TRIGGERS", "[on_error]"))
    status = ask(folder, "plan", "execute", "kept.yaml")["data"]
    place = sandbox(status)
    again = ask(folder, "resume", "kept")  # nobody edited it: from before the step
    assert again["data"]["resumed_from"]["discarded"]
    assert (place / "tries").read_text() == "x\n"
    (place / "open").touch()
    done = data_of(folder, "resume", "kept")
    assert done["resumed_from"]["edited"] == ["open"]
    assert (place / "tries").read_text() == "x\nx\n"


def test_an_interrupted_step_is_taken_back_with_what_was_edited_since(folder: Path) -> None:
    data_of(folder, "init")
    (folder / "slow.yaml").write_text(
        "name: slow\nsteps: [{name: one, run: 'echo half > a.txt; touch begun; test -e go || sleep 60; rm -f go'}]\n"
    )
    running = start(folder, "plan", "execute", "slow.yaml")
    wait_until(lambda: list(home_of(folder).glob("sandboxes/*/*/begun")), "the command has begun")
    running.send_signal(signal.SIGINT)
    assert answer_of(running)["exit_code"] == 130
    place = sandbox(data_of(folder, "status", "slow"))
    (place / "a.txt").write_text("edited\n")
    (folder / "slow.yaml").write_text("name: slow\nsteps: [{name: one, run: cat a.txt > seen}]\n")
    done = data_of(folder, "resume", "slow", "--plan", "slow.yaml")
    assert (done["resumed_from"]["edited"], (place / "seen").read_text()) == ([], "one\n")
    assert done["resumed_from"]["discarded"]


def test_resume_from_a_finished_checkpoint_is_refused(folder: Path) -> None:
    data_of(folder, "run", "--name", "fix", "--", "true")
    assert refused(folder, "resume", "--from", "fix@3")["kind"] == "plan_already_complete"
    assert data_of(folder, "resume", "--from", "fix@2")["state"] == "complete"
    assert ask(folder, "resume", "fix", "--from", "@1", "--dry-run")["error"]["kind"] == "usage_wrong"


# --- unapply ---------------------------------------------------------------------------------------------

MIXED = """\
name: mixed
resources:
  app: {type: git-checkout, location: app}
  data: {type: sqlite, location: data.db}
  live: {type: fs-directory, location: live, strategy: in_place}
steps:
  - {name: edit, run: "echo plan >> text; git add -A; git commit -qm inner; echo untracked > more"}
  - {name: rows, tool: sql, resource: data, args: {statements: ["insert into t values ('plan')"]}}
  - {name: here, resource: live, run: echo live > live.txt}
"""


def rows(file: Path) -> list[str]:
    connection = sqlite3.connect(file)
    try:
        return [x for (x,) in connection.execute("select x from t")]
    finally:
        connection.close()


def test_apply_and_unapply_in_turn_with_work_of_others_between(tmp_path: Path) -> None:
    app = tmp_path / "app"
    for name in ("app", "live"):
        (tmp_path / name).mkdir()
    run_git(app, "init", "-q")
    run_git(app, "config", "user.name", "n")
    run_git(app, "config", "user.email", "n@e")
    (app / "text").write_text("".join(f"{n}\n" for n in range(9)))
    run_git(app, "add", "-A")
    run_git(app, "commit", "-qm", "first")
    connection = sqlite3.connect(tmp_path / "data.db")
    connection.execute("create table t (x)")
    connection.close()
    (tmp_path / "mixed.yaml").write_text(MIXED)
    status = data_of(tmp_path, "plan", "execute", "mixed.yaml")
    place = {s["resource"]: Path(s["path"]) for s in status["sandboxes"]}
    head = run_git(place["app"], "log", "--format=%s")
    refs = [c["sandbox_ref"] for c in data_of(tmp_path, "checkpoint", "list", "mixed")["checkpoints"]]
    for turn in range(3):
        mine = (app / "text").read_text().replace(f"{turn}\n", f"mine {turn}\n", 1)
        (app / "text").write_text(mine)
        data_of(tmp_path, "apply", "--yes", "mixed")
        assert (app / "text").read_text() == mine + "plan\n"
        assert rows(tmp_path / "data.db") == ["plan"]
        assert not place["app"].exists()
        for words in (("apply",), ("rollback", "first")):
            assert refused(tmp_path, words[0], "--yes", "mixed", *words[1:])["kind"] == "plan_already_applied"
        taken = data_of(tmp_path, "unapply", "--yes", "mixed")
        assert (taken["phase"], taken["state"]) == ("execute", "complete")
        assert ((app / "text").read_text(), rows(tmp_path / "data.db")) == (mine, [])
        assert {s["resource"]: Path(s["path"]) for s in taken["sandboxes"]} == place
        assert run_git(place["app"], "log", "--format=%s") == head
        assert run_git(place["app"], "status", "--porcelain").strip() == "?? more"
    again = [c["sandbox_ref"] for c in data_of(tmp_path, "checkpoint", "list", "mixed")["checkpoints"]]
    assert again[: len(refs)] == refs
    data_of(tmp_path, "gc")
    assert data_of(tmp_path, "doctor")["findings"] == []
    data_of(tmp_path, "rollback", "--yes", "mixed", "first")
    assert not (tmp_path / "live" / "live.txt").exists()
    assert data_of(tmp_path, "resume", "mixed")["state"] == "complete"
    data_of(tmp_path, "apply", "--yes", "mixed")
    assert (app / "text").read_text().endswith("plan\n")


def test_a_child_whose_sandbox_went_with_an_apply_is_corrected_after_an_unapply(folder: Path) -> None:
    child = "{name: c, steps: [{name: pick, decision: {question: Q?, chosen: a}}, {run: touch c}]}"
    (folder / "family.yaml").write_text(f"name: family\nsteps: [{{subplans: {{plans: [{child}]}}}}]\n")
    data_of(folder, "plan", "execute", "family.yaml")
    data_of(folder, "apply", "--yes", "family")
    data_of(folder, "unapply", "--yes", "family")
    words = ("correct", "pick", "--mode", "revert", "--guidance", "g", "--yes")
    assert data_of(folder, *words)["state"] == "complete"
    data_of(folder, "rollback", "--yes", "family", "first")
    assert data_of(folder, "resume", "family")["state"] == "complete"


def test_another_branch_is_asked_about_on_a_terminal(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "-b", "main")
    run_git(tmp_path, "config", "user.name", "n")
    run_git(tmp_path, "config", "user.email", "n@e")
    (tmp_path / "text").write_text("one\n")
    run_git(tmp_path, "add", "-A")
    run_git(tmp_path, "commit", "-qm", "first")
    data_of(tmp_path, "run", "--name", "fix", "--", "sh", "-c", "echo two >> text")
    run_git(tmp_path, "switch", "-q", "-c", "other")
    for words in (("--yes",), ("--dry-run",), ("--yes", "--no-commit")):
        error = refused(tmp_path, "apply", *words)
        assert (error["kind"], error["began"], error["now"]) == ("branch_differs", "main", "other")
    code, shown = on_a_terminal(tmp_path, "apply", typed=(b"Apply it there?", b"n\n"))
    assert (code, "began on branch main" in shown) == (3, True)
    assert data_of(tmp_path, "apply", "--dry-run", "--onto-branch")["dry_run"] is True
    run_git(tmp_path, "switch", "-q", "--detach")
    assert refused(tmp_path, "apply", "--yes", "--no-commit")["kind"] == "branch_differs"
    run_git(tmp_path, "switch", "-q", "main")
    data_of(tmp_path, "apply", "--yes")
    assert (tmp_path / "text").read_text() == "one\ntwo\n"


def test_what_is_accepted_in_place_is_there_and_apply_asks_nothing(tmp_path: Path) -> None:
    ask(tmp_path, "run", "--in-place", "--name", "i3", "--", "sh", "-c", "echo half > half; exit 2")
    shown = on_a_terminal(tmp_path, "accept", "i3")[1]
    assert "mulligan apply" not in shown
    before = data_of(tmp_path, "log")["entries"]
    answer = ask(tmp_path, "apply", "i3")
    assert (answer["exit_code"], answer["data"]["applied"]) == (0, [])
    assert on_a_terminal(tmp_path, "apply", "i3")[0] == 0
    assert data_of(tmp_path, "log")["entries"] == before
