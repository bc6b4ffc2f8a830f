"""Forks of plans: what they start with, what their apply merges, and what is refused."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mulligan
from mulligan.errors import RestoreFailed
from tests.commands.program import ask, data_of
from tests.commands.running import sandbox
from tests.support.git_world import GIT_ENVIRONMENT, run_git

TUNE = """\
name: tune
steps:
  - {name: which, decision: {question: Which one?, chosen: this, alternatives: [that]}}
  - {name: one, run: echo one >> a.txt}
  - {name: two, run: echo two >> a.txt}
"""
FAMILY = """\
name: family
steps:
  - {name: before, run: echo before > before}
  - name: parts
    subplans:
      plans:
        - {name: kid, steps: [{name: work, run: echo kid > kid}]}
"""


@pytest.fixture(autouse=True)
def git_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_ENVIRONMENT["GIT_CONFIG_GLOBAL"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("zero\n")
    (tmp_path / "tune.yaml").write_text(TUNE)
    (tmp_path / "family.yaml").write_text(FAMILY)
    return tmp_path


def refused(folder: Path, *words: str) -> Any:
    answer = ask(folder, *words)
    assert answer["exit_code"] == 3, answer
    return answer["error"]


def test_a_fork_has_the_state_of_its_group_and_runs_the_steps_that_are_left(folder: Path) -> None:
    tune = data_of(folder, "plan", "execute", "tune.yaml")
    fork = data_of(folder, "plan", "fork", "tune@5")
    assert (fork["handle"], fork["phase"], fork["state"]) == ("tune-2", "execute", "queued")
    origin = fork["forked_from"]
    assert (origin["plan_id"], origin["handle"], origin["number"]) == (tune["plan_id"], "tune", 5)
    assert [step["status"] for step in fork["steps"]] == ["done", "done", "pending"]
    assert fork["execution"]["decisions"] == 1
    assert (sandbox(fork) / "a.txt").read_text() == "zero\none\n"
    done = data_of(folder, "resume", "tune-2")
    assert done["state"] == "complete"
    assert [step["status"] for step in done["steps"]] == ["done", "done", "done"]
    assert data_of(folder, "status", "tune")["state"] == "complete"
    assert (sandbox(tune) / "a.txt").read_text() == "zero\none\ntwo\n"
    assert (folder / "a.txt").read_text() == "zero\n"
    data_of(folder, "apply", "--yes", "tune-2")
    assert (folder / "a.txt").read_text() == "zero\none\ntwo\n"


def test_a_fork_of_a_finished_plan_is_complete_and_takes_another_step(folder: Path) -> None:
    data_of(folder, "plan", "execute", "tune.yaml")
    fork = data_of(folder, "fork", "--name", "other")
    assert (fork["handle"], fork["state"], fork["forked_from"]["number"]) == ("other", "complete", 6)
    data_of(folder, "run", "--on", "other", "--", "sh", "-c", "echo three >> a.txt")
    changed = data_of(folder, "diff", "other")
    assert [(file["path"], file["insertions"]) for file in changed["files"]] == [("a.txt", 3)]
    data_of(folder, "apply", "--yes", "other")
    assert (folder / "a.txt").read_text() == "zero\none\ntwo\nthree\n"
    assert [f["insertions"] for f in data_of(folder, "diff", "other")["files"]] == [3]


def test_words_for_the_group(folder: Path) -> None:
    data_of(folder, "plan", "execute", "tune.yaml")
    data_of(folder, "checkpoint", "create", "tune", "--label", "draft")
    assert data_of(folder, "fork", "tune", "draft")["forked_from"]["number"] == 7
    assert data_of(folder, "fork", "tune", "@4")["forked_from"]["number"] == 4
    of_the_newest = data_of(folder, "fork", "@1")
    assert (of_the_newest["forked_from"]["handle"], of_the_newest["handle"]) == ("tune-3", "tune-4")


def test_the_ancestry_is_shown_and_outlives_the_origin(folder: Path) -> None:
    data_of(folder, "plan", "execute", "tune.yaml")
    data_of(folder, "fork", "tune@4", "--name", "other")
    data_of(folder, "rm", "--yes", "tune")
    assert data_of(folder, "status", "other")["forked_from"]["handle"] == "tune"
    created = data_of(folder, "log", "other")["events"][0]
    assert created["data"]["forked_from"]["number"] == 4
    assert data_of(folder, "plan", "tree", "other")["tree"]["forked_from"]["number"] == 4
    (listed,) = data_of(folder, "list")["plans"]
    assert listed["forked_from"]["handle"] == "tune"
    assert "Forked from" in mulligan.open(folder).report("other")
    assert data_of(folder, "resume", "other")["state"] == "complete"


def test_the_ancestry_is_text_for_people(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from contextlib import chdir

    from mulligan.cli.main import run

    data_of(folder, "plan", "execute", "tune.yaml")
    with chdir(folder):
        for words in (
            ["plan", "fork", "tune@4", "--name", "other"],
            ["log", "other"],
            ["plan", "tree", "other"],
        ):
            assert run(words) == 0
            assert "forked from tune@4" in capfd.readouterr().out


def test_a_superseded_group_can_be_forked_and_a_correction_undone_by_it(folder: Path) -> None:
    data_of(folder, "plan", "execute", "tune.yaml")
    data_of(folder, "correct", "tune/d1", "--choose", "that", "--yes")
    before = data_of(folder, "fork", "tune@6", "--name", "before")
    after = data_of(folder, "fork", "tune", "--name", "after")
    chosen = [
        [
            child["chosen"]
            for child in data_of(folder, "plan", "tree", name)["tree"]["children"]
            if child["type"] == "decision"
        ]
        for name in ("before", "after")
    ]
    assert chosen[0] == ["this"]
    assert "that" in chosen[1]
    assert (before["state"], after["state"]) == ("complete", "complete")


def test_a_step_that_was_added_belongs_to_the_fork(folder: Path) -> None:
    data_of(folder, "plan", "execute", "tune.yaml")
    data_of(folder, "run", "--on", "tune", "--", "touch", "more")
    fork = data_of(folder, "fork", "tune", "--name", "other")
    assert [step["status"] for step in fork["steps"]] == ["done"] * 4
    data_of(folder, "run", "--on", "other", "--", "touch", "most")
    data_of(folder, "rollback", "--yes", "other", "@1")
    assert [step["status"] for step in data_of(folder, "status", "other")["steps"]] == ["done"] * 4


def test_a_fork_of_a_checkout_has_its_own_git_directory(folder: Path) -> None:
    run_git(folder, "init", "-q")
    run_git(folder, "add", "a.txt")
    run_git(folder, "commit", "-qm", "first")
    told = "echo one >> a.txt; git commit -qam agent; echo new > n.txt; git add n.txt"
    tune = data_of(folder, "run", "--name", "tune", "--", "sh", "-c", told)
    fork = data_of(folder, "fork", "tune", "--name", "other")
    top = sandbox(fork)
    assert run_git(top, "log", "--format=%s").split() == ["agent", "first"]
    assert "A  n.txt" in run_git(top, "status", "--short")
    data_of(folder, "run", "--on", "other", "--", "git", "commit", "-qm", "mine")
    assert run_git(sandbox(tune), "log", "--format=%s").split() == ["agent", "first"]
    assert run_git(sandbox(data_of(folder, "status", "other")), "log", "--format=%s").split()[0] == "mine"
    data_of(folder, "apply", "--yes", "--no-commit", "other")
    assert (folder / "n.txt").read_text() == "new\n"
    assert (folder / "a.txt").read_text() == "zero\none\n"
    assert data_of(folder, "checkpoint", "verify")["damaged"] == []
    assert data_of(folder, "doctor")["findings"] == []


@pytest.mark.parametrize("checkout", [False, True])
def test_a_fork_of_an_applied_plan_merges_what_it_does_itself(folder: Path, checkout: bool) -> None:
    if checkout:
        run_git(folder, "init", "-q")
        run_git(folder, "add", "a.txt")
        run_git(folder, "commit", "-qm", "first")
    told = "echo one >> a.txt; test ! -e .git || git commit -qam agent"
    data_of(folder, "run", "--name", "tune", "--", "sh", "-c", told)
    data_of(folder, "apply", "--yes", "tune")
    fork = data_of(folder, "fork", "tune", "--name", "other")
    assert (sandbox(fork) / "a.txt").read_text() == "zero\none\n"
    if checkout:
        assert run_git(sandbox(fork), "log", "--format=%s").split() == ["agent", "first"]
    data_of(folder, "run", "--on", "other", "--", "sh", "-c", "echo more >> a.txt")
    assert [file["insertions"] for file in data_of(folder, "diff", "other")["files"]] == [1]
    data_of(folder, "apply", "--yes", "other")
    assert (folder / "a.txt").read_text() == "zero\none\nmore\n"


def test_a_fork_of_a_plan_in_place_is_a_copy_that_merges_what_it_does_itself(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "rows.db")) as db:
        db.execute("create table t (x)")
        db.commit()
    (folder / "spot.yaml").write_text(
        "name: spot\n"
        "resources:\n"
        "  code: {type: fs-directory, location: ., strategy: in_place}\n"
        "  rows: {type: sqlite, location: rows.db}\n"
        "steps:\n"
        "  - {name: files, run: echo one >> a.txt}\n"
        '  - {name: rows, tool: sql, resource: rows, args: {statements: ["insert into t values (1)"]}}\n'
    )
    data_of(folder, "plan", "execute", "spot.yaml")
    fork = data_of(folder, "fork", "spot", "--name", "off")
    assert fork["state"] == "complete"
    assert {s["strategy"] for s in fork["sandboxes"]} == {"filesystem_copy"}
    data_of(folder, "run", "--on", "off", "--", "sh", "-c", "echo more >> a.txt")
    assert (folder / "a.txt").read_text() == "zero\none\n"
    data_of(folder, "apply", "--yes", "off")
    assert (folder / "a.txt").read_text() == "zero\none\nmore\n"
    with closing(sqlite3.connect(folder / "rows.db")) as db:
        assert db.execute("select x from t").fetchall() == [(1,)]


def test_a_fork_of_a_checkout_in_place_has_its_head_and_index(folder: Path) -> None:
    run_git(folder, "init", "-q", "-b", "trunk")
    run_git(folder, "add", "a.txt")
    run_git(folder, "commit", "-qm", "first")
    told = "git checkout -qb side; echo x > x.txt; git add x.txt; git commit -qm side; echo y > y; git add y"
    place = ("-c", "sandbox.strategy=in_place")
    data_of(folder, *place, "run", "--name", "spot", "--", "sh", "-c", told)
    run_git(folder, "rm", "-qf", "y")
    run_git(folder, "checkout", "-q", "trunk")
    fork = data_of(folder, "fork", "spot", "--name", "off")
    top = sandbox(fork)
    assert (fork["sandboxes"][0]["strategy"], fork["sandboxes"][0]["branch"]) == ("git_worktree", "side")
    assert run_git(top, "log", "--format=%s").split() == ["side", "first"]
    assert "A  y" in run_git(top, "status", "--short")
    assert run_git(folder, "branch", "--show-current").strip() == "trunk"
    data_of(folder, "run", "--on", "off", "--", "sh", "-c", "echo z > z")
    run_git(folder, "checkout", "-q", "side")
    data_of(folder, "apply", "--yes", "--no-commit", "off")
    assert (folder / "z").read_text() == "z\n"
    assert not (folder / "y").exists()
    assert data_of(folder, "doctor")["findings"] == []


def test_a_fork_of_a_child_is_a_plan_of_its_own_with_the_work_of_its_parent(folder: Path) -> None:
    data_of(folder, "plan", "execute", "family.yaml")
    fork = data_of(folder, "fork", "family.kid")
    assert (fork["handle"], fork["parent_plan_id"], fork["state"]) == ("kid", None, "complete")
    data_of(folder, "apply", "--yes", "kid")
    assert (folder / "before").read_text() == "before\n"
    assert (folder / "kid").read_text() == "kid\n"


def test_a_fork_in_the_middle_of_a_step_with_children_goes_on_with_those_that_are_left(folder: Path) -> None:
    (folder / "two.yaml").write_text(
        FAMILY.replace("family", "two").replace(
            "kid > kid}]}",
            "kid > kid}]}\n        - {name: sib, steps: [{name: work, run: echo sib > sib}]}",
        )
    )
    data_of(
        folder,
        "-c",
        "sandbox.checkpoint.auto-create-on=before_step,after_subplan",
        "plan",
        "execute",
        "two.yaml",
    )
    groups = data_of(folder, "checkpoint", "list", "two")["checkpoints"]
    merged = [group["number"] for group in groups if group["checkpoint_type"] == "after_subplan"]
    fork = data_of(folder, "fork", f"two@{merged[0]}", "--name", "other")
    assert (sandbox(fork) / "kid").exists()
    assert not (sandbox(fork) / "sib").exists()
    done = data_of(folder, "resume", "other")
    assert done["execution"]["child_plans"] == 1
    assert (sandbox(done) / "sib").read_text() == "sib\n"


def test_what_is_refused(folder: Path) -> None:
    data_of(folder, "plan", "create", "tune.yaml")
    assert refused(folder, "fork", "tune")["kind"] == "checkpoint_not_found"
    data_of(folder, "plan", "execute", "tune")
    data_of(folder, "run", "--name", "other", "--", "true")
    assert refused(folder, "fork", "tune", "other@1")["kind"] == "checkpoint_foreign"
    assert refused(folder, "fork", "tune@99")["kind"] == "checkpoint_not_found"
    assert ask(folder, "fork", "tune", "--name", "a\nb")["error"]["kind"] == "usage_wrong"
    data_of(folder, "apply", "--yes", "tune")
    kept = data_of(folder, "checkpoint", "list", "tune", "--all")["checkpoints"]
    real = next(each["number"] for each in kept if each["checkpoint_type"] == "pre_apply")
    assert refused(folder, "fork", f"tune@{real}")["kind"] == "checkpoint_not_a_target"
    data_of(folder, "cancel", "other")
    data_of(folder, "-c", "sandbox.cleanup=on_terminal", "gc")
    gone = refused(folder, "fork", "other@1")
    assert (gone["kind"], gone["resources"]) == ("sandboxes_gone", "workspace")


def test_a_fork_that_fails_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mulligan.adapters.sandboxes.folder.folder_copy import DirectorySandboxes

    def fail(*_: object) -> None:
        raise RestoreFailed(path="there", reason="the disk is broken")

    data_of(folder, "plan", "execute", "tune.yaml")
    with monkeypatch.context() as broken:
        broken.setattr(DirectorySandboxes, "fork", fail)
        assert ask(folder, "fork", "tune")["error"]["kind"] == "restore_failed"
    assert [plan["handle"] for plan in data_of(folder, "list")["plans"]] == ["tune"]
    assert data_of(folder, "fork", "tune")["handle"] == "tune-2"


def test_a_session_is_forked_as_it_is_or_from_a_checkpoint(folder: Path) -> None:
    project = mulligan.init(folder)
    with project.session("work") as session:
        with session.step("one"):
            (session.path() / "a.txt").write_text("one\n")
            session.state["seen"] = 1
        label = session.checkpoint("draft")
        (session.path() / "loose").write_text("between two steps")
        with session.fork(name="other") as other:
            assert (other.steps, other.state, other.plan_id != session.plan_id) == (
                ("one",),
                {"seen": 1},
                True,
            )
            assert (other.path() / "loose").read_text() == "between two steps"
            with other.step("two"):
                (other.path() / "a.txt").write_text("two\n")
        with session.step("two"):
            (session.path() / "a.txt").write_text("mine\n")
            with pytest.raises(mulligan.errors.StepUnderWay):
                session.fork()
            with session.fork(label) as early:
                assert not (early.path() / "loose").exists()
        assert project.status("other").forked_from is not None
    assert data_of(folder, "status", "other")["state"] == "complete"
    data_of(folder, "apply", "--yes", "other")
    assert (folder / "a.txt").read_text() == "two\n"
    with pytest.raises(mulligan.errors.SessionClosed):
        session.fork()


def test_a_fork_of_a_session_that_ended_waits_for_its_program(folder: Path) -> None:
    project = mulligan.init(folder)
    with project.session("work") as session, session.step("one"):
        (session.path() / "a.txt").write_text("one\n")
    fork = project.fork("work")
    assert fork.state == "queued"
    with project.session(resume=fork.handle) as again:
        assert again.steps == ("one",)


def test_a_session_without_checkpoints_cannot_be_forked(folder: Path) -> None:
    (folder / "plain.yaml").write_text(
        "name: plain\nrollback_policy: {enabled: false}\nsteps: [{name: one, run: 'true'}]\n"
    )
    data_of(folder, "plan", "execute", "plain.yaml")
    assert refused(folder, "fork", "plain")["kind"] == "checkpoint_not_found"
