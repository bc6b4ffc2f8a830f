"""Filesystems in memory, on which a file can change without getting a new time.

A page that was read through a shared memory map is written through it without a fault, and such a filesystem never
learns of it. What was known of a file there is worth nothing to a scan: only a watch, which hears of the
last munmap, can tell.
"""

import os
from pathlib import Path

_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_MOUNTS = Path("/proc/self/mountinfo")


def keeps_no_times(path: Path) -> bool:
    """Tell whether the times of files in this folder can be older than what the files hold."""
    try:
        device = path.stat().st_dev
        mounts = _MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:  # no such folder, or not on Linux: whoever looks at it says so
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    return any(
        mount.split(" ", 3)[2] == number and mount.split(" - ", 1)[1].split(" ", 1)[0] in _IN_MEMORY
        for mount in mounts
    )
