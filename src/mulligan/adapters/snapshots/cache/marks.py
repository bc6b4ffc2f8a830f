"""Marks: the moment that a stat cache on disk describes, in the count of a process that watches its tree.

A cache says what a tree was like. With its mark, the next process asks what changed since, and looks at that alone. A
mark belongs to one file of a cache, byte for byte, and to one run of the process that watches; with any other it is not
used.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import DecodeError, Struct, ValidationError, msgpack
from msgspec.structs import replace

from mulligan.boundaries import act
from mulligan.osfiles.tempdirs import Rooms

SUFFIX = ".mark"
MOST_PATHS = 4_000  # to look at each time: with more, the cache is worth being written down again
_MOST_SHARED = 20_000


class Mark(Struct, frozen=True, kw_only=True):
    """A moment, and the names at which the tree was then not, or not surely, as the cache says."""

    token: bytes = b""  # empty: no moment is known
    paths: frozenset[str] = frozenset()
    renewed: frozenset[str] = frozenset()  # folders among them that may be others than the cache says
    shared: frozenset[str] = (
        frozenset()
    )  # names of files with several links: writes through others are not reported

    def later(self, token: bytes, paths: Iterable[str], renewed: Iterable[str]) -> "Mark":
        """Return the mark of a later moment, between which these paths were reported."""
        return replace(self, token=token, paths=self.paths.union(paths), renewed=self.renewed.union(renewed))

    @property
    def is_worth_keeping(self) -> bool:
        """Return whether the next process gains by it."""
        return bool(self.token) and len(self.paths) <= MOST_PATHS and len(self.shared) <= _MOST_SHARED


class _Written(Struct, frozen=True, array_like=True):
    cache: bytes  # the hash of the cache that it belongs to
    token: bytes
    paths: list[bytes]
    renewed: list[bytes]
    shared: list[bytes]


def write_mark(file: Path, cache: bytes, mark: Mark, rooms: Rooms) -> None:
    """Put a mark beside its cache. It needs no fsync: a power cut ends the process that gave it out."""
    parts = ([os.fsencode(path) for path in paths] for paths in (mark.paths, mark.renewed, mark.shared))
    with rooms.room() as room:
        draft = room / "mark"
        draft.touch(mode=0o600)
        draft.write_bytes(msgpack.encode(_Written(cache, mark.token, *parts)))
        with act("cache.name"):
            draft.replace(file)


def read_mark(file: Path, cache: bytes) -> Mark:
    """Return the mark of a cache with this hash; one without a moment where there is none."""
    try:
        found = msgpack.decode(file.read_bytes(), type=_Written)
    except (OSError, DecodeError, ValidationError):
        return Mark()
    if found.cache != cache:
        return Mark()
    paths, renewed, shared = (
        frozenset(map(os.fsdecode, each)) for each in (found.paths, found.renewed, found.shared)
    )
    return Mark(token=found.token, paths=paths, renewed=renewed, shared=shared)
