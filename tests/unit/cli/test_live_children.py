"""What people see of plans that run beside each other."""

import pytest

from mulligan.cli.live import Live
from mulligan.domain.event import Event, EventType
from mulligan.domain.ids import PlanId
from mulligan.domain.json_value import JsonObject
from tests.unit.examples import NOON


def event(whose: str, type: EventType, /, **data: object) -> Event:
    facts: JsonObject = data  # pyright: ignore[reportAssignmentType] - any JSON
    return Event(plan_id=PlanId(whose), seq=1, type=type, data=facts, created_at=NOON)


def test_a_childs_lines_say_whose_they_are(capfd: pytest.CaptureFixture[str]) -> None:
    live = Live(terminal=False, monotonic=lambda: 0.0)
    live.event(event("parent", EventType.STEP_STARTED, step="parts"))
    live.event(event("parent", EventType.SUBPLAN_SPAWNED, plan_id="c1", name="docs", again=False))
    live.event(event("c1", EventType.STEP_STARTED, step="write"))
    live.output(b"printed\n")
    live.event(event("parent", EventType.SUBPLAN_MERGED, plan_id="c1", name="docs", paths=2, conflicts=0))
    live.close()
    assert capfd.readouterr().err == "> parts\n[docs] > write\nprinted\n  merged docs: 2 paths\n"
