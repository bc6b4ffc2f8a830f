"""The filesystem that a folder is on, and how far it can be relied on to report changes."""

import os
import re
from pathlib import Path

_ON_A_NETWORK = frozenset({
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
    "nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "vboxsf", "virtiofs",
})  # fmt: skip
_IN_USER_SPACE = "fuse"  # what is behind fuse.sshfs and its kind cannot be seen from here
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_ESCAPED = re.compile(rb"\\([0-7]{3})")
_MOUNTS = Path("/proc/self/mountinfo")


def changes_unseen(path: Path) -> bool:
    """Return whether other machines can change files in this folder: no watch hears what they do."""
    kind = kind_of(path)
    return kind in _ON_A_NETWORK or kind.partition(".")[0] == _IN_USER_SPACE


def keeps_no_times(path: Path) -> bool:
    """Return whether the times of files in this folder can be older than their contents.

    In memory, a page that was read through a shared memory map is written through it without a fault, and the
    filesystem does not notice. A scan cannot rely on what was known of a file there; only a watch, which is notified
    of the last munmap, can.
    """
    return kind_of(path) in _IN_MEMORY


def mounts_below(path: Path) -> bool:
    """Return whether a filesystem is mounted somewhere in a folder, as far as this process sees mounts."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:  # pragma: no cover - not on Linux
        return False
    prefix = os.fsencode(path.resolve()).rstrip(b"/") + b"/"
    places = (line.split(b" ", 5)[4] for line in lines)
    return any(_ESCAPED.sub(_character, place).startswith(prefix) for place in places)


def _character(escaped: re.Match[bytes]) -> bytes:
    return bytes([int(escaped[1], 8)])


def kind_of(path: Path) -> str:
    """Return the type of the filesystem that a folder is on; empty where that cannot be found out."""
    try:
        device = path.stat().st_dev
        mounts = _MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:  # no such folder, or not on Linux: the caller that looks at it says so
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    for mount in mounts:
        if mount.split(" ", 3)[2] == number:
            return mount.split(" - ", 1)[1].split(" ", 1)[0]
    return ""
