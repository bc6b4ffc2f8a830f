"""Objects that a folder of objects holds itself, without those that it borrows."""

import mmap
import os
import struct
from bisect import bisect_left
from collections.abc import Collection
from pathlib import Path

_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_NAMES_AT = 8 + 4 * 256


def not_own(objects: Path, names: Collection[bytes]) -> set[bytes]:
    """Return those names, as hexadecimal digits, whose objects this folder does not hold itself."""
    folder = os.fsencode(objects)
    left = {name for name in names if not os.path.exists(os.path.join(folder, name[:2], name[2:]))}
    for index in sorted(objects.glob("pack/*.idx")) if left else ():
        if index.with_suffix(".pack").exists():
            left -= _listed(index, left)
    return left


def _listed(index: Path, names: Collection[bytes]) -> set[bytes]:
    """Those of the names that the index of a pack lists; an index of another version lists none."""
    with index.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return set()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return {name for name in names if _lists(data, bytes.fromhex(name.decode()))}


def _lists(data: mmap.mmap, name: bytes) -> bool:
    first, size = name[0], len(name)
    (start,) = struct.unpack_from(">I", data, 4 + 4 * first) if first else (0,)
    (end,) = struct.unpack_from(">I", data, 8 + 4 * first)

    def at(place: int) -> bytes:
        return data[_NAMES_AT + place * size : _NAMES_AT + (place + 1) * size]

    found = bisect_left(range(end), name, start, end, key=at)
    return found < end and at(found) == name
