"""Which calls a return leaves behind, and what of their effects outside is taken back."""

from datetime import UTC, datetime

from msgspec.structs import replace

from mulligan.domain.history.lines import Segment
from mulligan.domain.history.undo import described, plan_undoing
from mulligan.domain.plans.tool import CallStatus, ToolCall, Undo
from mulligan.domain.text.ids import CallId, PlanId

LIVE = (Segment(2, 10), Segment(1, 5))


def a_call(name: str, done_seq: int | None, undo: Undo, **others: object) -> ToolCall:
    call = ToolCall(
        call_id=CallId(name),
        plan_id=PlanId("p"),
        seq=0,
        line=2,
        done_seq=done_seq,
        step_index=0,
        step_name=name,
        tool="publish",
        resource="workspace",
        arguments={},
        status=CallStatus.DONE if done_seq else CallStatus.INTERRUPTED,
        output=None,
        detail={},
        error=None,
        superseded=False,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        duration_ms=None,
        undo=undo,
    )
    return replace(call, **others)  # pyright: ignore[reportArgumentType] - the tests name fields of calls


def names(calls: tuple[ToolCall, ...]) -> list[str]:
    return [call.step_name for call in calls]


def test_calls_after_the_group_are_undone_newest_first() -> None:
    calls = [
        a_call("before", 9, Undo.POSSIBLE),
        a_call("first", 11, Undo.POSSIBLE),
        a_call("second", 13, Undo.FAILED),
    ]
    found = plan_undoing(calls, LIVE)
    assert names(found.undone) == ["second", "first"]
    assert found.irreversible == found.not_redone == ()


def test_calls_of_another_line_count_by_that_line() -> None:
    calls = [a_call("kept", 5, Undo.POSSIBLE, line=1), a_call("left", 6, Undo.POSSIBLE, line=1)]
    assert names(plan_undoing(calls, LIVE).undone) == ["left"]


def test_what_was_left_behind_or_undone_before_is_not_undone_again() -> None:
    calls = [a_call("left", 11, Undo.POSSIBLE, superseded=True), a_call("undone", 12, Undo.DONE)]
    found = plan_undoing(calls, LIVE)
    assert found.undone == found.irreversible == ()


def test_irreversible_are_effects_outside_without_undo_and_calls_that_never_ended() -> None:
    calls = [
        a_call("mail", 11, Undo.IMPOSSIBLE),
        a_call("cut off", None, Undo.POSSIBLE),
        a_call("failed", 12, Undo.POSSIBLE, status=CallStatus.FAILED),
        a_call("local", None, Undo.NOT_NEEDED),
        a_call("mail before", 3, Undo.IMPOSSIBLE),
    ]
    found = plan_undoing(calls, LIVE)
    assert names(found.irreversible) == ["mail", "cut off", "failed"]
    assert found.undone == ()
    assert [described(call) for call in found.irreversible[:2]] == [
        "publish in step 'mail'",
        "publish in step 'cut off', which did not come to its end",
    ]


def test_calls_that_become_live_again_stay_undone() -> None:
    calls = [
        a_call("undone", 8, Undo.DONE, superseded=True),
        a_call("other", 8, Undo.POSSIBLE, superseded=True),
        a_call("elsewhere", 20, Undo.DONE, superseded=True),
    ]
    assert names(plan_undoing(calls, LIVE).not_redone) == ["undone"]
