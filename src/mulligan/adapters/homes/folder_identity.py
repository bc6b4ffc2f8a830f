"""The identity of a project folder, and whether a folder that is not found is gone or only out of reach."""

import errno
import os
import re
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from mulligan.osfiles.folders import birth_time

MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = r"\\([0-7]{3})"
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR})


class FolderIdentity(Struct, frozen=True):
    """The identity of a folder, whatever its path is."""

    device: int
    inode: int
    filesystem: int  # its id, which outlasts a restart where the number of the device does not; 0: unknown
    born: int = (
        0  # when it was made, in nanoseconds: a removed folder leaves its inode to a new one; 0: unknown
    )

    def matches(self, other: "FolderIdentity") -> bool:
        """Return whether this is the same folder."""
        one_birth = self.born == other.born or not (self.born and other.born)
        return self.inode == other.inode and one_birth and self.shares_disk(other)

    def shares_disk(self, other: "FolderIdentity") -> bool:
        """Return whether both folders are on one filesystem."""
        known = self.filesystem != 0 and self.filesystem == other.filesystem
        return self.device == other.device or known


class Presence(StrEnum):
    """The answer to whether a recorded folder exists."""

    HERE = "here"
    GONE = "gone"  # it does not exist, or another folder has its path
    UNREACHABLE = "unreachable"  # this cannot be known: its disk is away, or a folder above it is closed


def identity_of(folder: Path) -> FolderIdentity | None:
    """Return the identity of a folder; None where there is none, or where it cannot be looked at."""
    try:
        return _identity(folder)
    except OSError:
        return None


def mount_of(folder: Path) -> str:
    """Return the mount point that a folder is reached through; empty where the system does not say."""
    points = (point for _, point in mounts() if folder.is_relative_to(point))
    return max(points, key=len, default="")


def mounts() -> list[tuple[str, str]]:
    """Return every mount of this process: the folder of its filesystem that it shows, and where."""
    try:
        table = os.fsdecode(MOUNTS.read_bytes())
    except OSError:  # pragma: no cover - not on Linux
        return []
    rows = (line.split(" ") for line in table.splitlines())
    return [(_unescaped(row[3]), _unescaped(row[4])) for row in rows]


def presence_of(folder: Path, identity: FolderIdentity, mount: str) -> Presence:
    """Look for a folder of this identity that was reached through this mount point; empty: unknown."""
    nearest = folder
    while True:
        try:
            found = _identity(nearest)
            break
        except OSError as exc:
            if exc.errno not in _NOT_THERE or nearest == nearest.parent:
                return Presence.UNREACHABLE
            nearest = nearest.parent
    if nearest == folder and found.matches(identity):
        return Presence.HERE
    # Where its disk is not mounted, an empty folder or nothing at all is in its place.
    mounted = found.shares_disk(identity) and (not mount or mount_of(nearest) == mount)
    return Presence.GONE if mounted else Presence.UNREACHABLE


def _identity(folder: Path) -> FolderIdentity:
    st = folder.stat()
    return FolderIdentity(st.st_dev, st.st_ino, os.statvfs(folder).f_fsid, birth_time(folder))


def _unescaped(field: str) -> str:
    return re.sub(_ESCAPED, lambda octal: chr(int(octal[1], 8)), field)
