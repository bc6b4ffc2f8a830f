"""Which entry of the timeline an undo takes back, and which a redo brings back."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mulligan.domain.history.timeline_entry import (
    DeedKind,
    DeedStatus,
    Standing,
    TimelineEntry,
    newest_that_counts,
    next_to_redo,
    still_counts,
)
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.text.ids import PlanId

COMPLETE, APPLIED = (Phase.EXECUTE, State.COMPLETE), (Phase.APPLY, State.APPLIED)
CANCELLED, QUEUED = (Phase.EXECUTE, State.CANCELLED), (Phase.EXECUTE, State.QUEUED)


def entry(number: int = 1, kind: DeedKind = DeedKind.RUN, **more: object) -> TimelineEntry:
    made = TimelineEntry(
        number=number,
        plan_id=PlanId(f"plan {number}"),
        kind=kind,
        title="it",
        step_index=0,
        line=1,
        seq=number,
        status=DeedStatus.DONE,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return replace(made, **more)


def plan(
    state: tuple[Phase, State] = COMPLETE, *, in_place: bool = False, sandboxes: bool = True
) -> Standing:
    return Standing(phase=state[0], state=state[1], in_place=in_place, has_sandboxes=sandboxes)


@pytest.mark.parametrize(
    ("kind", "standing", "counts"),
    [
        (DeedKind.RUN, plan(), True),
        (DeedKind.STEP, plan(QUEUED), True),
        (DeedKind.RUN, plan(APPLIED), False),  # its apply counts
        (DeedKind.RUN, plan(CANCELLED), False),
        (DeedKind.RUN, plan(sandboxes=False), False),
        (DeedKind.RUN, plan(APPLIED, in_place=True), True),
        (DeedKind.STEP, plan(CANCELLED, in_place=True), True),
        (DeedKind.RUN, plan(APPLIED, in_place=True, sandboxes=False), False),
        (DeedKind.APPLY, plan(APPLIED), True),
        (DeedKind.APPLY, plan(COMPLETE), False),
        (DeedKind.UNAPPLY, plan(COMPLETE), True),
        (DeedKind.UNAPPLY, plan(APPLIED), False),
    ],
)
def test_what_counts_depends_on_what_became_of_its_plan(
    kind: DeedKind, standing: Standing, counts: bool
) -> None:
    assert still_counts(entry(kind=kind), standing) is counts
    for gone in ({"superseded": True}, {"undone": True}):
        assert not still_counts(entry(kind=kind, **gone), standing)


def test_a_command_that_changed_nothing_does_not_count_but_a_step_does() -> None:
    assert not still_counts(entry(changed=False), plan())
    assert still_counts(entry(kind=DeedKind.STEP, changed=False), plan())
    assert still_counts(entry(changed=None), plan())


def test_the_newest_that_counts_is_found_without_looking_further() -> None:
    def entries():
        yield entry(3, undone=True), plan()
        yield entry(2), plan()
        raise AssertionError("nobody needs the rest")

    found = newest_that_counts(entries())
    assert found is not None
    assert found.number == 2
    assert newest_that_counts([]) is None


@given(st.lists(st.one_of(st.none(), st.integers(1, 99)), unique_by=lambda order: order or object()))
def test_what_was_undone_last_is_redone_first(orders: list[int | None]) -> None:
    found = next_to_redo([entry(number, redo=order) for number, order in enumerate(orders)])
    undone = [order for order in orders if order is not None]
    assert (found.redo if found else None) == max(undone, default=None)


@pytest.mark.parametrize("status", DeedStatus)
def test_what_did_not_come_to_its_end_is_cut_off(status: DeedStatus) -> None:
    ended = status in (DeedStatus.DONE, DeedStatus.FAILED)
    assert entry(status=status).is_cut_off is not ended
