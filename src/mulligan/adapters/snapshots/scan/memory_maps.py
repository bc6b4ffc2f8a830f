"""Files that processes have mapped shared and writable.

Such a file can change without a system call: a write to a page that is dirty already changes no timestamp and
raises no event. Only the last munmap does, which a live process has not made yet.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_LINE = re.compile(rb"\S+ .w.s \S+ [0-9a-f]+:[0-9a-f]+ (\d+) +(/.*)")
_ESCAPED = re.compile(rb"\\([0-7]{3})")


class Maps(NamedTuple):
    """Files that are mapped, by path and by inode.

    Of inodes only the numbers: on btrfs and overlayfs the device there is another than that of stat. A file of another
    filesystem with the same number means that one file more is read.
    """

    paths: frozenset[str]
    inodes: frozenset[int]


def shared_writable_maps() -> Maps:
    """Look at every process that we may look at; those of others cannot write what is ours alone."""
    paths: set[str] = set()
    inodes: set[int] = set()
    for process in _processes():
        try:
            lines = (_PROC / process / "maps").read_bytes().splitlines()
        except OSError:
            continue  # it ended, or is not ours
        for line in lines:
            match = _LINE.fullmatch(line)
            if match is not None:
                inode, path = match.groups()
                paths.add(os.fsdecode(_ESCAPED.sub(lambda octal: bytes([int(octal[1], 8)]), path)))
                inodes.add(int(inode))
    return Maps(frozenset(paths), frozenset(inodes))


def _processes() -> list[str]:
    try:
        return [name for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:  # pragma: no cover - not on Linux
        return []
