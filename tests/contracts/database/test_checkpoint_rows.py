"""Checkpoint groups come back as they went in, and are found by what users call them."""

import pytest

from mulligan.domain.checkpoints.checkpoint import CheckpointType
from mulligan.domain.history.lines import live_segments
from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.errors import Ambiguous, CheckpointNotFound
from mulligan.rows.database import Database
from tests.unit.examples import a_group

PLAN = PlanId("01K00000000000000000000001")


OTHER = PlanId("01K00000000000000000000002")


GROUPS = [f"01K000000000000000000000{n}1" for n in range(1, 5)]


@pytest.fixture
def grouped(database: Database) -> Database:
    with database.writing() as db:
        db.checkpoints.add(a_group(PLAN, GROUPS[0], 10, type=CheckpointType.PRE_EXECUTE))
        db.checkpoints.add(a_group(PLAN, GROUPS[1], 20, parent=GROUPS[0], label="half way"))
        db.checkpoints.add(a_group(PLAN, GROUPS[2], 30, parent=GROUPS[1], between_steps=False))
        on_error = CheckpointType.ON_ERROR
        db.checkpoints.add(a_group(PLAN, GROUPS[3], 40, parent=GROUPS[2], type=on_error, between_steps=False))
    return database


@pytest.mark.parametrize(
    ("word", "index"),
    [
        ("first", 0),
        ("latest", 2),
        ("half way", 1),
        (GROUPS[3], 3),
        (GROUPS[2][:25], 2),
        (GROUPS[1][:-1] + "Z", 1),
    ],
)
def test_a_group_is_found_by_word_label_and_id(grouped: Database, word: str, index: int) -> None:
    with grouped.reading() as db:
        assert db.checkpoints.resolve(word, PLAN).group.group_id == GROUPS[index]


def test_the_id_of_a_checkpoint_means_that_checkpoint_alone(grouped: Database) -> None:
    with grouped.reading() as db:
        whole = db.checkpoints.resolve(GROUPS[1], PLAN)
        one = db.checkpoints.resolve(GROUPS[1][:-1] + "Z", PLAN)
        assert whole.checkpoint is None
        assert one.checkpoint == one.group.checkpoints[0]
        assert db.checkpoints.resolve("half way", None).group.group_id == GROUPS[1]


@pytest.mark.parametrize("word", ["nothing", "01K9999", ""])
def test_an_unknown_checkpoint_is_refused(grouped: Database, word: str) -> None:
    with grouped.reading() as db, pytest.raises(CheckpointNotFound):
        db.checkpoints.resolve(word, PLAN)


def test_of_a_label_that_was_left_behind_the_id_is_told(grouped: Database) -> None:
    with grouped.writing() as db:
        db.history.make_live(PLAN, live_segments(db.history.lines(PLAN), 1, 10))
        for plan_id in (PLAN, None):
            with pytest.raises(CheckpointNotFound) as refusal:
                db.checkpoints.resolve("half way", plan_id)
            assert GROUPS[1] in refusal.value.next_step


def test_an_ambiguous_checkpoint_is_refused(grouped: Database) -> None:
    with grouped.reading() as db, pytest.raises(Ambiguous):
        db.checkpoints.resolve("01K000", PLAN)


def test_a_pruned_group_leaves_its_children_to_its_parent(grouped: Database) -> None:
    with grouped.writing() as db:
        db.checkpoints.remove([GroupId(GROUPS[1]), GroupId(GROUPS[2])])
        left = db.checkpoints.list(PLAN, superseded=True)
        assert [g.group_id for g in left] == [GROUPS[0], GROUPS[3]]
        assert left[1].parent_group_id == GROUPS[0]
        assert db.checkpoints.count(PLAN, superseded=True) == 2
        with pytest.raises(CheckpointNotFound):
            db.checkpoints.get(GroupId(GROUPS[1]))


def test_a_return_supersedes_what_came_after_and_can_spare_one(grouped: Database) -> None:
    with grouped.writing() as db:
        db.history.make_live(PLAN, live_segments(db.history.lines(PLAN), 1, 20))
        db.history.spare(GroupId(GROUPS[3]))
    with grouped.reading() as db:
        live = [g.group_id for g in db.checkpoints.list(PLAN, superseded=False)]
        assert live == [GROUPS[0], GROUPS[1], GROUPS[3]]
        assert db.checkpoints.count(PLAN, superseded=False) == 3
        resting = db.checkpoints.newest_between_steps(PLAN)
        assert resting is not None
        assert resting.group_id == GROUPS[1]


def test_the_group_a_rollback_went_to_becomes_a_place_to_start_from(grouped: Database) -> None:
    with grouped.writing() as db:
        db.history.rest_at(GroupId(GROUPS[2]))
        resting = db.checkpoints.newest_between_steps(PLAN)
        assert resting is not None
        assert resting.group_id == GROUPS[2]


def test_a_plan_without_groups_has_no_first_one(database: Database) -> None:
    with database.reading() as db:
        assert db.checkpoints.first(PLAN) is None
        assert db.checkpoints.newest_between_steps(PLAN) is None


def test_the_place_to_go_back_to_is_the_newest_live_group_between_steps_before(
    database: Database,
) -> None:
    groups = [f"01K000000000000000000000{n}1" for n in range(1, 5)]
    with database.writing() as db:
        for number, (group, between) in enumerate(zip(groups, (True, True, False, True), strict=True), 1):
            db.checkpoints.add(a_group(PLAN, group, 10 * number, between_steps=between))
    with database.reading() as db:
        places = {seq: db.checkpoints.newest_before(PLAN, seq) for seq in (10, 11, 35, 41)}
        last = db.checkpoints.last_of_attempt(PLAN, 1)
        assert db.checkpoints.last_of_attempt(PLAN, 2) is None
    found = {seq: group.group_id if group else None for seq, group in places.items()}
    assert found == {10: None, 11: groups[0], 35: groups[1], 41: groups[3]}
    assert last is not None
    assert last.group_id == groups[3]
