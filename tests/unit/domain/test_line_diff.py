"""Which lines differ: always right, shortest where that is cheap, and never slow."""

import random
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.trees.line_diff import STEPS, changed_lines, lines_of

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"e\n"]), max_size=25)


def _changed(old: Sequence[bytes], new: Sequence[bytes], steps: int = STEPS) -> tuple[int, int]:
    """Deletions and insertions, after proof that the changes make the old lines the new ones."""
    made: list[bytes] = []
    changes = changed_lines(old, new, steps)
    x = y = 0
    for change in changes:
        assert old[x : change.old_start] == new[y : change.new_start]
        made += [*old[x : change.old_start], *new[change.new_start : change.new_end]]
        assert (change.old_start, change.new_start) == (0, 0) or change.old_start > x or change.new_start > y
        x, y = change.old_end, change.new_end
    assert [*made, *old[x:]] == list(new)
    return (
        sum(change.old_end - change.old_start for change in changes),
        sum(change.new_end - change.new_start for change in changes),
    )


def _longest_common(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    row = [0] * (len(new) + 1)
    for mine in old:
        above = row
        row = [0]
        for at, other in enumerate(new):
            row.append(above[at] + 1 if mine == other else max(above[at + 1], row[-1]))
    return row[-1]


@given(old=LINES, new=LINES)
def test_the_difference_is_a_shortest_one(old: list[bytes], new: list[bytes]) -> None:
    deletions, insertions = _changed(old, new)
    kept = _longest_common(old, new)
    assert (deletions, insertions) == (len(old) - kept, len(new) - kept)


@given(old=LINES, new=LINES, steps=st.integers(min_value=0, max_value=60))
def test_it_is_right_whatever_the_budget(old: list[bytes], new: list[bytes], steps: int) -> None:
    _changed(old, new, steps)


def _numbered(count: int) -> list[bytes]:
    return [b"line %d\n" % number for number in range(count)]


def _drawn(kinds: int, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    return [b"%d\n" % chance.randrange(kinds) for _ in range(5_000)]


def _shuffled(lines: list[bytes]) -> list[bytes]:
    random.Random(1).shuffle(lines)
    return lines


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(_numbered(5_000), [b"x" + line for line in _numbered(5_000)], id="every line differs"),
        pytest.param(_numbered(5_000), _shuffled(_numbered(5_000)), id="shuffled"),
        pytest.param(_numbered(5_000), _numbered(5_000)[::-1], id="backwards"),
        pytest.param(_drawn(2, 1), _drawn(2, 2), id="two kinds of lines"),
        pytest.param(_drawn(500, 1), _drawn(500, 2), id="five hundred kinds of lines"),
    ],
)
def test_bad_cases_are_bounded(old: list[bytes], new: list[bytes]) -> None:
    start = time.process_time()
    _changed(old, new)
    assert time.process_time() - start < 5  # it takes a fiftieth of that; an unbounded search takes a minute


def test_lines_that_stand_once_hold_a_text_together_when_the_budget_is_used_up() -> None:
    old = _numbered(4000)
    new = [line if number % 40 else b"{\n" for number, line in enumerate(old)]
    noisy_old = [line for pair in zip(old, [b"}\n", b"\n"] * 2000, strict=True) for line in pair]
    noisy_new = [line for pair in zip(new, [b"\n", b"}\n"] * 2000, strict=True) for line in pair]
    deletions, _ = _changed(noisy_old, noisy_new, 1000)
    assert deletions <= 4000 + 100


def test_few_changes_in_a_large_text_are_found_exactly() -> None:
    old = [b"%d\n" % (number % 999) for number in range(100_000)]
    new = [b"first\n", *old[1:50_000], *old[50_010:-1], b"last\n"]
    assert _changed(old, new) == (12, 2)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a\n"]),
        (b"a\r\nb\rc", [b"a\r\n", b"b\rc"]),
        (b"\n\n", [b"\n", b"\n"]),
        (b"\x0b\x0c\x85\n", [b"\x0b\x0c\x85\n"]),
    ],
)
def test_lines_end_at_line_feeds_alone(text: bytes, lines: list[bytes]) -> None:
    assert lines_of(text) == lines
