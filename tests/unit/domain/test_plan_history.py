"""The log of a plan as a history: what is live, what was left behind, and by what."""

from collections.abc import Sequence

from msgspec.structs import replace

from mulligan.domain.checkpoints.retention import GroupSummary
from mulligan.domain.history.lines import Line
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.views.plan_history import PlanHistory, plan_history
from tests.unit.examples import NOON, a_plan

_TYPES = {
    "step": EventType.STEP_STARTED,
    "done": EventType.STEP_DONE,
    "failed": EventType.STEP_FAILED,
    "called": EventType.TOOL_CALLED,
    "group": EventType.CHECKPOINT,
    "back": EventType.ROLLBACK,
    "append": EventType.CORRECTION,
    "note": EventType.LOG,
    "state": EventType.PLAN_STATE,
    "pruned": EventType.PRUNED,
}


class History:
    """A plan's log as it grows: groups by name, and returns to them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.lines = [Line(line=1, parent_line=None, fork_seq=0)]
        self._groups: dict[str, tuple[int, int]] = {}  # line and sequence number

    def add(self, words: str) -> "History":
        for word in words.split():
            kind, _, name = word.partition(":")
            data: JsonObject = {"index": 0, "step": name, "state": name}
            if kind == "group":
                self._groups[name] = (self.lines[-1].line, len(self.events) * 2)
                data = {"group_id": name}
            if kind == "back":
                line, seq = self._groups[name]
                self.lines.append(Line(line=len(self.lines) + 1, parent_line=line, fork_seq=seq))
                data = {"group_id": name}
            seq = len(self.events) * 2 + 1  # a group has the one before that of its event
            if kind == "append":
                self.lines.append(
                    Line(line=len(self.lines) + 1, parent_line=self.lines[-1].line, fork_seq=seq)
                )
            self.events.append(
                Event(plan_id=PlanId("p"), seq=seq, type=_TYPES[kind], data=data, created_at=NOON)
            )
        return self

    def timeline(self, newest: int | None = None, *, there: Sequence[str] | None = None) -> PlanHistory:
        groups = [
            GroupSummary(
                group_id=GroupId(name),
                attempt=1,
                superseded=name != "spared",
                labelled=False,
                between_steps=True,
            )
            for name in (self._groups if there is None else there)
        ]
        processing = replace(a_plan(), phase=Phase.EXECUTE, state=State.PROCESSING)
        return plan_history(processing, self.lines, self.events, groups, {}, newest)


def depths(history: History, newest: int | None = None) -> list[int]:
    return [moment.depth for moment in history.timeline(newest).moments]


def test_what_was_never_left_behind_is_one_line() -> None:
    assert depths(History().add("group:a note:x group:b")) == [0, 0, 0]


def test_what_a_rollback_left_behind_lies_beside_the_line() -> None:
    assert depths(History().add("group:a note:x group:b back:a note:y")) == [0, 1, 1, 0, 0]


def test_a_return_that_was_left_behind_itself_lies_between() -> None:
    history = History().add("group:a group:b note:x back:b note:y back:a note:z")
    assert depths(history) == [0, 1, 2, 1, 1, 0, 0]


def test_going_forward_again_leaves_the_way_there_beside_the_line() -> None:
    history = History().add("group:a note:x group:b back:a note:y back:b note:z")
    assert depths(history) == [0, 0, 0, 1, 1, 0, 0]


def test_what_is_appended_to_a_decision_leaves_nothing_behind() -> None:
    assert depths(History().add("group:a note:x append:more group:b back:a")) == [0, 1, 1, 1, 0]
    assert depths(History().add("group:a append:more group:b back:b note:x")) == [0, 0, 0, 0, 0]


def test_the_newest_part_of_a_log_lies_where_it_lies_in_the_whole() -> None:
    history = History().add("group:a note:x group:b back:a note:y group:c note:z back:c back:a note:end")
    for newest in range(1, 11):
        assert depths(history, newest) == depths(history)[-newest:]


def test_a_step_tells_what_became_of_it() -> None:
    moments = (
        History().add("step:a called:a done:a step:b called:b failed:b step:c called:c").timeline().moments
    )
    assert [m.event.data["step"] for m in moments] == ["a", "b", "c"]
    assert [m.end and m.end.type for m in moments] == [EventType.STEP_DONE, EventType.STEP_FAILED, None]
    assert all(m.call is not None for m in moments)
    assert [m.under_way for m in moments] == [False, False, True]


def test_a_step_that_was_left_in_its_middle_ended_elsewhere() -> None:
    moments = History().add("step:a group:inside called:a done:a back:inside step:a").timeline().moments
    assert [(m.event.type.value, m.depth) for m in moments] == [
        ("step_started", 0),
        ("checkpoint", 0),
        ("tool_called", 1),
        ("step_done", 1),
        ("rollback", 0),
        ("step_started", 0),
    ]
    assert [m.under_way for m in moments if m.event.type is EventType.STEP_STARTED] == [False, True]


def test_a_limit_counts_what_is_shown() -> None:
    history = History().add("group:a step:a called:a done:a note:x pruned:a")
    for newest, shown, older in ((None, 3, 0), (1, 1, 2), (2, 2, 1), (9, 3, 0)):
        limited = history.timeline(newest)
        assert (len(limited.moments), limited.older) == (shown, older)


def test_what_is_pruned_says_so_and_what_is_spared_is_live() -> None:
    history = History().add("group:a group:gone group:spared pruned:gone back:a")
    moments = history.timeline(there=["a", "spared"]).moments
    assert [m.pruned for m in moments] == [False, True, False, False]
    assert [m.live for m in moments] == [True, False, True, True]


def test_steps_that_are_gone_on_with_are_told_from_those_that_begin() -> None:
    history = History().add("state:processing note:x state:queued state:processing")
    assert [m.again for m in history.timeline().moments] == [False, False, False, True]
    assert [m.again for m in history.timeline(1).moments] == [True], "of a log whose beginning is left out"
