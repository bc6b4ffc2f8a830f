"""The mount table: places at which the kernel shows the same folder a second time."""

import os
import re

from msgspec import Struct

from mulligan.domain.resources.placement import lies_in

_TABLE = "/proc/self/mountinfo"
_ESCAPED = re.compile(r"\\([0-7]{3})")


class _Mounted(Struct, frozen=True):
    """One line of the table."""

    filesystem: str  # its number
    root: str  # the folder of the filesystem that is mounted
    place: str


def other_ways_to(folder: str) -> list[tuple[str, str]]:
    """Return other places of a folder (a real path), or of something in it, each with the path inside the folder.

    A folder can be mounted at several places, and so can a filesystem. What lies in the folder itself is left out.
    """
    table = _table()
    around = [each for each in table if lies_in(folder, each.place)]
    if not around:
        return []
    own = max(reversed(around), key=lambda each: len(each.place))  # of several at one place the last is seen
    inner = _joined(own.root, folder[len(own.place.rstrip("/")) :])
    found: list[tuple[str, str]] = []
    for each in table:
        if each.filesystem != own.filesystem or each is own:
            continue
        if lies_in(inner, each.root):
            found.append((_joined(each.place, inner[len(each.root.rstrip("/")) :]), ""))
        elif lies_in(each.root, inner):
            found.append((each.place, each.root[len(inner) :].strip("/")))
    return [
        (path, inside)
        for path, inside in dict.fromkeys(found)
        if not lies_in(path, folder) and _is_same(path, os.path.join(folder, inside))
    ]


def _table() -> list[_Mounted]:
    try:
        with open(_TABLE, encoding="utf-8", errors="surrogateescape") as lines:
            rows = [line.split(" ") for line in lines]
    except OSError:
        return []
    return [_Mounted(row[2], _unescaped(row[3]), _unescaped(row[4])) for row in rows]


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), text)


def _joined(folder: str, rest: str) -> str:
    return os.path.normpath(f"{folder}/{rest}") if rest.strip("/") else folder


def _is_same(one: str, other: str) -> bool:
    """Return whether two paths lead to the same file: another mount may hide what the table shows."""
    try:
        return os.path.samestat(os.stat(one), os.stat(other.rstrip("/")))
    except OSError:
        return False
