"""Filesystems that do not keep what others do.

In memory (tmpfs) a file can change without getting a new time: a page that was read through a shared memory map is
written through it without a fault, and such a filesystem never learns of it. What was known of a file there is worth
nothing to a scan: only a watch, which hears of the last munmap, can tell.

On a network filesystem it is the other way around: no watch hears what another machine does, and a scan sees it.
"""

import os
from pathlib import Path

_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_ON_A_NETWORK = frozenset({
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
    "nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "vboxsf", "virtiofs",
})  # fmt: skip
_IN_USER_SPACE = "fuse"  # what is behind fuse.sshfs and its kind cannot be seen from here
_MOUNTS = Path("/proc/self/mountinfo")


def keeps_no_times(path: Path) -> bool:
    """Tell whether the times of files in this folder can be older than what the files hold."""
    return _kind_of(path) in _IN_MEMORY


def changes_unseen(path: Path) -> bool:
    """Tell whether others can change files in this folder without a word from this machine's kernel."""
    kind = _kind_of(path)
    return kind in _ON_A_NETWORK or kind.partition(".")[0] == _IN_USER_SPACE


def _kind_of(path: Path) -> str:
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
