"""The search for the first checkpoint group at which a command fails: which group is tried next, and what is known."""

from collections.abc import Sequence
from enum import StrEnum

_SKIP = 125
_NO_VERDICT = 128  # and more: a signal ended the command, or its shell says so


class Verdict(StrEnum):
    """The outcome of a command at one group."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


def verdict_of(exit_status: int) -> Verdict | None:
    """Return what an exit status says, as `git bisect run` reads it; None: the search ends without a result."""
    if exit_status == 0:
        return Verdict.PASSED
    if exit_status < 0 or exit_status >= _NO_VERDICT:
        return None
    return Verdict.SKIPPED if exit_status == _SKIP else Verdict.FAILED


def next_place(found: Sequence[Verdict | None]) -> int | None:
    """Return which place to try next, of a row whose first passed and whose last failed; None: nothing is left.

    None among `found` is a place that was not tried. Of those between the last that passed and the first that failed
    it is the one nearest to the middle: skipped ones are stepped around.
    """
    passed, failed = _bounds(found)
    middle = (passed + failed) / 2
    untried = [place for place in range(passed + 1, failed) if found[place] is None]
    return min(untried, key=lambda place: abs(place - middle), default=None)


def candidates(found: Sequence[Verdict | None]) -> range:
    """Return the places that may be the first that fails; a single one where none before it was skipped."""
    passed, failed = _bounds(found)
    return range(passed + 1, failed + 1)


def _bounds(found: Sequence[Verdict | None]) -> tuple[int, int]:
    """Return the place of the last that passed before the first that failed, and that of the latter."""
    failed = found.index(Verdict.FAILED)
    passed = max(place for place in range(failed) if found[place] is Verdict.PASSED)
    return passed, failed
