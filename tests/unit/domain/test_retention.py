"""Retention keeps what a way back needs, and says why."""

from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.checkpoints.retention import CURRENT, TURNABLE, UNFINISHED, GroupSummary, plan_retention
from mulligan.domain.text.ids import GroupId

NOTHING: dict[GroupId, str] = {}


def group(
    name: str,
    *,
    attempt: int = 1,
    superseded: bool = False,
    labelled: bool = False,
    between_steps: bool = True,
    at_work: bool = False,
) -> GroupSummary:
    return GroupSummary(
        group_id=GroupId(name),
        attempt=attempt,
        superseded=superseded,
        labelled=labelled,
        between_steps=between_steps and not at_work,
        at_work=at_work,
    )


def test_within_the_limit_everything_stays() -> None:
    verdict = plan_retention([group("a"), group("b")], limit=2, needed=NOTHING)
    assert verdict.prune == ()
    assert [k.reason for k in verdict.keep] == ["the first", "the most recent"]


def test_the_oldest_goes_first_but_never_the_very_first() -> None:
    verdict = plan_retention([group(n) for n in "abcd"], limit=3, needed=NOTHING)
    assert verdict.prune == ("b",)


def test_superseded_groups_go_before_live_ones() -> None:
    groups = [group("a"), group("b"), group("c", superseded=True), group("d")]
    assert plan_retention(groups, limit=3, needed=NOTHING).prune == ("c",)


def test_labelled_groups_stay_while_an_unlabelled_one_can_go() -> None:
    groups = [group("a"), group("b", labelled=True), group("c"), group("d")]
    assert plan_retention(groups, limit=3, needed=NOTHING).prune == ("c",)
    groups = [group("a"), group("b", labelled=True), group("c", labelled=True), group("d")]
    assert plan_retention(groups, limit=3, needed=NOTHING).prune == ("b",)


def test_the_last_group_of_each_attempt_stays_likewise() -> None:
    groups = [group("a"), group("b"), group("c"), group("d", attempt=2), group("e", attempt=2)]
    verdict = plan_retention(groups, limit=3, needed=NOTHING)
    assert verdict.prune == ("b", "d")
    assert {k.group_id: k.reason for k in verdict.keep}["c"] == "the last of its attempt"


def test_what_is_needed_takes_the_place_of_another_but_not_of_a_label() -> None:
    needed = {GroupId("c"): TURNABLE}
    groups = [group("a"), group("b", labelled=True), group("c"), group("d"), group("e")]
    assert plan_retention(groups, limit=4, needed=needed).prune == ("d",)
    assert plan_retention(groups, limit=3, needed=needed).prune == ("d",)
    assert plan_retention(groups, limit=2, needed=needed).prune == ("b", "d")


def test_where_resume_goes_back_to_stays() -> None:
    groups = [
        group("a"),
        group("b"),
        group("c", between_steps=False),
        group("d", between_steps=False),
    ]
    verdict = plan_retention(groups, limit=2, needed=NOTHING)
    assert verdict.prune == ("c",)
    assert {k.group_id: k.reason for k in verdict.keep}["b"] == "the newest live one between two steps"


def test_what_something_unfinished_stands_on_stays() -> None:
    verdict = plan_retention([group(n) for n in "abcd"], limit=2, needed={GroupId("b"): UNFINISHED})
    assert verdict.prune == ("c",)
    assert {k.group_id: k.reason for k in verdict.keep}["b"] == "an unfinished operation depends on it"


@given(
    st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.booleans(), st.booleans()), max_size=20),
    st.integers(2, 8),
)
def test_nothing_is_lost_or_kept_twice(rows: list[tuple[int, bool, bool, bool]], limit: int) -> None:
    groups = [
        group(str(i), attempt=a, superseded=s, labelled=lab, between_steps=b)
        for i, (a, s, lab, b) in enumerate(rows)
    ]
    verdict = plan_retention(groups, limit=limit, needed=NOTHING)
    kept = [k.group_id for k in verdict.keep]
    assert sorted([*kept, *verdict.prune]) == sorted(g.group_id for g in groups)
    assert len(kept) <= max(limit, 3)  # the first, the most recent and the resting place
    assert all(k.reason for k in verdict.keep)
    if groups:
        assert groups[0].group_id in kept
        assert groups[-1].group_id in kept
    resting = [g.group_id for g in groups if g.between_steps and not g.superseded]
    assert not resting or resting[-1] in kept


def test_groups_of_programs_at_work_go_first_and_no_other_goes_for_one() -> None:
    groups = [
        group("a"),
        group("b", at_work=True),
        group("c", at_work=True),
        group("d"),
        group("e", labelled=True),
    ]
    assert plan_retention(groups, limit=4, needed=NOTHING).prune == ("b",)
    assert plan_retention(groups, limit=3, needed=NOTHING).prune == ("b",), "one of them stays"
    assert plan_retention(groups, limit=2, needed=NOTHING).prune == ("b", "d")


def test_of_those_the_ones_left_behind_go_before_live_ones() -> None:
    groups = [group("a"), group("b", at_work=True), group("c", at_work=True, superseded=True), group("d")]
    assert plan_retention(groups, limit=3, needed=NOTHING).prune == ("c",)


def test_the_one_that_the_plan_is_at_stays_with_its_reason() -> None:
    groups = [group("a"), group("b", at_work=True), group("c", at_work=True), group("d")]
    verdict = plan_retention(groups, limit=2, needed={GroupId("b"): CURRENT})
    assert verdict.prune == ("c",)
    assert {k.group_id: k.reason for k in verdict.keep}["b"] == "the plan is at it"


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=20), st.integers(2, 8))
def test_the_others_are_those_that_stay_without_them(rows: list[tuple[bool, bool, bool]], limit: int) -> None:
    groups = [group(str(i), superseded=s, labelled=lab, at_work=w) for i, (s, lab, w) in enumerate(rows)]
    lasting = [g for g in groups if not g.at_work]
    verdict = plan_retention(groups, limit=limit, needed=NOTHING)
    kept = {k.group_id for k in verdict.keep}
    alone = plan_retention(lasting, limit=limit, needed=NOTHING)
    assert kept & {g.group_id for g in lasting} == {k.group_id for k in alone.keep}
    assert len(kept) <= max(limit, len(alone.keep) + 1)
