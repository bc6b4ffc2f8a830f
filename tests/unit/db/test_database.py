"""Rows come back as they went in, in one transaction or not at all."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.db.database import SqliteDatabase
from mulligan.domain.checkpoints.checkpoint import EMPTY_STATE, CheckpointType, PlanState
from mulligan.domain.history.lines import Line, live_segments
from mulligan.domain.plans.decision import Choice, Decision, DecisionType
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.intent import Intent, IntentKind
from mulligan.domain.plans.plan import Phase, PlanFailure, State
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.plans.tool import CallStatus, ToolCall, Undo
from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import CallId, DecisionId, GroupId, IntentId, PlanId
from mulligan.errors import Ambiguous, CheckpointNotFound, DatabaseUnusable, PlanNotFound, PlanTakenOver
from mulligan.ports import Claim
from tests.unit.examples import NOON, a_group, a_plan, a_snapshot

PLAN = PlanId("01K00000000000000000000001")
OTHER = PlanId("01K00000000000000000000002")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(tmp_path / "mulligan.db")
    with database.writing() as db:
        db.plans.add(a_plan(PLAN))
        db.history.start(PLAN, Line(line=1, parent_line=None, fork_seq=0))
    yield database
    database.close()


def test_a_plan_comes_back_as_it_went_in(database: SqliteDatabase) -> None:
    with database.reading() as db:
        assert db.plans.get(PLAN) == a_plan(PLAN)


def test_where_a_plan_stands_is_saved(database: SqliteDatabase) -> None:
    state = PlanState(
        step_index=2, outputs={"a": {"x": [1, None]}}, memory={"k": "v"}, decisions=({"q": "?"},)
    )
    failure = PlanFailure(message="m", step="s", tool=None, checkpoint="c")
    saved = replace(
        a_plan(PLAN),
        phase=Phase.EXECUTE,
        state=State.ERRORED,
        progress=state,
        failure=failure,
        messages=("cannot hold \udcff",),
    )
    with database.writing() as db:
        db.plans.save(saved)
    with database.reading() as db:
        assert db.plans.get(PLAN) == saved


@pytest.mark.parametrize("output", ["x" * 100_000, {"$output": "looks like a reference"}, ["y" * 5000]])
def test_long_outputs_come_back_whole(database: SqliteDatabase, output: object, tmp_path: Path) -> None:
    state = PlanState(step_index=1, outputs={"big": output}, memory={}, decisions=())  # pyright: ignore[reportArgumentType] - any JSON
    groups = [a_group(PLAN, f"01K000000000000000000000{n}1", n, state=state) for n in range(5)]
    with database.writing() as db:
        for group in groups:
            db.checkpoints.add(group)
    with database.reading() as db:
        assert db.checkpoints.get(groups[3].group_id).state == state
    rows = sqlite3.connect(tmp_path / "mulligan.db").execute("SELECT COUNT(*) FROM outputs").fetchone()
    assert rows == (1,), "kept once, however many groups name it"


def test_a_child_plan_starts_with_long_outputs_of_its_parent(database: SqliteDatabase) -> None:
    child = replace(a_plan(OTHER), progress=replace(EMPTY_STATE, outputs={"long": "x" * 10_000}))
    with database.writing() as db:
        db.plans.add(child)
        assert db.plans.get(OTHER) == child


def test_a_transaction_that_raises_leaves_nothing(database: SqliteDatabase) -> None:
    def work() -> None:
        with database.writing() as db:
            db.plans.add(a_plan(OTHER))
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        work()
    with database.reading() as db, pytest.raises(PlanNotFound):
        db.plans.get(OTHER)


def test_a_claimant_that_was_overtaken_can_write_nothing(database: SqliteDatabase) -> None:
    with database.writing() as db:
        first = Claim(plan_id=PLAN, fence=db.plans.raise_fence(PLAN))
    with database.writing_as(first) as db:
        db.plans.save(replace(a_plan(PLAN), attempt=2))
    with database.writing() as db:
        db.plans.raise_fence(PLAN)
    with pytest.raises(PlanTakenOver), database.writing_as(first) as db:
        db.plans.save(replace(a_plan(PLAN), attempt=3))
    with database.reading() as db:
        assert db.plans.get(PLAN).attempt == 2


def test_sequence_numbers_only_grow(database: SqliteDatabase) -> None:
    with database.writing() as db:
        assert [*db.plans.next_seqs(PLAN, 2), *db.plans.next_seqs(PLAN, 0), *db.plans.next_seqs(PLAN, 1)] == [
            1,
            2,
            3,
        ]
        with pytest.raises(PlanNotFound):
            db.plans.next_seqs(OTHER, 1)


@pytest.mark.parametrize("word", [PLAN, PLAN[:25], PLAN.lower(), "upgrade", "latest"])
def test_a_plan_is_found_by_id_prefix_name_and_word(database: SqliteDatabase, word: str) -> None:
    with database.reading() as db:
        assert db.plans.resolve(word).plan_id == PLAN


def test_an_ambiguous_prefix_or_name_is_refused_with_the_candidates(database: SqliteDatabase) -> None:
    with database.writing() as db:
        db.plans.add(a_plan(OTHER))
    with database.reading() as db:
        for word in ("upgrade", "01K000"):
            with pytest.raises(Ambiguous) as refusal:
                db.plans.resolve(word)
            assert PLAN in str(refusal.value)
            assert OTHER in str(refusal.value)
        assert db.plans.resolve("latest").plan_id == OTHER


def test_an_unknown_plan_is_refused_with_the_nearest_name(database: SqliteDatabase) -> None:
    with database.reading() as db:
        with pytest.raises(PlanNotFound) as refusal:
            db.plans.resolve("upgarde")
        assert "upgrade" in refusal.value.next_step
        with pytest.raises(PlanNotFound) as refusal:
            db.plans.resolve("zzz")
        assert "project.plans()" in refusal.value.next_step


def test_where_there_are_no_plans_the_way_to_one_is_told(tmp_path: Path) -> None:
    empty = SqliteDatabase(tmp_path / "empty.db")
    with empty.reading() as db, pytest.raises(PlanNotFound) as refusal:
        db.plans.resolve("latest")
    assert "project.execute(plan=...)" in refusal.value.next_step
    empty.close()


def test_plans_are_listed_in_order_and_by_state(database: SqliteDatabase) -> None:
    with database.writing() as db:
        db.plans.add(replace(a_plan(OTHER, "second"), phase=Phase.EXECUTE, state=State.QUEUED))
    with database.reading() as db:
        assert [p.plan_id for p in db.plans.list(None)] == [PLAN, OTHER]
        assert [p.plan_id for p in db.plans.list(State.QUEUED)] == [OTHER]


def test_steps_tool_calls_decisions_events_and_intents_come_back(database: SqliteDatabase) -> None:
    step = StepRecord(index=0, name="write", status=StepStatus.PENDING, duration_ms=None)
    call = ToolCall(
        call_id=CallId("call"),
        plan_id=PLAN,
        seq=3,
        line=1,
        done_seq=None,
        step_index=0,
        step_name="write",
        tool="shell",
        resource="workspace",
        arguments={"command": "true"},
        status=CallStatus.RUNNING,
        output=None,
        detail={},
        error=None,
        superseded=False,
        started_at=NOON,
        duration_ms=None,
        undo=Undo.POSSIBLE,
    )
    event = Event(plan_id=PLAN, seq=4, type=EventType.LOG, data={"message": "é\udcff"}, created_at=NOON)
    intent = Intent(
        intent_id=IntentId("i"), plan_id=PLAN, kind=IntentKind.ROLLBACK, data={"target": "g"}, created_at=NOON
    )
    with database.writing() as db:
        db.steps.add(PLAN, [step])
        db.steps.save(PLAN, replace(step, status=StepStatus.DONE, duration_ms=5))
        db.tool_calls.add(call)
        db.events.add(event)
        db.intents.add(intent)
        db.intents.save(replace(intent, data={"target": "h"}))
    with database.writing() as db:
        assert db.steps.list(PLAN) == [replace(step, status=StepStatus.DONE, duration_ms=5)]
        assert db.tool_calls.list(PLAN) == [call]
        assert db.events.list(PLAN) == [event]
        assert db.intents.list(PLAN) == [replace(intent, data={"target": "h"})]
        db.tool_calls.interrupt(PLAN)
        assert db.tool_calls.list(PLAN)[0].status is CallStatus.INTERRUPTED
        db.tool_calls.save(replace(call, status=CallStatus.DONE, done_seq=9, output=[1], duration_ms=4))
        assert db.tool_calls.list(PLAN)[0].done_seq == 9
        assert db.tool_calls.list_external(PLAN) == db.tool_calls.list(PLAN)
        db.tool_calls.set_undo(call.call_id, Undo.NOT_NEEDED)
        assert db.tool_calls.list_external(PLAN) == []
        db.tool_calls.set_undo(call.call_id, Undo.FAILED)
        assert db.tool_calls.list(PLAN)[0].undo is Undo.FAILED
        db.intents.close(intent.intent_id)
        assert db.intents.list(PLAN) == []


def a_decision(decision_id: str, seq: int) -> Decision:
    return Decision(
        decision_id=DecisionId(decision_id),
        plan_id=PLAN,
        seq=seq,
        line=1,
        parent_decision_id=None,
        type=DecisionType.CHOICE,
        step_index=0,
        step_name="choose",
        choice=Choice(question="Which?", chosen="lark", alternatives=("ply", "hand"), rationale="why"),
        superseded=False,
        created_at=NOON,
    )


def test_each_decision_is_a_child_of_the_first_live_one_of_its_step(database: SqliteDatabase) -> None:
    with database.writing() as db:
        db.decisions.add(a_decision("one", 1))
        db.decisions.add(a_decision("two", 2))
        db.history.make_live(PLAN, live_segments(db.history.lines(PLAN), 1, 1))
        db.decisions.add(a_decision("three", 3))
        db.decisions.add(a_decision("four", 4))
        db.decisions.add(replace(a_decision("later", 5), step_index=1))
        parents = {d.decision_id: (d.parent_decision_id, d.superseded) for d in db.decisions.list(PLAN)}
    assert parents == {
        "one": (None, False),
        "two": ("one", True),
        "three": ("one", False),
        "four": ("one", False),
        "later": (None, False),
    }


GROUPS = [f"01K000000000000000000000{n}1" for n in range(1, 5)]


@pytest.fixture
def grouped(database: SqliteDatabase) -> SqliteDatabase:
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
def test_a_group_is_found_by_word_label_and_id(grouped: SqliteDatabase, word: str, index: int) -> None:
    with grouped.reading() as db:
        assert db.checkpoints.resolve(word, PLAN).group.group_id == GROUPS[index]


def test_the_id_of_a_checkpoint_means_that_checkpoint_alone(grouped: SqliteDatabase) -> None:
    with grouped.reading() as db:
        whole = db.checkpoints.resolve(GROUPS[1], PLAN)
        one = db.checkpoints.resolve(GROUPS[1][:-1] + "Z", PLAN)
        assert whole.checkpoint is None
        assert one.checkpoint == one.group.checkpoints[0]
        assert db.checkpoints.resolve("half way", None).group.group_id == GROUPS[1]


@pytest.mark.parametrize("word", ["nothing", "01K9999", ""])
def test_an_unknown_checkpoint_is_refused(grouped: SqliteDatabase, word: str) -> None:
    with grouped.reading() as db, pytest.raises(CheckpointNotFound):
        db.checkpoints.resolve(word, PLAN)


def test_of_a_label_that_was_left_behind_the_id_is_told(grouped: SqliteDatabase) -> None:
    with grouped.writing() as db:
        db.history.make_live(PLAN, live_segments(db.history.lines(PLAN), 1, 10))
        for plan_id in (PLAN, None):
            with pytest.raises(CheckpointNotFound) as refusal:
                db.checkpoints.resolve("half way", plan_id)
            assert GROUPS[1] in refusal.value.next_step


def test_an_ambiguous_checkpoint_is_refused(grouped: SqliteDatabase) -> None:
    with grouped.reading() as db, pytest.raises(Ambiguous):
        db.checkpoints.resolve("01K000", PLAN)


def test_a_pruned_group_leaves_its_children_to_its_parent(grouped: SqliteDatabase) -> None:
    with grouped.writing() as db:
        db.checkpoints.remove([GroupId(GROUPS[1]), GroupId(GROUPS[2])])
        left = db.checkpoints.list(PLAN, superseded=True)
        assert [g.group_id for g in left] == [GROUPS[0], GROUPS[3]]
        assert left[1].parent_group_id == GROUPS[0]
        assert db.checkpoints.count(PLAN, superseded=True) == 2
        with pytest.raises(CheckpointNotFound):
            db.checkpoints.get(GroupId(GROUPS[1]))


def test_a_return_supersedes_what_came_after_and_can_spare_one(grouped: SqliteDatabase) -> None:
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


def test_the_group_a_rollback_went_to_becomes_a_place_to_start_from(grouped: SqliteDatabase) -> None:
    with grouped.writing() as db:
        db.history.rest_at(GroupId(GROUPS[2]))
        resting = db.checkpoints.newest_between_steps(PLAN)
        assert resting is not None
        assert resting.group_id == GROUPS[2]


def test_a_plan_without_groups_has_no_first_one(database: SqliteDatabase) -> None:
    with database.reading() as db:
        assert db.checkpoints.first(PLAN) is None
        assert db.checkpoints.newest_between_steps(PLAN) is None


def test_readers_do_not_wait_for_a_writer(database: SqliteDatabase, tmp_path: Path) -> None:
    reader = SqliteDatabase(tmp_path / "mulligan.db")
    with reader.reading():
        pass  # opened before the writer begins
    with database.writing() as db:
        db.plans.save(replace(a_plan(PLAN), attempt=7))
        with reader.reading() as seen:
            assert seen.plans.get(PLAN).attempt == 1
    with reader.reading() as seen:
        assert seen.plans.get(PLAN).attempt == 7
    reader.close()


def test_the_database_is_as_durable_as_promised(database: SqliteDatabase, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "mulligan.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with database.writing() as db, pytest.raises(DatabaseUnusable, match="FOREIGN KEY"):
        db.steps.add(OTHER, [StepRecord(index=0, name="x", status=StepStatus.DONE, duration_ms=None)])


@pytest.mark.parametrize("content", [b"this is no database at all, but long enough to be one" * 40])
def test_a_file_that_is_no_database_is_told_by_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "mulligan.db"
    file.write_bytes(content)
    database = SqliteDatabase(file)
    with pytest.raises(DatabaseUnusable) as error, database.reading():
        pass
    assert error.value.facts["database"] == str(file)
    assert file.read_bytes() == content, "nothing was made worse"


def test_snapshots_and_sandboxes_of_all_plans_are_found(database: SqliteDatabase) -> None:
    sandboxes = [
        Sandbox(
            plan_id=plan_id,
            resource="workspace",
            type=ResourceType.FS_DIRECTORY,
            strategy=Strategy.FILESYSTEM_COPY,
            location="/there",
            path=f"/here/{plan_id}",
            base=a_snapshot(letter),
            excluded=("data.db", "not \udcff utf-8"),
            branch="main",
            git_dir=f"/git/{plan_id}",
        )
        for plan_id, letter in ((PLAN, "b"), (OTHER, "c"))
    ]
    with database.writing() as db:
        db.plans.add(a_plan(OTHER))
        for number, plan_id in enumerate((PLAN, PLAN, OTHER)):
            db.checkpoints.add(a_group(plan_id, f"01K0000000000000000000{number}000", 1 + number))
        for sandbox in sandboxes:
            db.sandboxes.add(sandbox)
    with database.reading() as db:
        assert db.checkpoints.snapshots() == [a_snapshot("a")]
        assert db.sandboxes.all() == sandboxes
