"""Entries of a plan's log in words."""

import pytest

from mulligan.cli.answers.event_text import told
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from tests.unit.examples import NOON

TARGET: JsonObject = {"checkpoint_id": "01C", "step_index": 2, "paths": 1}
CORRECTION: JsonObject = {
    "mode": "revert",
    "decision_id": "01D",
    "guidance": "use ply",
    "attempt": 2,
    **TARGET,
}
CALL: JsonObject = {"tool": "publish", "step": "s", "error": None}
WORDS: list[tuple[EventType, JsonObject, str]] = [
    (EventType.PLAN_CREATED, {"name": "tour"}, "recorded as tour"),
    (EventType.PLAN_STATE, {"state": "processing", "steps": 2}, "begun"),
    (EventType.PLAN_STATE, {"state": "queued"}, "stopped before its end"),
    (EventType.PLAN_STATE, {"state": "cancelled", "reason": "enough"}, "cancelled: enough"),
    (EventType.PLAN_MENDED, {"from_step": 3}, "goes on with another plan file from step 3 on"),
    (EventType.STEP_ADDED, {"index": 1, "step": "s"}, "step s added"),
    (EventType.STEP_STARTED, {"index": 0, "step": "s"}, "step s begun"),
    (EventType.STEP_DONE, {"index": 0, "step": "s", "duration_ms": 1500}, "step s done in 1.5 s"),
    (EventType.STEP_FAILED, {"index": 0, "step": "s", "error": "why"}, "step s failed: why"),
    (
        EventType.TOOL_CALLED,
        {**CALL, "status": "done", "duration_ms": 3},
        "tool publish of step s: done after 3 ms",
    ),
    (EventType.TOOL_UNDONE, {**CALL, "status": "done"}, "undo of publish in step s: done"),
    (
        EventType.TOOL_UNDONE,
        {**CALL, "status": "failed", "error": "why"},
        "undo of publish in step s: failed, why",
    ),
    (EventType.RESOLVED, {"paths": ["a", "b"], "left": 1}, "conflicts solved in a, b, 1 left"),
    (
        EventType.DECISION,
        {"question": "Which?", "chosen": "this", "decision_id": "01D"},
        "decision Which? -> this 01D",
    ),
    (EventType.SUBPLAN_SPAWNED, {"name": "docs", "plan_id": "01P", "again": False}, "child plan 01P"),
    (
        EventType.SUBPLAN_SPAWNED,
        {"name": "docs", "plan_id": "01P", "again": True},
        "goes on with child plan 01P",
    ),
    (EventType.SUBPLAN_MERGED, {"name": "docs", "paths": 2, "conflicts": 0}, "merged docs: 2 paths"),
    (
        EventType.SUBPLAN_MERGED,
        {"name": "docs", "paths": 1, "conflicts": 1},
        "merged docs: 1 path, 1 in conflict",
    ),
    (
        EventType.CHECKPOINT,
        {"checkpoint_type": "manual", "label": "draft", "checkpoint_id": "01C", "number": 3, "step_index": 0},
        "checkpoint @3, your label 'draft'",
    ),
    (
        EventType.CHECKPOINT,
        {"checkpoint_type": "before_step", "label": None, "checkpoint_id": "01C", "step_index": 1},
        "checkpoint 01C, before step 2",
    ),
    (EventType.PRUNED, {"groups": ["01G", "01H"]}, "pruned 01G, 01H"),
    (EventType.ROLLBACK, {**TARGET, "reason": "rollback"}, "went back to 01C, step 3, 1 path"),
    (
        EventType.ROLLBACK,
        {**TARGET, "reason": "rollback", "direction": "forward", "number": 9},
        "went forward to @9, step 3, 1 path",
    ),
    (EventType.ROLLBACK, {**TARGET, "reason": "cut off"}, "went back to 01C, step 3, 1 path: cut off"),
    (EventType.RETURNED, {**TARGET, "reason": "a retry"}, "went back to 01C, step 3, 1 path: a retry"),
    (
        EventType.CORRECTION,
        {**CORRECTION, "chosen": "ply"},
        "corrected decision 01D: use ply, choosing ply; attempt 2 from 01C, step 3, 1 path",
    ),
    (
        EventType.CORRECTION,
        {**CORRECTION, "chosen": None},
        "corrected decision 01D: use ply; attempt 2 from 01C, step 3, 1 path",
    ),
    (
        EventType.CORRECTION,
        {**CORRECTION, "mode": "append", "chosen": None, "child": "more"},
        "appended to decision 01D: use ply; attempt 2",
    ),
    (EventType.APPLIED, {"resources": []}, "applied"),
    (
        EventType.APPLIED,
        {
            "resources": [
                {"resource": "app", "files": 1, "commit": "abc"},
                {"resource": "data", "files": 2, "commit": None},
            ]
        },
        "applied: app, 1 file, commit abc; data, 2 files",
    ),
    (EventType.UNAPPLIED, {"resources": []}, "taken back"),
    (
        EventType.PATHS_RESTORED,
        {"paths": 2, "number": 3, "place": "real folder", "group_id": "g"},
        "restored 2 paths from @3 into the real folder",
    ),
    (EventType.FORGOTTEN, {"paths": [".env"], "groups": 2}, "forgot .env in 2 checkpoints"),
    (EventType.LOG, {"message": "words"}, "words"),
    (EventType.MESSAGE, {"message": "words"}, "words"),
]


@pytest.mark.parametrize(("type", "data", "words"), WORDS)
def test_every_entry_has_its_words(type: EventType, data: JsonObject, words: str) -> None:
    assert told(Event(plan_id=PlanId("p"), seq=1, type=type, data=data, created_at=NOON)) == words


def test_no_type_is_left_out() -> None:
    assert {type for type, _, _ in WORDS} == set(EventType)
