"""Each thing that a log can tell is told in words, and what is too much is counted."""

import pytest
from msgspec.structs import replace

from mulligan.adapters.report_page.event_blocks import Scene, told
from mulligan.adapters.report_page.page_words import coded, duration
from mulligan.adapters.report_page.report_html import page
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Conflict, State
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.views.report import PlanReport, Report
from mulligan.domain.views.status_view import ExecutionCounts
from mulligan.domain.views.story import Happening
from tests.report.parsed import parsed
from tests.unit.examples import NOON, a_plan

CLOCK = "12:00:00"
CONFLICT: JsonObject = {"resource": "r", "path": "p", "reason": "both"}
RESOURCES: JsonObject = {"resources": [{"resource": "app", "files": 2, "commit": "abc"}]}
WHERE: JsonObject = {
    "group_id": "G",
    "number": 3,
    "checkpoint_id": "C23456789012",
    "step_index": 1,
    "paths": 2,
}
WORDS: list[tuple[EventType, JsonObject, str]] = [
    (EventType.PLAN_CREATED, {"name": "p"}, "The plan was recorded"),
    (EventType.PLAN_STATE, {"state": "cancelled", "reason": "enough"}, "The plan is cancelled: enough"),
    (EventType.PLAN_STATE, {"state": "constrained", "conflicts": [CONFLICT]}, "r: p (both)"),
    (EventType.PLAN_MENDED, {"from_step": 2}, "Continued with an edited plan file, from step 2"),
    (EventType.STEP_STARTED, {"index": 0, "step": "s"}, "step started s"),
    (EventType.STEP_DONE, {"index": 0, "step": "s"}, "step done s"),
    (EventType.STEP_FAILED, {"index": 0, "step": "s", "error": "\x1b[31moh"}, "oh"),
    (EventType.TOOL_CALLED, {"call_id": "c", "tool": "shell"}, "tool called shell"),
    (EventType.TOOL_UNDONE, {"tool": "publish", "step": "s", "error": None}, "Undone: publish in step s"),
    (
        EventType.TOOL_UNDONE,
        {"tool": "publish", "step": "s", "error": "no"},
        "undo of publish in step s failed: no",
    ),
    (EventType.STEP_ADDED, {"index": 1, "step": "s"}, "Continued with another step: s"),
    (EventType.RESOLVED, {"paths": ["a", "b"], "left": 1}, "Conflicts solved: a, b; 1 left"),
    (EventType.DECISION, {"decision_id": "d", "question": "Which?"}, "decision Which?"),
    (EventType.SUBPLAN_SPAWNED, {"plan_id": "P", "name": "n", "again": True}, "Child plan n went on"),
    (
        EventType.SUBPLAN_MERGED,
        {"plan_id": "P", "name": "n", "paths": 1, "conflicts": 2},
        "1 path, 2 conflicts",
    ),
    (EventType.CHECKPOINT, {"checkpoint_type": "manual", "label": "x"}, "Checkpoint “x” manual pruned"),
    (EventType.PRUNED, {"groups": ["a"]}, "1 older checkpoint pruned"),
    (EventType.ROLLBACK, WHERE, "Rolled back to checkpoint @3 at step 1; 2 paths restored"),
    (EventType.RETURNED, {**WHERE, "reason": "a retry"}, "Went back (a retry) to checkpoint"),
    (
        EventType.CORRECTION,
        {"mode": "append", "attempt": 2, "guidance": "so"},
        "Corrected (append, attempt 2)",
    ),
    (EventType.APPLIED, RESOURCES, "app: 2 files, commit abc"),
    (EventType.UNAPPLIED, {"resources": []}, "Taken out of the real resources again"),
    (
        EventType.PATHS_RESTORED,
        {"paths": 2, "number": 3, "place": "real folder"},
        "2 paths restored from @3 into the real folder",
    ),
    (EventType.FORGOTTEN, {"paths": [".env"], "groups": 1}, "Paths purged from 1 checkpoint"),
    (EventType.LOG, {"step": "s", "message": "word"}, "The tool says"),
    (EventType.MESSAGE, {"step": "s", "message": "word"}, "Note of step s"),
]
COUNTS = ExecutionCounts(tool_calls=0, files_modified=0, child_plans=0, decisions=0, checkpoints=0)


def test_nothing_that_happens_is_left_out() -> None:
    assert {type for type, _, _ in WORDS} == set(EventType)


@pytest.mark.parametrize(("type", "data", "words"), WORDS)
def test_words(type: EventType, data: JsonObject, words: str) -> None:
    happening = Happening(seq=1, at=NOON, type=type, data=data, superseded=False, about=None)
    shown = parsed(told(happening, Scene({}, ())).content).text
    assert words in shown
    assert CLOCK in shown


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(None, ""), (7, "7 ms"), (1_250, "1.2 s"), (61_000, "1 min 1 s"), (3_720_000, "1 h 2 min")],
)
def test_durations(milliseconds: int | None, words: str) -> None:
    assert duration(milliseconds) == words


def test_commands_in_sentences_stand_out_and_a_lone_backtick_is_one() -> None:
    assert coded("run `x <y>` now") == "run <code>x &lt;y&gt;</code> now"
    assert coded("a ` b") == "a ` b"


def test_what_is_too_much_is_counted() -> None:
    plan = replace(
        a_plan(), state=State.CONSTRAINED, conflicts=(Conflict(resource="r", path="p", reason="both"),)
    )
    part = PlanReport(
        plan=plan,
        parent_name=None,
        steps=(),
        counts=COUNTS,
        error=None,
        messages=("mind `this`",),
        corrections=(),
        passages=(),
        events_left_out=1_200,
        look=f"`mulligan log {plan.plan_id}`",
        changes={},
        overall=None,
    )
    text = parsed(page(Report(plans=(part,), plans_left_out=3, made_at=NOON))).text
    assert f"1,200 older entries not shown: mulligan log {plan.plan_id}" in text
    assert "3 more child plans not shown." in text
    assert "1 conflictr: p (both)" in text
    assert "mind this" in text
