"""The filesystem that a folder is on, and whether other machines write to it: no watch hears what they do."""

import os
from pathlib import Path

_ON_A_NETWORK = frozenset({
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
    "nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "vboxsf", "virtiofs",
})  # fmt: skip
_IN_USER_SPACE = "fuse"  # what is behind fuse.sshfs and its kind cannot be seen from here
_MOUNTS = Path("/proc/self/mountinfo")


def changes_unseen(path: Path) -> bool:
    """Return whether others can change files in this folder without notice from this machine's kernel."""
    kind = kind_of(path)
    return kind in _ON_A_NETWORK or kind.partition(".")[0] == _IN_USER_SPACE


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
