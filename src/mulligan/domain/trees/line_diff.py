"""Line differences: the shortest where that is cheap, a good one where it is not.

Equal lines at both ends are cut off, and lines that only one side has need no search. The rest goes through
Myers' algorithm. Its cost grows with the square of the number of differences, so it has a budget of steps. If
the budget runs out, lines that occur once on each side become fixed points, in their longest common order, and
the search continues between them. A range that still exceeds the budget is replaced as a whole.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isqrt
from typing import NamedTuple

from msgspec import Struct

LARGEST_TEXT = 32 * 1024 * 1024  # bytes of a file that is merged, or compared line by line
STEPS = 1_000_000  # of Myers' inner loop for one file: at most half a second


class Change(NamedTuple):
    """Lines of the old text and the lines of the new text that replace them, as half-open ranges."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def is_binary(data: bytes) -> bool:
    """Return whether bytes are binary: they contain a NUL."""
    return b"\0" in data


class _Run(NamedTuple):
    """Equal lines: where they start on both sides, and how many."""

    old: int
    new: int
    length: int


def lines_of(data: bytes) -> list[bytes]:
    r"""The lines of a text, each with its "\n"; the last may have none."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def changed_lines(old: Sequence[bytes], new: Sequence[bytes], steps: int = STEPS) -> list[Change]:
    """The changes that make the old lines the new ones, in order, with equal lines between any two."""
    head = _equal_from_start(old, new)
    tail = _equal_from_end(old, new, head)
    numbers: dict[bytes, int] = {}
    left = [numbers.setdefault(line, len(numbers)) for line in old[head : len(old) - tail]]
    right = [numbers.setdefault(line, len(numbers)) for line in new[head : len(new) - tail]]
    on_left, on_right = set(left), set(right)
    left_at = [at for at, number in enumerate(left) if number in on_right]
    right_at = [at for at, number in enumerate(right) if number in on_left]
    left_changed, right_changed = bytearray(b"\1" * len(left)), bytearray(b"\1" * len(right))
    search = _Search([left[at] for at in left_at], [right[at] for at in right_at], steps)
    for run in search.equal_runs():
        for offset in range(run.length):
            left_changed[left_at[run.old + offset]] = 0
            right_changed[right_at[run.new + offset]] = 0
    return [
        Change(change.old_start + head, change.old_end + head, change.new_start + head, change.new_end + head)
        for change in _changes(left_changed, right_changed)
    ]


def _equal_from_start(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    for at, (mine, other) in enumerate(zip(old, new, strict=False)):
        if mine != other:
            return at
    return min(len(old), len(new))


def _equal_from_end(old: Sequence[bytes], new: Sequence[bytes], head: int) -> int:
    most = min(len(old), len(new)) - head
    for at in range(most):
        if old[-1 - at] != new[-1 - at]:
            return at
    return most


def _changes(old: bytearray, new: bytearray) -> Iterator[Change]:
    """Changes from the marks on both sides: between two of them, as many lines are unmarked on each."""
    x = y = 0
    while x < len(old) or y < len(new):
        x_end, y_end = x, y
        while x_end < len(old) and old[x_end]:
            x_end += 1
        while y_end < len(new) and new[y_end]:
            y_end += 1
        if x_end > x or y_end > y:
            yield Change(x, x_end, y, y_end)
        equal = min(_distance(old, x_end), _distance(new, y_end))
        x, y = x_end + equal, y_end + equal


def _distance(marks: bytearray, start: int) -> int:
    found = marks.find(1, start)
    return (len(marks) if found < 0 else found) - start


class _Search(Struct, eq=False):
    """Finds equal runs of two sequences of numbers within a budget."""

    old: list[int]
    new: list[int]
    steps: int

    def equal_runs(self) -> Iterator[_Run]:
        """Yield runs of equal numbers that are in the same order on both sides; the runs themselves are unordered."""
        pending = [(0, len(self.old), 0, len(self.new))]
        while pending:
            x, x_end, y, y_end = pending.pop()
            start = x
            while x < x_end and y < y_end and self.old[x] == self.new[y]:
                x, y = x + 1, y + 1
            if x > start:
                yield _Run(start, y - (x - start), x - start)
            end = x_end
            while x < x_end and y < y_end and self.old[x_end - 1] == self.new[y_end - 1]:
                x_end, y_end = x_end - 1, y_end - 1
            if end > x_end:
                yield _Run(x_end, y_end, end - x_end)
            if x == x_end or y == y_end:
                continue
            old, new = self.old[x:x_end], self.new[y:y_end]
            found = self._shortest(old, new)
            if found is not None:
                yield from (_Run(run.old + x, run.new + y, run.length) for run in found)
                continue
            after_x, after_y = x, y
            for fixed in _fixed_points(old, new):
                point_x, point_y = x + fixed.old, y + fixed.new
                yield _Run(point_x, point_y, 1)
                pending.append((after_x, point_x, after_y, point_y))
                after_x, after_y = point_x + 1, point_y + 1
            if after_x > x:  # without a fixed point there is nothing to go on with
                pending.append((after_x, x_end, after_y, y_end))

    def _shortest(self, old: list[int], new: list[int]) -> list[_Run] | None:
        """The runs that a shortest difference leaves equal; None where the budget does not suffice."""
        most = min(len(old) + len(new), isqrt(max(self.steps, 0)))  # costs at most half of what is left
        if abs(len(old) - len(new)) > most:
            return None
        middle = most + 1
        reach = [0] * (2 * most + 3)  # per diagonal: how far in the old sequence
        trace: list[list[int]] = []
        for differences in range(most + 1):
            trace.append(reach[middle - differences - 1 : middle + differences + 2])
            self.steps -= differences + 1
            for diagonal in range(-differences, differences + 1, 2):
                at = middle + diagonal
                down = diagonal == -differences or (diagonal != differences and reach[at - 1] < reach[at + 1])
                x = reach[at + 1] if down else reach[at - 1] + 1
                y = x - diagonal
                while x < len(old) and y < len(new) and old[x] == new[y]:
                    x, y = x + 1, y + 1
                reach[at] = x
                if x >= len(old) and y >= len(new):
                    return _way_back(trace, len(old), len(new))
        return None


def _way_back(trace: list[list[int]], x: int, y: int) -> list[_Run]:
    """The equal runs on the way that reached the end."""
    runs: list[_Run] = []
    for differences in range(len(trace) - 1, -1, -1):
        reach, middle = trace[differences], differences + 1
        diagonal = x - y
        down = diagonal == -differences or (
            diagonal != differences and reach[middle + diagonal - 1] < reach[middle + diagonal + 1]
        )
        before = diagonal + 1 if down else diagonal - 1
        came = reach[middle + before]
        start = came if down else came + 1
        if x > start:
            runs.append(_Run(start, start - diagonal, x - start))
        x, y = came, came - before
    return runs


def _fixed_points(old: list[int], new: list[int]) -> list[_Run]:
    """Return the numbers that occur once on each side, in the longest order common to both."""
    once_old, once_new = Counter(old), Counter(new)
    where = {number: at for at, number in enumerate(new) if once_new[number] == 1}
    ends: list[int] = []  # per length: the smallest end, in the new sequence, of an ascending chain
    chain: list[int] = []  # which of the links those ends are
    links: list[tuple[_Run, int]] = []  # a point, and the one before it
    for at, number in enumerate(old):
        if once_old[number] != 1 or number not in where:
            continue
        length = bisect_left(ends, where[number])
        links.append((_Run(at, where[number], 1), chain[length - 1] if length else -1))
        ends[length : length + 1] = [where[number]]
        chain[length : length + 1] = [len(links) - 1]
    points: list[_Run] = []
    at = chain[-1] if chain else -1
    while at >= 0:
        point, at = links[at]
        points.append(point)
    return points[::-1]
