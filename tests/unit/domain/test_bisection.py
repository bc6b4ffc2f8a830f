"""The search for the first place of a row that fails."""

from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.history.bisection import Verdict, candidates, next_place, verdict_of

PASSED, FAILED, SKIPPED = Verdict.PASSED, Verdict.FAILED, Verdict.SKIPPED


def test_exit_statuses_are_read_as_git_reads_them() -> None:
    read = {status: verdict_of(status) for status in (-9, 0, 1, 124, 125, 126, 127, 128, 255)}
    assert read == {
        -9: None, 0: PASSED, 1: FAILED, 124: FAILED, 125: SKIPPED, 126: FAILED, 127: FAILED, 128: None, 255: None,
    }  # fmt: skip


def search(truth: list[Verdict]) -> tuple[list[Verdict | None], int]:
    """Search a row whose ends are known; return what is known at the end, and how many places were tried."""
    found: list[Verdict | None] = [truth[0], *[None] * (len(truth) - 2), truth[-1]]
    tried = 0
    while (place := next_place(found)) is not None:
        assert found[place] is None, "no place is tried twice"
        found[place] = truth[place]
        tried += 1
    return found, tried


@given(st.integers(1, 300), st.integers(1, 300))
def test_the_first_that_fails_is_found_in_few_trials(before: int, after: int) -> None:
    found, tried = search([PASSED] * before + [FAILED] * after)
    assert list(candidates(found)) == [before]
    assert 2**tried <= 2 * (before + after)


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_skipped_ones_leave_those_around_the_first(before: int, after: int, data: st.DataObject) -> None:
    truth = [PASSED] * before + [FAILED] * after
    inner = st.sets(st.integers(1, max(1, len(truth) - 2)))
    for place in data.draw(inner):
        if place < len(truth) - 1:
            truth[place] = SKIPPED
    found, _ = search(truth)
    left = candidates(found)
    assert before in left
    assert found[left[-1]] is FAILED
    assert all(found[place] is SKIPPED for place in left[:-1])
    assert found[left[0] - 1] is PASSED


def test_a_pair_is_an_answer_at_once() -> None:
    assert next_place([PASSED, FAILED]) is None
    assert list(candidates([PASSED, FAILED])) == [1]
