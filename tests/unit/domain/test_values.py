"""Ids, triggers, snapshots and state hashes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.checkpoints.checkpoint import PlanState, state_hash
from mulligan.domain.checkpoints.snapshot import ObjectId, Root, Snapshot, SnapshotId
from mulligan.domain.plans.trigger import CheckpointType, in_order, trigger_named, trigger_words
from mulligan.domain.text.ids import as_id_prefix
from tests.unit.examples import a_snapshot

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("word", ["01K0", "01k0abc", "01K00000000000000000000001"])
def test_a_word_that_can_be_an_id(word: str) -> None:
    assert as_id_prefix(word) == word.upper()


@pytest.mark.parametrize("word", ["", "01K", "upgrade-api", "01K00000000000000000000001X", "ILOU", "01K0 "])
def test_a_word_that_cannot_be_an_id(word: str) -> None:
    assert as_id_prefix(word) is None


@pytest.mark.parametrize("type", CheckpointType)
def test_a_word_names_a_trigger_only_where_a_setting_can_turn_it_on(type: CheckpointType) -> None:
    assert trigger_named(type.value) is (type if type.is_trigger else None)
    assert (type.value in trigger_words()) == type.is_trigger


def test_triggers_have_the_names_that_other_tools_use() -> None:
    assert trigger_named("before_tool_execute") is CheckpointType.ON_TOOL_WRITE
    assert trigger_named("after_tool_execute") is CheckpointType.ON_TOOL_WRITE_COMPLETE
    assert trigger_named("on_errors") is None
    assert {"before_tool_execute", "after_tool_execute"} <= {*trigger_words()}


def test_triggers_stand_once_and_in_order() -> None:
    wanted = [CheckpointType.ON_ERROR, CheckpointType.BEFORE_STEP, CheckpointType.ON_ERROR]
    assert in_order(wanted) == (CheckpointType.BEFORE_STEP, CheckpointType.ON_ERROR)


def test_a_snapshot_survives_its_column() -> None:
    two = Snapshot((Root(SnapshotId("a"), ObjectId("b")), Root(SnapshotId("c"), ObjectId("d"))))
    assert Snapshot.from_text(two.to_text()) == two
    assert two.id == "a"


def test_snapshots_are_the_same_when_only_mtimes_differ() -> None:
    touched = Snapshot((Root(a_snapshot("a").id, ObjectId("elsewhere")),))
    assert touched.same_as(a_snapshot("a"))
    assert not touched.same_as(a_snapshot("b"))
    assert not touched.same_as(None)


def _state(**fields: object) -> PlanState:
    base: dict[str, object] = {"step_index": 1, "outputs": {"a": "x"}, "memory": {}, "decisions": ()}
    return PlanState(**{**base, **fields})  # pyright: ignore[reportArgumentType] - built from parts


@pytest.mark.parametrize(
    "other",
    [
        _state(step_index=2),
        _state(outputs={"a": "y"}),
        _state(memory={"k": 1}),
        _state(decisions=({"chosen": "lark"},)),
    ],
)
def test_every_part_of_the_state_is_in_its_hash(other: PlanState) -> None:
    files = [("app", a_snapshot("a"))]
    assert state_hash(_state(), files) != state_hash(other, files)


def test_the_files_are_in_the_hash() -> None:
    assert state_hash(_state(), [("app", a_snapshot("a"))]) != state_hash(
        _state(), [("app", a_snapshot("b"))]
    )


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_equal_states_have_equal_hashes_whatever_order_they_came_in(outputs: dict[str, object]) -> None:
    turned = dict(reversed(outputs.items()))
    assert state_hash(_state(outputs=outputs), []) == state_hash(_state(outputs=turned), [])
