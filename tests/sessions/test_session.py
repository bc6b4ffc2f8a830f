"""A program's own loop as a plan: steps, state, decisions, checkpoints, the way back, and what an end leaves."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mulligan
from mulligan import errors
from mulligan.adapters.snapshots.scan import memory_maps
from tests.support.raised import raises


def project_at(folder: Path) -> mulligan.Project:
    (folder / "app").mkdir()
    (folder / "app" / "a.txt").write_text("old")
    return mulligan.init(folder)


def types(project: mulligan.Project, plan_id: str, *, superseded: bool = False) -> list[str]:
    found = project.checkpoints.list(plan_id, superseded=superseded)
    return [checkpoint.checkpoint_type for checkpoint in found]


def test_a_program_works_step_by_step_and_applies(tmp_path: Path) -> None:
    """The example of the reference: a step with a decision, a labelled checkpoint, and apply."""
    project = project_at(tmp_path)
    with sqlite3.connect(tmp_path / "data.db") as database:
        database.execute("CREATE TABLE t (x)")
    resources = {"app": mulligan.directory("app"), "data": mulligan.sqlite("data.db")}
    with project.session("fix", resources=resources, description="by hand") as session:
        assert (session.steps, session.done("edit"), session.resumed_from) == ((), False, None)
        assert session.path() == session.path("app") != tmp_path / "app"
        with session.step("edit"):
            (session.path("app") / "a.txt").write_text("new")
            decision = session.record_decision(
                "Which?", chosen="a", alternatives=["b"], rationale="why", by="me"
            )
            session.state["seen"] = [1]
        with session.step("fill"), sqlite3.connect(session.path("data")) as database:
            database.execute("INSERT INTO t VALUES (7)")
        group = session.checkpoint("all done", note="x")
        session.log("a word")
        assert session.steps == ("edit", "fill")
        assert session.done("edit")
        assert session.messages == project.status(session.plan_id).messages
        assert project.status(session.plan_id).state == "processing"
    status = project.status(session.plan_id)
    assert (status.phase, status.state, status.name) == ("execute", "complete", "fix")
    assert [(s.name, s.status) for s in status.steps] == [("edit", "done"), ("fill", "done")]
    assert status.execution.decisions == 1
    assert types(project, session.plan_id)[::2] == [
        "pre_execute",
        "before_step",
        "decision",
        "after_step",
        "before_step",
        "after_step",
        "manual",
        "post_execute",
    ]
    (labelled, _) = project.checkpoints.show("all done")
    assert (labelled.group_id, labelled.step_index, labelled.metadata["note"]) == (group, 2, "x")
    tree = project.tree(session.plan_id)
    assert decision in str(tree)
    assert "a word" in str([event.data for event in project.log(session.plan_id)])
    assert [(line.steps_done, line.steps_total) for line in project.plans()] == [(2, 2)]
    assert (tmp_path / "app" / "a.txt").read_text() == "old"
    applied, _ = project.apply(session.plan_id)
    assert applied.state == "applied"
    assert (tmp_path / "app" / "a.txt").read_text() == "new"
    with sqlite3.connect(tmp_path / "data.db") as database:
        assert database.execute("SELECT x FROM t").fetchall() == [(7,)]


def test_a_rollback_brings_back_files_state_and_steps_and_can_itself_be_taken_back(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    with project.session("s", resources={"app": mulligan.directory("app")}) as session:
        state, file = session.state, session.path() / "a.txt"
        for number in (1, 2):
            with session.step(f"step {number}"):
                file.write_text(str(number))
                state["at"] = number
        done = session.rollback("first")
        assert (file.read_text(), state, session.steps) == ("old", {}, ())
        assert [change.file for change in done.changes_reverted] == ["a.txt"]
        assert project.status(session.plan_id).steps == ()
        with session.step("step 2"):  # what was left behind leaves its names
            file.write_text("another")
        assert done.post_rollback_state.pre_rollback_checkpoint is not None
        session.rollback(done.post_rollback_state.pre_rollback_checkpoint)
        assert (file.read_text(), state, session.steps) == ("2", {"at": 2}, ("step 1", "step 2"))
        names = [(s.index, s.name, s.status) for s in project.status(session.plan_id).steps]
        assert names == [(0, "step 1", "done"), (1, "step 2", "done")]
    assert project.status(session.plan_id).state == "complete"


def test_an_operation_asks_once_what_others_have_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[None] = []

    def counting() -> list[str]:
        asked.append(None)
        return []

    monkeypatch.setattr(memory_maps, "_processes", counting)
    project = project_at(tmp_path)
    (tmp_path / "other").mkdir()
    resources = {"app": mulligan.directory("app"), "other": mulligan.directory("other")}
    with project.session("s", resources=resources) as session:
        for act in (lambda: session.checkpoint("here"), lambda: session.rollback("here")):
            (session.path("app") / "a.txt").write_text("new")
            del asked[:]
            act()
            assert len(asked) == 1


def test_an_exception_inside_a_step_is_a_failed_step(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    resources = {"app": mulligan.directory("app")}
    session = project.session("s", resources=resources)

    def divide() -> float:
        with session, session.step("divide"):
            (session.path() / "a.txt").write_text("broken")
            session.state["x"] = 1
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        divide()
    assert (session.path() / "a.txt").read_text() == "old"
    assert session.state == {}
    status = project.status(session.plan_id)
    assert (status.phase, status.state) == ("execute", "errored")
    assert [(s.name, s.status) for s in status.steps] == [("divide", "failed")]
    assert status.error is not None
    assert (status.error.message, status.error.step) == ("ZeroDivisionError: division by zero", "divide")
    assert f"project.session(resume={session.plan_id!r})" in status.error.hint
    assert types(project, session.plan_id) == ["pre_execute", "before_step", "on_error"]
    to = tmp_path / "kept"
    assert status.error.checkpoint is not None
    project.checkpoints.restore(status.error.checkpoint, to)
    assert (to / "a.txt").read_text() == "broken"
    with project.session(resume="s") as again:
        assert not again.done("divide")
        with again.step("divide"):
            (again.path() / "a.txt").write_text("2")
    assert project.status("s").state == "complete"


def test_a_program_that_deals_with_a_failed_step_goes_on(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    with project.session("s", resources={"app": mulligan.directory("app")}) as session:
        with pytest.raises(ValueError, match="no"), session.step("try"):
            raise ValueError("no")
        assert project.status(session.plan_id).state == "errored"
        with session.step("try"):
            assert project.status(session.plan_id).error is None
        with pytest.raises(ValueError, match="no"), session.step("last"):
            raise ValueError("no")
    status = project.status(session.plan_id)
    assert (status.state, status.error) == ("complete", None)


@pytest.mark.parametrize(("policy", "left"), [("keep", "broken"), ("first_checkpoint", "old")])
def test_what_a_failed_step_leaves_is_the_plan_s_to_say(tmp_path: Path, policy: str, left: str) -> None:
    project = project_at(tmp_path)
    resources = {"app": mulligan.directory("app")}
    s = project.session("s", resources=resources, on_failure=policy)

    def work() -> None:
        with s:
            with s.step("one"):
                (s.path() / "a.txt").write_text("one")
            with s.step("two"):
                (s.path() / "a.txt").write_text("broken")
                raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        work()
    assert (s.path() / "a.txt").read_text() == left


def test_an_exception_between_steps_ends_in_errored_and_ctrl_c_in_queued(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    resources = {"app": mulligan.directory("app")}

    def fall_over() -> None:
        with project.session("s", resources=resources) as session:
            with session.step("one"):
                pass
            raise ValueError("no")

    def half(session: mulligan.Session) -> None:
        with session.step("two"):
            (session.path() / "a.txt").write_text("half")
            raise KeyboardInterrupt

    def press_ctrl_c() -> None:
        with project.session(resume="s") as session:
            with pytest.raises(KeyboardInterrupt):
                half(session)
            with pytest.raises(errors.SessionClosed, match="'two' was interrupted"):
                session.checkpoint("no more")
            raise KeyboardInterrupt

    with pytest.raises(ValueError, match="no"):
        fall_over()
    status = project.status("s")
    assert (status.state, status.error and status.error.message) == ("errored", "ValueError: no")
    with pytest.raises(KeyboardInterrupt):
        press_ctrl_c()
    status = project.status("s")
    assert (status.state, [s.status for s in status.steps]) == ("queued", ["done", "pending"])
    assert (status.error and status.error.message) == "interrupted"
    with project.session(resume="s") as session:
        assert (session.path() / "a.txt").read_text() == "old"
        assert session.steps == ("one",)
        assert session.resumed_from is not None
        assert session.resumed_from.discarded is not None


def test_an_interrupted_session_that_is_left_in_peace_is_not_complete(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    with (
        pytest.raises(errors.SessionClosed),
        project.session("s") as session,
        pytest.raises(SystemExit),
        session.step("two"),
    ):
        raise SystemExit
    assert project.status("s").state == "errored"


def test_what_a_session_refuses(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    with project.session("s", resources={"app": mulligan.directory("app")}) as session:
        with session.step("one"):
            with raises(errors.StepUnderWay, wanted="a rollback", step="one"):
                session.rollback("first")
            with raises(errors.StepUnderWay, wanted="another step", step="one"), session.step("two"):
                pass
        before = (types(project, session.plan_id), session.steps, dict(session.state), [*project.plans()])
        with pytest.raises(errors.StepNameTaken), session.step("one"):
            pass
        with pytest.raises(errors.UsageWrong, match="is empty"), session.step(" "):
            pass
        with pytest.raises(errors.NoStepUnderWay):
            session.record_decision("q", chosen="c")
        with pytest.raises(errors.CheckpointNotFound):
            session.rollback("nowhere")
        with pytest.raises(errors.ToolFailed, match="means another checkpoint"):
            session.checkpoint("latest")
        with pytest.raises(LookupError, match="it has: app"):
            session.path("nothing")
        with pytest.raises(TypeError, match="alternatives"):
            session.record_decision("q", chosen="c", alternatives="text")
        with pytest.raises(errors.StateNotJson, match="metadata"):
            session.checkpoint("x", when=object())
        with raises(errors.SessionClosed, name="s"):
            session.__enter__()
        with pytest.raises(errors.PlanBusy), project.session(resume=session.plan_id):
            pass
        with pytest.raises(errors.PlanBusy):
            project.cancel(session.plan_id)
        with pytest.raises(errors.PlanBusy), project.session(resume=session.plan_id, take_over=True):
            pass
        after = (types(project, session.plan_id), session.steps, dict(session.state), [*project.plans()])
        assert after == before, "nothing that was refused left a trace"
    for call in (lambda: session.checkpoint("late"), lambda: session.log("late")):
        with raises(errors.SessionClosed, name="s"):
            call()
    with pytest.raises(errors.PlanAlreadyComplete), project.session(resume="s"):
        pass
    with raises(errors.SessionClosed, name="t"):
        project.session("t").plan_id  # noqa: B018 - looking at it is the point
    (tmp_path / "plan.yaml").write_text("name: file\nsteps: [{name: a, checkpoint: b}]\n")
    project.create(tmp_path / "plan.yaml")
    with pytest.raises(errors.NotASession), project.session(resume="file"):
        pass
    with (
        pytest.raises(errors.ConfinementImpossible),
        project.session("s", config={"sandbox.isolate": "required"}),
    ):
        pass


def _opened(**arguments: Any) -> Callable[[mulligan.Project], object]:
    return lambda project: project.session(**arguments)


@pytest.mark.parametrize(
    ("wrong", "about"),
    [
        (_opened(), "a name"),
        (_opened(name="s", resume="s"), "a name"),
        (_opened(resume="s", description="x"), "resume"),
        (_opened(name="latest"), "'latest'"),
        (_opened(name="s", on_failure="never"), "on_failure='never'"),
        (_opened(name="s", resources={}), "needs a resource"),
        (_opened(name="s", resources={"a/b": mulligan.directory()}), "'a/b'"),
        (_opened(name="s", resources={"a": mulligan.directory("..")}), "'..'"),
        (_opened(name="s", resources={"a": mulligan.directory("a\0")}), "resource 'a'"),
        (_opened(name="s", resources={"a": mulligan.directory(), "b": mulligan.directory()}), "'b'"),
        (_opened(name="s", config={"core.format": "json"}), "core.format"),
        (_opened(name="s", config={"no.such": 1}), "'no.such'"),
        (lambda _: mulligan.git(from_revision="-x"), "from_revision='-x'"),
        (lambda _: mulligan.git(from_revision="HEAD", in_place=True), "from_revision='HEAD'"),
    ],
)
def test_a_session_that_is_asked_for_in_the_wrong_way_changes_nothing(
    tmp_path: Path, wrong: Callable[[mulligan.Project], object], about: str
) -> None:
    project = project_at(tmp_path)
    with project.session("s", resources={"app": mulligan.directory("app")}):
        pass

    def picture() -> list[object]:
        return [*project.plans(), *project.log("s"), *sorted(tmp_path.rglob("*"))]

    before = picture()
    with pytest.raises(errors.Misused) as refused:
        wrong(project)
    assert about in refused.value.text
    assert picture() == before


def test_a_state_that_json_cannot_hold_fails_its_step(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    with project.session("s", resources={"app": mulligan.directory("app")}) as session:

        def remember() -> None:
            with session.step("one"):
                (session.path() / "a.txt").write_text("one")
                session.state["x"] = object()

        with pytest.raises(errors.StateNotJson):
            remember()
        assert (session.state, session.steps) == ({}, ())
        assert (session.path() / "a.txt").read_text() == "old"


def test_triggers_are_those_of_the_settings(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    resources = {"app": mulligan.directory("app")}
    for trigger in ("before_step", "after_step", "on_error"):
        config: dict[str, Any] = {"sandbox.checkpoint.auto-create-on": [trigger]}
        with project.session(trigger, resources=resources, config=config) as session, session.step("one"):
            (session.path() / "a.txt").write_text(trigger)
    assert types(project, "before_step") == ["pre_execute", "before_step", "after_step", "post_execute"]
    assert types(project, "after_step") == ["pre_execute", "after_step", "post_execute"]
    assert types(project, "on_error") == ["pre_execute", "post_execute"]


def test_a_session_works_in_place_and_keeps_what_it_restores(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    with project.session("s", resources={"app": mulligan.directory("app", in_place=True)}) as session:
        assert session.path() == tmp_path / "app"
        with session.step("one"):
            (tmp_path / "app" / "a.txt").write_text("one")
        session.rollback("first")
        assert (tmp_path / "app" / "a.txt").read_text() == "old"


def test_the_last_step_of_a_session_is_undone_from_outside(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    with project.session("s", resources={"app": mulligan.directory("app")}) as session:
        for name in ("one", "two"):
            with session.step(name):
                (session.path() / "a.txt").write_text(name)
    project.undo("s")
    assert (session.path() / "a.txt").read_text() == "one"
    with project.session(resume="s") as again:
        assert again.steps == ("one",)


def test_what_no_checkpoint_keeps_apart_cannot_be_undone_by_itself(tmp_path: Path) -> None:
    project = project_at(tmp_path)
    config: dict[str, Any] = {"sandbox.checkpoint.auto-create-on": []}
    with project.session("s", resources={"app": mulligan.directory("app")}, config=config) as session:
        for name in ("one", "two"):
            with session.step(name):
                (session.path() / "a.txt").write_text(name)
    with pytest.raises(errors.NothingToUndo):
        project.undo("s")
