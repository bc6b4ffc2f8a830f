"""What becomes of child plans when their parent goes back, goes on with another file, or ends."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.intent import Intent, RollbackWork
from mulligan.domain.plans.plan import State
from mulligan.domain.text.ids import GroupId, IntentId
from mulligan.domain.views.history_tree import NodeType, TreeNode
from mulligan.errors import PlanBusy, PlanIsChild
from mulligan.ports import Unobserved
from tests.faults.projects import services_of
from tests.subplans.families import Family, children, note, shell
from tests.support.raised import raises


def in_turn(family: Family) -> Path:
    parts = {name: [shell(f"{note(name)}; echo {name} > {name}")] for name in "ab"}
    return family.write(shell("echo 1 > one", "one"), children(parts, mode="sequential"))


def group_of(family: Family, type: str, number: int = 0) -> str:
    found = [c for c in family.project().checkpoints.list("p") if c.checkpoint_type == type]
    return found[number].checkpoint_id


def test_a_rollback_past_a_spawn_cancels_children_and_removes_their_sandboxes(family: Family) -> None:
    family.project().execute(in_turn(family))
    sandboxes = [family.sandbox("a"), family.sandbox("b")]

    preview = family.project().rollback("p", "first", dry_run=True)
    done = family.project().rollback("p", "first")

    assert preview.impact.child_plans_invalidated == done.impact.child_plans_invalidated == 2
    assert family.states() == {"p": "execute/queued", "a": "execute/cancelled", "b": "execute/cancelled"}
    assert not any(path.exists() for path in sandboxes)
    assert family.project().status("p").execution.child_plans == 0

    status, _ = family.project().resume("p")
    assert status.state is State.COMPLETE
    assert family.noted("ran") == ["a", "b", "a", "b"]


def test_rolled_back_between_two_merges_only_what_came_later_runs_again(family: Family) -> None:
    family.project().execute(in_turn(family))

    family.project().rollback("p", group_of(family, "after_subplan"))
    assert family.files().keys() == {"text", "one", "a"}
    assert family.states() == {"p": "execute/queued", "a": "execute/complete", "b": "execute/cancelled"}
    status, _ = family.project().resume("p")

    assert status.state is State.COMPLETE
    assert family.noted("ran") == ["a", "b", "b"]
    assert family.files().keys() == {"text", "one", "a", "b"}


def test_rolling_forward_again_needs_no_child_whose_result_is_in_the_files(family: Family) -> None:
    family.project().execute(in_turn(family))
    back = family.project().rollback("p", group_of(family, "after_subplan"))
    before = back.post_rollback_state.pre_rollback_checkpoint
    assert before is not None

    family.project().rollback("p", before)

    assert family.project().status("p").state is State.COMPLETE
    assert family.noted("ran") == ["a", "b"]
    assert family.files().keys() == {"text", "one", "a", "b"}


def test_children_of_children_go_too(family: Family) -> None:
    inner = children({"z": [shell("echo z > z")]})
    family.project().execute(family.write(children({"y": [inner]})))
    sandbox = family.sandbox("z")

    done = family.project().rollback("p", "first")

    assert done.impact.child_plans_invalidated == 2
    assert family.states() == {"p": "execute/queued", "y": "execute/cancelled", "z": "execute/cancelled"}
    assert not sandbox.exists()


def test_a_child_that_someone_works_on_keeps_its_parent_from_going_back(family: Family) -> None:
    family.project().execute(in_turn(family))
    plan_id = family.project().status("a").plan_id
    with services_of(family.folder).claims.look(plan_id, Unobserved()), pytest.raises(PlanBusy):
        family.project().rollback("p", "first")
    assert family.states()["a"] == "execute/complete"


def test_a_mended_plan_file_that_changes_a_child_gets_a_new_one(family: Family) -> None:
    parts = {"a": [shell(f"{note('a')}; exit 1")], "b": [shell(f"{note('b')}; echo b > b")]}
    family.project().execute(family.write(children(parts)))
    parts["a"] = [shell(f"{note('mended')}")]

    status, _ = family.project().resume("p", corrected=family.write(children(parts)))

    assert status.state is State.COMPLETE
    assert sorted(family.noted("ran")) == ["a", "b", "mended"]
    assert [plan.state for plan in family.project().plans() if plan.name == "a"] == ["cancelled", "complete"]


def test_a_failed_step_that_goes_back_to_the_first_checkpoint_runs_children_of_other_steps_again(
    family: Family,
) -> None:
    first = {**children({"a": [shell(f"{note('a')}; echo a > a")]}), "name": "early"}
    plan = family.write(
        first,
        shell('test -e "$MULLIGAN_VAR_NOTES/mended"', "gate"),
        rollback_policy={"on_failure": "first_checkpoint"},
    )
    assert family.project().execute(plan).state is State.ERRORED
    (family.notes / "mended").touch()

    family.project().resume("p")

    assert family.noted("ran") == ["a", "a"]
    assert family.files().keys() == {"text", "a"}


def test_cancelling_a_plan_cancels_the_children_that_had_not_ended(family: Family) -> None:
    parts = {"good": [shell("echo good > good")], "bad": [shell("exit 1")]}
    family.project().execute(family.write(children(parts), sandbox__cleanup="on_terminal"))
    sandboxes = [family.sandbox(name) for name in ("p", "good", "bad")]

    family.project().cancel("p")

    assert family.states() == {
        "p": "execute/cancelled",
        "good": "execute/complete",
        "bad": "execute/cancelled",
    }
    assert not any(path.exists() for path in sandboxes)


def test_a_child_cannot_be_cancelled_by_itself(family: Family) -> None:
    family.project().execute(in_turn(family))
    with raises(PlanIsChild, done="cancelled"):
        family.project().cancel("a")


def test_what_a_child_is_to_start_from_outlasts_a_sweep(family: Family) -> None:
    """No checkpoint holds it where none is taken by itself: the child does."""

    def sweep(event: Event) -> None:
        if event.type is EventType.SUBPLAN_SPAWNED:
            family.project().gc()

    plan = family.write(
        shell("echo 1 > one", "one"),
        children({"a": [shell("cat one > a")]}),
        sandbox__checkpoint__auto_create_on=[],
    )
    assert family.project(sweep).execute(plan).state is State.COMPLETE
    assert family.files()["a"] == "1\n"


def test_the_tree_shows_children_where_they_were_spawned(family: Family) -> None:
    choice = {"name": "pick", "decision": {"question": "Which?", "chosen": "this"}}
    parts = {"a": [shell("echo a > a")]}
    family.project().execute(family.write(choice, children(parts)))
    family.project().rollback("p", "first")
    family.project().resume("p")

    def plans(node: TreeNode) -> list[tuple[str, bool]]:
        found = [(str(node.about["name"]), node.superseded)] if node.type is NodeType.PLAN else []
        return found + [plan for child in node.children for plan in plans(child)]

    tree = family.project().tree("p")
    (decision,) = [node for node in tree.children if node.type is NodeType.DECISION]
    assert [node.about["name"] for node in decision.children if node.type is NodeType.PLAN] == ["a"]
    assert plans(tree) == [("p", False), ("a", False)]
    assert plans(family.project().tree("p", superseded=True)) == [("p", False), ("a", True), ("a", False)]


def test_a_child_that_was_cut_off_in_the_middle_of_going_back_can_be_cancelled(family: Family) -> None:
    family.project().execute(in_turn(family))
    services = services_of(family.folder)
    child = family.project().status("a").plan_id
    intent = Intent(
        intent_id=IntentId("intent"),
        plan_id=child,
        work=RollbackWork(target=GroupId("none"), state=State.QUEUED, log={}, way_back=True),
        created_at=datetime.now(UTC),
    )
    with services.adapters.database.writing() as db:
        db.intents.add(intent)

    family.project().rollback("p", "first")

    with services.adapters.database.reading() as db:
        assert db.intents.list(child) == []
        assert db.plans.get(child).state is State.CANCELLED


def test_a_correction_cancels_what_was_spawned_since_and_children_hear_its_guidance(family: Family) -> None:
    choice = {"name": "pick", "decision": {"question": "Which?", "chosen": "this"}}
    parts = {"a": [shell(f'{note("a")}; echo "$MULLIGAN_GUIDANCE" > heard')]}
    family.project().execute(family.write(choice, children(parts)))
    decision = next(n for n in family.project().tree("p").children if n.type is NodeType.DECISION)
    child = family.project().status("a").plan_id

    status, corrected = family.project().correct(decision.id, guidance="go by that")

    assert status.state is State.COMPLETE
    assert corrected.correction.cancelled_child_plans == (child,)
    assert family.project().status(child).state is State.CANCELLED
    assert family.files()["heard"] == "go by that\n"
    assert family.noted("ran") == ["a", "a"]
