"""Work that is appended to a decision: nothing is undone, a child plan does it, and all that holds for those holds."""

import sqlite3

import pytest

from mulligan.application.queries.plan_queries import PlanStatus
from mulligan.domain.history.correction import CorrectionMode
from mulligan.domain.plans.decision import DecisionType
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.views.history_tree import NodeType
from mulligan.errors import (
    CheckpointNotFound,
    ConflictsUnresolved,
    DecisionSuperseded,
    NextStep,
    NothingToChoose,
    PlanFileDiffers,
    PlanNotReady,
    SubplanConflicts,
)
from tests.subplans.corrections import (
    PICK,
    append,
    correction_id,
    decision,
    decisions,
    file_of,
    guidance_id,
)
from tests.subplans.families import Family, note, shell

GATE = shell('test -e "$MULLIGAN_VAR_NOTES/open"', "gate")


def ran(status: PlanStatus) -> list[tuple[str, str]]:
    return [(step.name, step.status.value) for step in status.steps]


def test_a_child_plan_does_the_work_on_what_is_there_with_the_guidance(done: Family) -> None:
    (done.sandbox() / "by hand").write_text("kept\n")
    before = done.files()
    told = append(done, dry_run=True)[1]
    assert any("with 1 path changed since" in text for text in told.messages)
    assert (done.files(), done.states()) == (before, {"p": "execute/complete"})

    status, corrected = append(done)

    assert done.files() == before | {"more": "and more\n"}
    assert done.noted("ran") == ["one", "more"]
    assert done.states() == {"p": "execute/complete", "extra": "execute/complete"}
    assert ran(status) == [("pick", "done"), ("one", "done"), ("append to pick", "done")]
    assert (status.attempt, status.execution.child_plans, status.execution.decisions) == (2, 1, 2)
    (view,) = status.corrections
    assert view == corrected.correction
    assert (view.mode, view.attempt, view.guidance) == (CorrectionMode.APPEND, 2, "and more")
    assert view.superseded_decisions == view.cancelled_child_plans == corrected.superseded == ()
    assert corrected.pre_rollback_checkpoint is None
    assert told.appended is not None
    assert corrected.appended is not None
    assert (told.appended.step, told.appended.step_index) == ("append to pick", 2)
    assert (told.appended.child_plan, told.appended.steps) == ("extra", ("more",))
    assert (told.appended.child_plan_id, told.correction.restored_checkpoint) == (None, None)
    assert corrected.appended.child_plan_id == done.project().status("extra").plan_id
    assert (done.real / "one").exists() is False


def test_the_tree_hangs_guidance_and_child_under_the_decision(done: Family) -> None:
    append(done)
    tree = done.project().tree("p")
    (picked,) = [node for node in tree.children if node.type is NodeType.DECISION]
    (told,) = [node for node in picked.children if node.type is NodeType.DECISION]
    assert (picked.about["chosen"], told.about["chosen"]) == ("this", "and more")
    assert told.about["decision_type"] == DecisionType.USER_INTERVENTION
    assert [node.about["name"] for node in told.children if node.type is NodeType.PLAN] == ["extra"]
    assert done.project().status("extra").parent_plan_id == done.project().status("p").plan_id
    (entry,) = [e for e in done.project().log("p") if e.type is EventType.CORRECTION]
    assert (entry.data["mode"], entry.data["child"], entry.data["step_index"]) == ("append", "extra", 2)


def test_without_a_file_the_step_that_decided_runs_once_more(family: Family) -> None:
    (family.folder / "agent.py").write_text(
        "def think(context):\n"
        "    context.record_decision('Go where?', chosen=context.guidance or 'left')\n"
        "    file = context.path() / 'went'\n"
        "    file.write_text((file.read_text() if file.exists() else '') + (context.guidance or 'left') + '\\n')\n"
    )
    (family.real / "agent.py").write_text((family.folder / "agent.py").read_text())
    think = {"name": "think", "tool": "python", "args": {"function": "agent:think"}}
    family.project().execute(family.write(think, shell("cat went > copy", "copy")))

    status, corrected = append(family, None, decision(family, "Go where?"), guidance="right")

    assert status.state is State.COMPLETE
    assert (family.files()["went"], family.files()["copy"]) == ("left\nright\n", "left\n")
    assert corrected.appended is not None
    assert (corrected.appended.child_plan, corrected.appended.steps) == ("think again", ("think",))
    assert [d.about["chosen"] for d in decisions(family)] == ["left", "right", "right"]
    assert corrected.messages == ()


def test_a_step_that_only_decides_is_run_again_and_that_is_told(done: Family) -> None:
    status, corrected = append(done, None, guidance="sure?")
    assert status.state is State.COMPLETE
    assert any("corrected=..." in text for text in corrected.messages)
    assert [d.about["chosen"] for d in decisions(done)] == ["this", "sure?", "this"]


def test_what_was_appended_is_compared_and_rolled_back_past_and_forward_to(done: Family) -> None:
    before = done.files()
    _, corrected = append(done)
    after = done.files()
    difference = done.project().diff_of_correction(correction_id(corrected))
    assert [(f.path, f.status.value) for f in difference.files] == [("more", "added")]

    last = [c for c in done.project().checkpoints.list("p") if c.checkpoint_type == "post_execute"]
    back = done.project().rollback("p", last[0].checkpoint_id)

    assert done.files() == before
    assert back.impact.child_plans_invalidated == 1
    assert ran(done.project().status("p")) == [("pick", "done"), ("one", "done")]
    assert done.states()["extra"] == "execute/cancelled"
    assert done.project().status("p").state is State.COMPLETE, "it was finished there"
    assert done.files() == before

    done.project().rollback("p", last[1].checkpoint_id)
    assert done.files() == after
    assert ran(done.project().status("p"))[-1] == ("append to pick", "done")
    done.project().rollback("p", done.project().checkpoints.list("p")[0].checkpoint_id)
    assert done.project().resume("p")[0].state is State.COMPLETE
    assert (done.files(), done.noted("ran")) == (before, ["one", "more", "one"])
    done.project().undo("p")
    assert "one" not in done.files()


def test_conflicts_end_as_those_of_child_plans_do(family: Family) -> None:
    """In place others may change what the child was forked from."""
    family.project().execute(family.write(PICK, sandbox__strategy="in_place"))
    edit = [shell("echo child > text", "more")]

    def meanwhile(event: Event) -> None:
        if event.type is EventType.SUBPLAN_SPAWNED:
            (family.real / "text").write_text("mine\n")

    status, corrected = append(family, edit, act=meanwhile)

    assert corrected.execution is not None
    assert isinstance(corrected.execution.error, SubplanConflicts)
    assert corrected.execution.error.exit_code == 4
    assert (status.phase, status.state) == (Phase.EXECUTE, State.CONSTRAINED)
    assert [c["path"] for c in status.conflicts] == ["text"]
    assert ">>>>>>> extra" in (family.real / "text").read_text()
    for dry_run in (True, False):
        for guidance in ("and more", "something else"):
            with pytest.raises(ConflictsUnresolved):
                append(family, edit, guidance=guidance, dry_run=dry_run)

    (family.real / "text").write_text("both\n")
    family.project().resolve("p")
    status, _ = family.project().resume("p")
    assert (status.state, (family.real / "text").read_text()) == (State.APPLIED, "both\n")
    assert status.execution.child_plans == 1


def test_where_a_plan_failed_work_is_put_before_the_failed_step_and_it_runs_on(family: Family) -> None:
    plan = family.write(PICK, shell(f"{note('one')}; echo 1 > one", "one"), shell("cat more > seen", "use"))
    assert family.project().execute(plan).state is State.ERRORED

    preview = append(family, dry_run=True)[1]
    status, corrected = append(family)

    assert any("at step 3 (use)" in text for text in preview.messages)
    assert ran(status) == [(name, "done") for name in ("pick", "one", "append to pick", "use")]
    assert family.noted("ran") == ["one", "more"]
    assert family.files()["seen"] == "and more\n"
    difference = family.project().diff_of_correction(correction_id(corrected))
    assert [f.path for f in difference.files] == ["more"]
    family.project().rollback("p", "first")
    assert ran(family.project().status("p")) == [(name, "pending") for name in ("pick", "one", "use")]


def test_what_a_failed_step_left_is_kept_and_not_appended_to(family: Family) -> None:
    plan = family.write(
        PICK, shell("echo mess > mess; test -e more", "use"), rollback_policy={"on_failure": "keep"}
    )
    assert family.project().execute(plan).state is State.ERRORED
    assert "mess" in family.files()
    assert any("1 path" in text for text in append(family, dry_run=True)[1].messages)

    status, _ = append(family, [shell("test ! -e mess && echo 1 > more", "more")])

    assert status.state is State.COMPLETE
    kept = family.project().checkpoints.list("p", superseded=True)
    assert "pre_rollback" in [c.checkpoint_type for c in kept]


def test_a_mended_plan_file_knows_nothing_of_appended_steps_and_keeps_them(family: Family) -> None:
    one = shell("echo 1 > one", "one")
    family.project().execute(family.write(PICK, one, GATE))
    append(family)
    same_name = family.write(PICK, one, shell("true", "append to pick"))
    with pytest.raises(PlanFileDiffers, match="appended"):
        family.project().resume("p", corrected=same_name)
    mended = family.write(PICK, one, shell("cat more one > end", "end"))

    status, _ = family.project().resume("p", corrected=mended)

    assert ran(status) == [(name, "done") for name in ("pick", "one", "append to pick", "end")]
    assert family.files()["end"] == "and more\n1\n"
    other = family.write(shell("true", "another"), one)
    with pytest.raises(PlanFileDiffers):
        family.project().correct(decision(family, number=1), guidance="g", corrected=other)
    mended = family.write(PICK, one, shell("cat one > end", "end"))
    status, _ = family.project().correct(decision(family, number=1), guidance="g", corrected=mended)
    assert ran(status) == [(name, "done") for name in ("pick", "one", "end")]


def test_a_failed_child_is_gone_on_with_by_the_same_command(done: Family) -> None:
    steps = [shell(f"{note('first')}; echo 1 > first", "first"), GATE]
    status, corrected = append(done, steps)
    assert corrected.execution is not None
    assert status.state is State.ERRORED
    assert "first" not in done.files()

    with pytest.raises(PlanNotReady, match="extra") as refused:
        append(done, guidance="something else")
    assert "resume" in {step.verb for step in refused.value.next_step.steps}
    assert any("would be continued" in text for text in append(done, steps, dry_run=True)[1].messages)
    (done.notes / "open").touch()
    status, again = append(done, steps)

    assert (status.state, status.attempt) == (State.COMPLETE, 2)
    assert correction_id(again) == correction_id(corrected)
    assert any("is continued" in text for text in again.messages)
    assert done.noted("ran") == ["one", "first"]
    assert done.files()["first"] == "1\n"
    status, anew = append(done, steps)
    assert (status.attempt, done.noted("ran")) == (3, ["one", "first", "first"])
    assert correction_id(anew) != correction_id(corrected)


class Killed(BaseException):
    """Nothing that ran can say goodbye."""


@pytest.mark.parametrize("when", [EventType.CORRECTION, EventType.SUBPLAN_SPAWNED, EventType.SUBPLAN_MERGED])
@pytest.mark.parametrize("again", [True, False])
def test_cut_off_it_ends_well_by_a_resume_or_the_same_command(
    done: Family, when: EventType, again: bool
) -> None:
    def die(event: Event) -> None:
        if event.type is when:
            raise Killed

    with pytest.raises(Killed):
        append(done, act=die)
    status = append(done)[0] if again else done.project().resume("p")[0]
    assert (status.state, status.attempt) == (State.COMPLETE, 2)
    assert done.noted("ran") == ["one", "more"]
    assert done.files()["more"] == "and more\n"
    assert [plan.name for plan in done.project().plans()] == ["p", "extra"]


def test_it_can_wait_and_the_same_command_goes_on_with_it(done: Family) -> None:
    status, corrected = append(done, execute=False)
    assert (status.state, ran(status)[-1]) == (State.QUEUED, ("append to pick", "pending"))
    assert corrected.appended is not None
    assert corrected.appended.child_plan_id is None
    assert "more" not in done.files()
    assert done.project().diff_of_correction(correction_id(corrected)).files == ()
    status, again = append(done)
    assert (status.state, status.attempt) == (State.COMPLETE, 2)
    assert correction_id(again) == correction_id(corrected)
    assert done.files()["more"] == "and more\n"


def test_a_correction_of_a_correction(done: Family) -> None:
    _, first = append(done)
    status, second = append(done, None, guidance_id(first), guidance="once more")
    assert done.files()["more"] == "and more\nonce more\n"
    assert [s.name for s in status.steps][2:] == ["append to pick", "append to append to pick"]
    assert second.appended is not None
    assert second.appended.child_plan == "extra"

    status, _ = done.project().correct(guidance_id(first), guidance="instead")
    assert [s.name for s in status.steps][2:] == ["append to pick"]
    assert done.files()["more"] == "instead\n"
    assert status.attempt == 4
    with pytest.raises(NothingToChoose):
        done.project().correct(decision(done, number=1), guidance="g", choose="x")

    status, reverted = done.project().correct(decision(done), guidance="rather that", choose="that")
    assert ran(status) == [("pick", "done"), ("one", "done")]
    assert "more" not in done.files()
    assert len(reverted.correction.cancelled_child_plans) == 1
    status, _ = append(done, to=decision(done, number=-1))
    assert (status.state, status.attempt) == (State.COMPLETE, 6)
    assert done.files()["more"] == "rather that\nand more\n"
    with pytest.raises(DecisionSuperseded):
        append(done, to=guidance_id(first))


def test_it_works_in_place_and_applies_like_the_rest(family: Family) -> None:
    plan = family.write(PICK, shell("echo 1 > one", "one"), sandbox__strategy="in_place")
    family.project().execute(plan)
    (family.real / "mine").write_text("mine\n")
    status, _ = append(family)
    assert status.state is State.APPLIED
    assert (family.real / "more").read_text() == "and more\n"
    assert (family.real / "mine").read_text() == "mine\n"
    first = family.project().checkpoints.list("p")[0].checkpoint_id
    family.project().rollback("p", first)
    assert not (family.real / "more").exists()


def test_a_plan_that_could_not_be_applied_gets_the_work_that_mends_it(done: Family) -> None:
    (done.sandbox() / "text").write_text("plan\n")
    (done.real / "text").write_text("others\n")
    status, _ = done.project().apply("p")
    assert (status.phase, status.state) == (Phase.APPLY, State.CONSTRAINED)
    assert append(done, dry_run=True)[0].state is State.CONSTRAINED
    status, _ = append(done, [shell("echo others > text", "mend")])
    assert (status.phase, status.state) == (Phase.EXECUTE, State.COMPLETE)
    assert done.project().apply("p")[0].state is State.APPLIED


def test_what_was_pruned_cannot_be_compared(done: Family) -> None:
    _, corrected = append(done)
    done.project().checkpoints.prune("p", keep=2)
    with pytest.raises(CheckpointNotFound, match="appended to") as refused:
        done.project().diff_of_correction(correction_id(corrected))
    assert NextStep("again", old=..., new=...) in refused.value.next_step.steps


def test_databases_are_appended_to_as_well(family: Family) -> None:
    with sqlite3.connect(family.folder / "rows.db") as rows:
        rows.execute("create table t (x)")
    rows.close()
    insert = {"name": "rows", "tool": "sql", "resource": "rows"}
    resources = {
        "d": {"type": "fs-directory", "location": "d"},
        "rows": {"type": "sqlite", "location": "rows.db"},
    }
    one = {**insert, "args": {"statements": ["insert into t values (1)"]}}
    family.project().execute(family.write(PICK, one, resources=resources))
    append(family, [{**insert, "args": {"statements": ["insert into t values (2)"]}}])
    with sqlite3.connect(family.project().status("p").sandboxes[1].path) as rows:
        assert rows.execute("select x from t").fetchall() == [(1,), (2,)]
    rows.close()


def test_a_file_has_variables_and_a_description_of_its_own_and_sees_the_plan(family: Family) -> None:
    write = {"name": "tell", "tool": "write_file"}
    told = {**write, "args": {"path": "told", "content": "${{ who }}/${{ steps.pick.output }}/${{ notes }}"}}
    family.project().execute(family.write(PICK))
    file = file_of(family, [told], variables={"who": "me", "notes": "none"}, description="Says so")
    status, _ = family.project().correct(decision(family), guidance="g", mode="append", corrected=file)
    assert status.state is State.COMPLETE
    assert family.files()["told"] == "me/this/none"
