"""What retention looks at while a plan runs decides as it would by looking at every group."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mulligan.domain.checkpoints.retention import UNFINISHED, plan_retention
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.rows.database import Database
from tests.unit.examples import a_group

PLAN = PlanId("01K00000000000000000000001")


GROUPS = st.lists(
    st.tuples(st.integers(1, 3), st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=14
)


def group_id(number: int) -> str:
    return f"01K0000000000000000000{number:03d}A"


@given(rows=GROUPS, limit=st.integers(0, 8), needed=st.sets(st.integers(0, 13), max_size=2))
@settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # it empties the table
def test_the_same_groups_are_pruned(
    database: Database,
    rows: list[tuple[int, bool, bool, bool]],
    limit: int,
    needed: set[int],
) -> None:
    with database.writing() as db:
        db.checkpoints.remove([s.group_id for s in db.checkpoints.summaries(PLAN)])
        for number, (attempt, superseded, labelled, between) in enumerate(sorted(rows, key=lambda r: r[0])):
            group = a_group(
                PLAN,
                group_id(number),
                number,
                label="kept" if labelled else None,
                superseded=superseded,
                between_steps=between,
            )
            db.checkpoints.add(replace(group, attempt=attempt))
        everything = db.checkpoints.summaries(PLAN)
        excess = max(0, len(everything) - limit)
        stands_on = dict.fromkeys((GroupId(group_id(n)) for n in needed), UNFINISHED)
        few = db.checkpoints.expendable(PLAN, 3, excess + len(stands_on))
    assert (
        plan_retention(few, limit=len(few) - excess, needed=stands_on).prune
        == plan_retention(everything, limit=limit, needed=stands_on).prune
    )


def test_few_are_looked_at_however_many_there_are(database: Database) -> None:
    with database.writing() as db:
        for number in range(200):
            db.checkpoints.add(a_group(PLAN, group_id(number), number))
        assert [s.group_id for s in db.checkpoints.expendable(PLAN, 1, 1)] == [
            *(group_id(n) for n in range(3)),
            group_id(199),
        ]


def test_groups_of_programs_at_work_are_counted_and_found_apart(database: Database) -> None:
    types = {1: CheckpointType.ON_QUIET, 3: CheckpointType.ON_INTERVAL, 4: CheckpointType.ON_QUIET}
    with database.writing() as db:
        for number in range(6):
            group = a_group(
                PLAN, group_id(number), number, superseded=number == 3, between_steps=number not in types
            )
            reason = replace(group.reason, type=types.get(number, CheckpointType.BEFORE_STEP))
            db.checkpoints.add(replace(group, reason=reason))
        assert db.checkpoints.count_at_work(PLAN) == 3
        assert [s.group_id for s in db.checkpoints.at_work(PLAN, 2)] == [group_id(3), group_id(1)]
        assert [s.at_work for s in db.checkpoints.summaries(PLAN)] == [n in types for n in range(6)]
        found = {s.group_id for s in db.checkpoints.expendable(PLAN, 1, 6)}
        assert found == {group_id(n) for n in range(6) if n not in types}
        newest = db.checkpoints.latest(PLAN)
        assert newest is not None
        assert newest.group_id == group_id(5)
        db.checkpoints.remove([GroupId(group_id(5))])
        before = db.checkpoints.latest(PLAN)
        assert before is not None
        assert before.group_id == group_id(2), "the newer ones were taken while programs were at work"
        db.history.rest_at(GroupId(group_id(4)))  # a rollback went there
        assert db.checkpoints.count_at_work(PLAN) == 2
        rested = db.checkpoints.latest(PLAN)
        assert rested is not None
        assert rested.group_id == group_id(4)
