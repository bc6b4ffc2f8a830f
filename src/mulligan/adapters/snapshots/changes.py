"""In which files two stored trees differ; folders that are equal are not opened."""

import os
from collections.abc import Callable

from mulligan.adapters.snapshots.trees import EntryKind, decode, identity_part, kind_of, split, split_root

_Records = dict[str, bytes]


def changed_files(old: bytes, new: bytes, read: Callable[[bytes], bytes]) -> tuple[str, ...]:
    """The paths of files and links, sorted by their bytes, in which two trees, given by address, differ."""
    found: list[str] = []
    pending: list[tuple[str, _Records, _Records]] = [
        ("", split_root(old, read(old)), split_root(new, read(new)))
    ]
    while pending:
        place, before, after = pending.pop()
        for name in before.keys() | after.keys():
            path = os.path.join(place, name) if place or name != "." else ""
            sides = before.get(name), after.get(name)
            if _contents(sides[0]) != _contents(sides[1]):
                pending.append((path, _opened(sides[0], read), _opened(sides[1], read)))
            if _leaf(sides[0]) != _leaf(sides[1]):
                found.append(path)
    return tuple(sorted(found, key=os.fsencode))


def _contents(record: bytes | None) -> bytes | None:
    """The identity of what a folder holds; None where there is no folder."""
    return decode(record).id if record and kind_of(record) is EntryKind.FOLDER else None


def _opened(record: bytes | None, read: Callable[[bytes], bytes]) -> _Records:
    if record is None or kind_of(record) is not EntryKind.FOLDER:
        return {}
    address = decode(record).address
    return split(address, read(address))


def _leaf(record: bytes | None) -> bytes | None:
    if record is None or kind_of(record) is EntryKind.FOLDER:
        return None
    return identity_part(record)
