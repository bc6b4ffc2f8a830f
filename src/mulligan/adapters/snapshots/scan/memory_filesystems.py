"""Filesystems in memory, on which a file can change without getting a new time.

A page that was read through a shared memory map is written through it without a fault, and such a filesystem does
not notice. A scan cannot rely on what was known of a file there; only a watch, which is notified of the last
munmap, can.
"""

from pathlib import Path

from mulligan.adapters.snapshots.scan.filesystems import kind_of

_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


def keeps_no_times(path: Path) -> bool:
    """Return whether the times of files in this folder can be older than their contents."""
    return kind_of(path) in _IN_MEMORY
