"""What a run records comes back as it went in: steps, tool calls, events, decisions and intents."""

import pytest
from msgspec.structs import replace

from mulligan.domain.history.correction import Correction
from mulligan.domain.history.lines import live_segments
from mulligan.domain.plans.decision import Choice, Decision, DecisionType
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.intent import CorrectionWork, Intent, RollbackWork
from mulligan.domain.plans.plan import State
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.plans.tool import CallStatus, ToolCall, Undo
from mulligan.domain.text.ids import CallId, DecisionId, GroupId, IntentId, PlanId
from mulligan.rows.database import Database
from tests.unit.domain.test_correction import CORRECTION
from tests.unit.examples import NOON, a_definition

PLAN = PlanId("01K00000000000000000000001")
CALL = ToolCall(
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


def test_steps_come_back(database: Database) -> None:
    step = StepRecord(index=0, name="write", status=StepStatus.PENDING, duration_ms=None)
    with database.writing() as db:
        db.steps.add(PLAN, [step])
    with database.reading() as db:
        assert db.steps.list(PLAN) == [step]
    done = replace(step, status=StepStatus.DONE, duration_ms=5)
    with database.writing() as db:
        db.steps.save(PLAN, done)
    with database.reading() as db:
        assert db.steps.list(PLAN) == [done]


def test_tool_calls_come_back(database: Database) -> None:
    with database.writing() as db:
        db.tool_calls.add(CALL)
    with database.reading() as db:
        assert db.tool_calls.list(PLAN) == [CALL]
    done = replace(CALL, status=CallStatus.DONE, done_seq=9, output=[1], duration_ms=4)
    with database.writing() as db:
        db.tool_calls.save(done)
    with database.reading() as db:
        assert db.tool_calls.list(PLAN) == [done]


def test_a_tool_call_that_runs_can_be_interrupted_and_one_that_is_done_cannot(
    database: Database,
) -> None:
    done = replace(CALL, call_id=CallId("done"), seq=4, status=CallStatus.DONE, done_seq=5, duration_ms=1)
    with database.writing() as db:
        db.tool_calls.add(CALL)
        db.tool_calls.add(done)
        db.tool_calls.interrupt(PLAN)
    with database.reading() as db:
        found = {call.call_id: call.status for call in db.tool_calls.list(PLAN)}
    assert found == {"call": CallStatus.INTERRUPTED, "done": CallStatus.DONE}


@pytest.mark.parametrize("undo", Undo)
def test_calls_with_effects_outside_are_those_that_an_undo_is_about(database: Database, undo: Undo) -> None:
    with database.writing() as db:
        db.tool_calls.add(CALL)
        db.tool_calls.set_undo(CALL.call_id, undo)
    with database.reading() as db:
        (found,) = db.tool_calls.list(PLAN)
        assert found == replace(CALL, undo=undo)
        assert db.tool_calls.list_external(PLAN) == ([] if undo is Undo.NOT_NEEDED else [found])


def test_events_come_back(database: Database) -> None:
    event = Event(plan_id=PLAN, seq=4, type=EventType.LOG, data={"message": "é\udcff"}, created_at=NOON)
    with database.writing() as db:
        db.events.add(event)
    with database.reading() as db:
        assert db.events.list(PLAN) == [event]


def test_intents_come_back_until_they_are_closed(database: Database) -> None:
    work = RollbackWork(target=GroupId("g"), state=State.QUEUED, log={"reason": "é\udcff"}, way_back=True)
    intent = Intent(intent_id=IntentId("i"), plan_id=PLAN, work=work, created_at=NOON)
    with database.writing() as db:
        db.intents.add(intent)
    with database.reading() as db:
        assert db.intents.list(PLAN) == [intent]
    changed = replace(intent, work=replace(work, before=GroupId("h")))
    with database.writing() as db:
        db.intents.save(changed)
    with database.writing() as db:
        assert db.intents.list(PLAN) == [changed]
        db.intents.close(intent.intent_id)
        assert db.intents.list(PLAN) == []


def test_decisions_come_back(database: Database) -> None:
    with database.writing() as db:
        db.decisions.add(a_decision("one", 1))
    with database.reading() as db:
        assert db.decisions.list(PLAN) == [a_decision("one", 1)]


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


def test_each_decision_is_a_child_of_the_first_live_one_of_its_step(database: Database) -> None:
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


@pytest.mark.parametrize(
    "correction", [CORRECTION, replace(CORRECTION, chosen=None, superseded_decisions=())], ids=["all", "some"]
)
def test_an_intent_keeps_the_correction_and_what_the_plan_is_to_become(
    database: Database, correction: Correction
) -> None:
    intent = Intent(
        intent_id=IntentId("i"),
        plan_id=PLAN,
        work=CorrectionWork(target=GroupId("g"), state=State.QUEUED, log={}, correction=correction),
        created_at=NOON,
        definition=a_definition("other"),
    )
    with database.writing() as db:
        db.intents.add(intent)
    with database.reading() as db:
        assert db.intents.list(PLAN) == [intent]
