"""Retention for sessions of coding agents: by age and bytes; prompts outlive calls."""

from datetime import UTC, datetime, timedelta

from mulligan.domain.checkpoints.retention import AgedGroup, too_old_or_large
from mulligan.domain.text.ids import GroupId

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def group(name: str, days: int, size: int = 1, *, prompt: bool = False, labelled: bool = False) -> AgedGroup:
    return AgedGroup(
        group_id=GroupId(name),
        created_at=NOW - timedelta(days=days),
        size_bytes=size,
        labelled=labelled,
        of_prompt=prompt,
    )


def pruned(*groups: AgedGroup, limit: int = 0, needed: str = "") -> str:
    found = too_old_or_large(
        groups, since=NOW - timedelta(days=30), limit=limit, needed=dict.fromkeys(map(GroupId, needed), "it")
    )
    return "".join(found)


def test_what_is_too_old_goes_but_for_the_first_the_newest_labels_and_what_is_needed() -> None:
    old = [group(name, 90, prompt=True) for name in "abcde"]
    assert pruned(*old, group("f", 60, labelled=True), group("g", 40), needed="c") == "bde"


def test_of_what_is_too_large_calls_go_before_prompts_and_older_ones_first() -> None:
    groups = [
        group("a", 9),
        group("b", 8, 4, prompt=True),
        group("c", 7, 4),
        group("d", 6, 4),
        group("e", 5, 4),
    ]
    assert pruned(*groups, limit=13) == "c"
    assert pruned(*groups, limit=9) == "cd"
    assert pruned(*groups, limit=5) == "bcd"
    assert pruned(*groups) == ""


def test_nothing_is_pruned_of_nothing() -> None:
    assert pruned() == ""
