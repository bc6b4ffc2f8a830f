"""The log of a plan, step by step, with what was left behind told apart."""

from mulligan.domain.history.lines import Line
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.tool import CallStatus, ToolCall
from mulligan.domain.text.ids import CallId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.views.story import Passage, Records, ShownCall, story
from tests.unit.examples import NOON

PLAN = PlanId("p")
FIRST = Line(line=1, parent_line=None, fork_seq=0)
SECOND = Line(line=2, parent_line=1, fork_seq=4)
NOTHING = Records(calls={}, decisions={}, groups={})


def an_event(seq: int, type: EventType, **data: JsonObject | str | int | None) -> Event:
    return Event(plan_id=PLAN, seq=seq, type=type, data={**data}, created_at=NOON)


def a_call(seq: int) -> ShownCall:
    call = ToolCall(
        call_id=CallId(f"call {seq}"),
        plan_id=PLAN,
        seq=seq,
        line=1,
        done_seq=None,
        step_index=0,
        step_name="s",
        tool="shell",
        resource="r",
        arguments={},
        status=CallStatus.INTERRUPTED,
        output=None,
        detail={},
        error=None,
        superseded=True,
        started_at=NOON,
        duration_ms=None,
    )
    return ShownCall(call=call, arguments=(), output=None)


LOG = [
    an_event(1, EventType.PLAN_CREATED, name="p"),
    an_event(2, EventType.STEP_STARTED, index=0, step="one"),
    an_event(3, EventType.STEP_DONE, index=0, step="one"),
    an_event(4, EventType.CHECKPOINT, group_id="g", checkpoint_type="before_step"),
    an_event(5, EventType.STEP_STARTED, index=1, step="two"),
    an_event(7, EventType.CHECKPOINT, group_id="h", checkpoint_type="pre_rollback"),
    an_event(8, EventType.ROLLBACK, group_id="g"),
    an_event(9, EventType.STEP_STARTED, index=1, step="two"),
]


def told(passages: tuple[Passage, ...]) -> list[tuple[str | None, list[int], bool]]:
    return [
        (p.start and str(p.start.data["step"]), [h.seq for h in p.happenings], p.superseded) for p in passages
    ]


def test_what_follows_a_step_belongs_to_it_until_the_plan_moves() -> None:
    assert told(story(LOG, NOTHING, [FIRST, SECOND], 2)) == [
        (None, [1], False),
        ("one", [3, 4], False),
        ("two", [], True),
        (None, [7], True),
        (None, [8], False),
        ("two", [], False),
    ]


def test_a_log_without_its_beginning_knows_its_lines_from_the_end() -> None:
    assert told(story(LOG[4:], NOTHING, [FIRST, SECOND], 2)) == [
        ("two", [], True),
        (None, [7], True),
        (None, [8], False),
        ("two", [], False),
    ]


def test_a_call_that_never_ended_stands_where_it_began() -> None:
    records = Records(
        calls={CallId("call 6"): a_call(6), CallId("call 0"): a_call(0)}, decisions={}, groups={}
    )
    assert told(story(LOG, records, [FIRST, SECOND], 2))[2] == ("two", [6], True)


def test_work_that_is_appended_leaves_nothing_behind() -> None:
    log = [*LOG[:4], an_event(5, EventType.CORRECTION, mode="append")]
    passages = told(story(log, NOTHING, [FIRST, Line(line=2, parent_line=1, fork_seq=5)], 2))
    assert passages == [(None, [1], False), ("one", [3, 4], False), (None, [5], False)]


def test_an_empty_log_is_no_story() -> None:
    assert story([], NOTHING, [FIRST], 1) == ()
