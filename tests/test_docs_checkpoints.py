"""The page on checkpoints tells every trigger, type, field, reason to stay and error, as the program has them."""

import re

import pytest

from mulligan.application.queries.checkpoint_queries import CheckpointView
from mulligan.config.registry import SETTINGS
from mulligan.domain.checkpoints.retention import (
    CURRENT,
    TURNABLE,
    UNDOABLE,
    UNFINISHED,
    GroupSummary,
    plan_retention,
)
from mulligan.domain.plans.trigger import TRIGGERS, CheckpointType, trigger_words
from mulligan.domain.text.ids import GroupId
from tests.reference_pages import kinds, made_errors
from tests.support.page_examples import REFERENCE, ROOT

PAGE = (REFERENCE / "checkpointing.md").read_text(encoding="utf-8")
# Rooms whose errors a user of checkpoints can meet, and those of their errors that other pages tell.
ROOMS = (
    "application/",
    "adapters/snapshots/",
    "adapters/db/",
    "rows/",
    "adapters/plan_locks.py",
    "cli/invocation.py",
)
ELSEWHERE = {
    *("tool_failed", "not_built_yet", "resource_unsuitable"),
    *(
        "apply_conflicted",
        "apply_under_way",
        "branch_differs",
        "location_changed",
        "nothing_applied",
        "result_changed",
    ),  # apply.md
    *("plan_not_a_try", "variant_not_found"),  # try.md
    *("call_not_found", "undo_shared"),  # agent-timeline.md
    *("host_has_home", "on_another_host", "project_not_shared"),  # shared.md
    *("graph_busy", "graph_files_elsewhere", "graph_files_gone", "graph_files_unknown"),  # langgraph.md
    "graph_state_damaged",  # langgraph.md
    "child_failed",  # workers.md
}


def _section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def _first_cells(text: str) -> set[str]:
    cells = re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)
    return {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


def test_every_trigger_and_every_type_has_its_row() -> None:
    told = _section("When one is taken")
    assert _first_cells(told) - {"checkpoint_type"} == {type.value for type in CheckpointType}
    assert {word for word in trigger_words() if f"`{word}`" not in told} == set()


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_every_trigger_has_a_row_that_says_when_it_fires(trigger: CheckpointType) -> None:
    told = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", _section("When one is taken").partition("always taken")[0])
    assert re.search(rf"^\| `{trigger.value}` \| {re.escape(trigger.fires)}(;[^|]*)? \|", told, re.MULTILINE)


def test_every_field_of_a_checkpoint_is_told() -> None:
    assert _first_cells(_section("What a checkpoint holds")) == {*CheckpointView.__struct_fields__}


def test_the_defaults_are_those_of_the_settings() -> None:
    defaults = {setting.key: setting.default for setting in SETTINGS}
    limit = defaults["sandbox.checkpoint.max-checkpoints-per-plan"]
    assert f"`sandbox.checkpoint.max-checkpoints-per-plan` ({limit}; at least 2)" in " ".join(PAGE.split())
    triggers = defaults["sandbox.checkpoint.auto-create-on"]
    assert isinstance(triggers, list | tuple)
    *others, last = (f"`{trigger}`" for trigger in triggers)
    assert f"a list of triggers, {', '.join(others)} and {last} unless" in " ".join(PAGE.split())


def test_every_reason_to_stay_is_told() -> None:
    """Seven groups of which the rule keeps each for another reason."""
    groups = [
        GroupSummary(
            group_id=GroupId(name),
            attempt=1 if name in "ab" else 2,
            superseded=False,
            labelled=name == "c",
            between_steps=name == "d",
        )
        for name in "abcdefghij"
    ]
    needed = {GroupId("e"): UNFINISHED, GroupId("g"): TURNABLE, GroupId("h"): CURRENT, GroupId("i"): UNDOABLE}
    verdict = plan_retention(groups, limit=10, needed=needed)
    reasons = {kept.reason for kept in verdict.keep}
    assert len(reasons) == len(groups)
    assert {reason for reason in reasons if f"`{reason}`" not in _section("Retention")} == set()


ERRORS = re.findall(r"^\| (\d+) \| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", _section("Errors"), re.MULTILINE)


@pytest.mark.parametrize(("code", "kind", "when", "remedy"), ERRORS, ids=[row[1] for row in ERRORS])
def test_errors_end_in_the_exit_code_that_is_told(code: str, kind: str, when: str, remedy: str) -> None:
    assert kinds()[kind].exit_code == int(code)
    assert when.strip()
    assert remedy.strip()


def test_every_error_of_these_rooms_is_told() -> None:
    """A new kind of error gets a row, with what to do, or is told by another page."""
    met = {
        kind
        for file, kind, _ in made_errors()
        if _room(file.relative_to(ROOT / "src" / "mulligan").as_posix())
    }
    assert met - ELSEWHERE - {kind for _, kind, _, _ in ERRORS} == set()


def _room(file: str) -> bool:
    return file.startswith(ROOMS)
