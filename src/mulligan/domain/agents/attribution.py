"""Attribution: whose work it is that a folder with agents in it changed between two moments.

A call is an interval between two moments. What changed while one call alone was open is that call's. Where several were
open, the files that edit tools name decide, and what no tool names may be the work of each call that names none.
"""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from mulligan.domain.trees.tree_difference import TreeDifference


class Actor(Struct, frozen=True, kw_only=True):
    """A call of an agent, or a plan that works in place, with the time in which it may have changed files."""

    name: str  # as people type it, such as 3.2; of a plan its handle
    key: str  # the id of the call or plan
    first: int  # the number of the moment at which it began
    last: int | None  # and of that at which it ended; None: it has no end yet
    paths: tuple[str, ...] = ()  # the files that it names, relative to the folder; empty: it may write any
    cut_off: bool = False  # its end was never reported


class Span(Struct, frozen=True, kw_only=True):
    """The time between two moments, with the calls that were open."""

    first: int
    last: int | None  # None: now
    open: tuple[Actor, ...]

    def others(self, asked: Collection[str]) -> bool:
        """Return whether something in it may be the work of others than those asked for."""
        return any(actor.key not in asked or (actor.cut_off and actor.paths) for actor in self.open)


class Owner(StrEnum):
    """The author of a change, seen from the calls that were asked for."""

    ASKED = "asked"
    OTHERS = "others"
    SHARED = "shared"  # theirs or that of others: it is not known


def spans_of(
    bounds: Sequence[int], actors: Iterable[Actor], asked: Collection[str], own: Mapping[int, int]
) -> Sequence[Span]:
    """Return the spans in which calls that were asked for were open, oldest first; neighbours are joined.

    `bounds` are the numbers of moments at which the files are known, oldest first, and `own` those at which an undo
    began and ended: what lies between these belongs to none of the calls.
    """
    actors, found = tuple(actors), list[Span]()
    for first, last in zip(bounds, (*bounds[1:], None), strict=True):
        if first in own and last is not None and last <= own[first]:
            continue
        at_work = tuple(actor for actor in actors if _is_open(actor, first, last))
        if not any(actor.key in asked for actor in at_work):
            continue
        span = Span(first=first, last=last, open=at_work)
        before = found[-1] if found else None
        if before and before.last == first and not (before.others(asked) or span.others(asked)):
            both = {actor.key: actor for actor in (*before.open, *at_work)}
            found[-1] = Span(first=before.first, last=last, open=tuple(both.values()))
        else:
            found.append(span)
    return found


def _is_open(actor: Actor, first: int, last: int | None) -> bool:
    if last is not None and actor.first >= last:
        return False
    return actor.last is None or actor.last > first


def candidates(path: str, span: Span) -> Sequence[Actor]:
    """Return those of the open calls that may have changed a path."""
    naming = [actor for actor in span.open if any(_leads_to(path, named) for named in actor.paths)]
    able = naming or [actor for actor in span.open if not actor.paths]
    # An edit tool that came to its end may have started a formatter; one that was cut off wrote its own file at most.
    return able or [actor for actor in span.open if not actor.cut_off]


def _leads_to(path: str, named: str) -> bool:
    return path == named or named.startswith(f"{path}/")


def owner_of(actors: Sequence[Actor], asked: Collection[str]) -> Owner:
    """Return whose work it is that one of these calls did."""
    if not actors or all(actor.key not in asked for actor in actors):
        return Owner.OTHERS
    return Owner.ASKED if all(actor.key in asked for actor in actors) else Owner.SHARED


class Shares(Struct, frozen=True, kw_only=True):
    """The changes of a span, divided: the paths that are the work of those asked for, and those that are shared."""

    mine: tuple[str, ...]
    shared: Mapping[str, tuple[str, ...]]  # with the names of all that may have changed them


def shares_of(differences: Sequence[TreeDifference], span: Span, asked: Collection[str]) -> Shares:
    """Divide the changes of files in a span."""
    mine: list[str] = []
    shared: dict[str, tuple[str, ...]] = {}
    kept: set[str] = set()  # folders that hold the work of others
    for difference in differences:
        able = candidates(difference.path, span)
        match owner_of(able, asked):
            case Owner.ASKED:
                mine.append(difference.path)
            case Owner.SHARED:
                # That a folder holds more or less than before is said of what it holds.
                if difference.of_files or not _is_around(difference.path, differences):
                    shared[difference.path] = tuple(actor.name for actor in able)
            case Owner.OTHERS if difference.new is not None:
                kept |= set(_around(difference.path))
            case Owner.OTHERS:
                pass
    return Shares(mine=tuple(path for path in mine if path not in kept), shared=shared)


def _is_around(path: str, differences: Sequence[TreeDifference]) -> bool:
    return any(each.path.startswith(f"{path}/") for each in differences)


def _around(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path


def inside(paths: Iterable[str], folder: str, resource: str) -> tuple[str, ...]:
    """Return the paths that an edit tool names relative to a resource; none where one of them is elsewhere.

    `folder` is the agent's working directory, which paths that are not absolute start from.
    """
    found: list[str] = []
    for path in paths:
        whole = posixpath.normpath(posixpath.join(folder, path))
        if not whole.startswith(f"{resource}/"):
            return ()
        found.append(whole.removeprefix(f"{resource}/"))
    return tuple(found)
