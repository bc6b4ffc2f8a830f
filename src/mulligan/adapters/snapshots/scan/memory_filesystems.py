"""Filesystems in memory, on which a file can change without getting a new time.

A page that was read through a shared memory map is written through it without a fault, and such a filesystem never
learns of it. What was known of a file there is worth nothing to a scan: only a watch, which hears of the
last munmap, can tell.
"""

from pathlib import Path

from mulligan.adapters.snapshots.scan.filesystems import kind_of

_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


def keeps_no_times(path: Path) -> bool:
    """Tell whether the times of files in this folder can be older than what the files hold."""
    return kind_of(path) in _IN_MEMORY
