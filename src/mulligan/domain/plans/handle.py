"""Handles: the short names by which people call plans, and the numbers of what happened in them.

A plan's handle is made of its name and fixed when the plan is recorded: `tune`, the second of that name `tune-2`, a
child plan `tune.docs`. `tune@3` is its third checkpoint group, `tune/d1` its first decision, `tune/c1` its first
correction.
"""

import re
from collections.abc import Container, Iterator
from itertools import count

from msgspec import Struct

from mulligan.domain.text.ids import is_id

_LONGEST = 32
_LONGEST_SUFFIX = 8
_TAKEN = ("first", "latest")  # they mean another plan each time
_UNNAMED = "plan"
_NUMBERED = r"(?P<plan>[^@]*)@(?P<number>-?[0-9]{1,9})"
_MEMBER = r"(?P<plan>.+)/(?P<kind>[dc])(?P<number>[0-9]{1,9})"


class GroupReference(Struct, frozen=True):
    """A checkpoint group by its number: `tune@3`, or `@3` of a plan that is named elsewhere."""

    plan: str  # empty: not named here
    number: int  # below 0: counted from the newest live group, which is -1


def plain_word(name: str) -> str:
    """Return the name as a word that needs no quotes; a name without one becomes `plan`."""
    word = re.sub(r"[^a-z0-9._-]", "-", name.lower()).lstrip("._-")[:_LONGEST].rstrip("._-")
    return word or _UNNAMED


def _word_for(name: str, parent: str | None) -> str:
    word = plain_word(name)
    if parent is None and word.isdecimal():  # digits alone name an entry of the timeline
        return f"{_UNNAMED}-{word}"[:_LONGEST]
    return word


def handles_for(name: str, parent: str | None) -> Iterator[str]:
    """Yield the handles that a plan of this name may have, best first."""
    word = _word_for(name, parent)
    if parent is not None:
        yield f"{parent}.{word}"
    elif word not in _TAKEN and not is_id(word):
        yield word
    for number in count(2):
        suffix = f"-{number}"
        short = word[: _LONGEST - len(suffix)]
        yield f"{parent}.{short}{suffix}" if parent is not None else f"{short}{suffix}"


def free_handle(name: str, parent: str | None, taken: Container[str]) -> str:
    """Return the first handle that no other plan has."""
    return next(handle for handle in handles_for(name, parent) if handle not in taken)


class HandleSupply:
    """A supply of handles, each taken once; many plans of one name cost as much as that many names."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._series: dict[tuple[str | None, str], Iterator[str]] = {}

    def next_for(self, name: str, parent: str | None) -> str:
        """Return the first handle for a name that was not given out yet."""
        word = (parent, _word_for(name, parent))
        series = self._series.setdefault(word, handles_for(name, parent))  # what was taken stays so
        handle = next(handle for handle in series if handle not in self._taken)
        self._taken.add(handle)
        return handle


def numbered_handles(name: str, parent: str | None) -> tuple[str, str]:
    """Return two texts: all numbered handles for a name are from the first on and before the second."""
    word = _word_for(name, parent)
    short = word[: _LONGEST - _LONGEST_SUFFIX]
    stem = short if parent is None else f"{parent}.{short}"
    return (f"{stem}-", f"{stem}.") if short == word else (stem, f"{stem}~")


def group_reference(word: str) -> GroupReference | None:
    """Read a word as a checkpoint group by its number, if it is one; there is no group 0."""
    found = re.fullmatch(_NUMBERED, word)
    if found is None or not int(found["number"]):
        return None
    return GroupReference(found["plan"], int(found["number"]))


def entry_reference(word: str) -> int | None:
    """Read a word as the number of an entry of the timeline, if it is one: `3`, and never `@3`."""
    return int(word) if re.fullmatch(r"[1-9][0-9]{0,8}", word) else None


def member_number(word: str, kind: str) -> tuple[str, int] | None:
    """Read a word such as `tune/d1` as plan and number, if it names a member of that kind."""
    found = re.fullmatch(_MEMBER, word)
    return (found["plan"], int(found["number"])) if found and found["kind"] == kind else None
