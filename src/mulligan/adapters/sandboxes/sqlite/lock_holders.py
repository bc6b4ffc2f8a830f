"""Processes that hold a lock on a file, as far as the system shows."""

import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path

_LOCKS = Path("/proc/locks")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FIRST, _BYTES = 0x40000000, 512  # where SQLite locks its files


def holders_of(file: os.stat_result) -> tuple[str, ...]:
    """Describe the processes that hold a lock on this file; empty where that is unknown."""
    device, number = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}", str(file.st_ino)
    try:
        lines = _LOCKS.read_text("ascii", "replace").splitlines()
    except OSError:  # pragma: no cover - not on Linux
        return ()
    words = [line.split() for line in lines]
    pids = {
        fields[-4]
        for fields in words
        # On btrfs and overlayfs the device there is another than that of stat.
        if len(fields) >= 8
        and fields[-3].rpartition(":")[2] == number
        and (fields[-3].startswith(f"{device}:") or _has_open(fields[-4], file))
    }
    return tuple(f"process {pid} ({_name(pid)})" for pid in sorted(pids, key=int) if int(pid) > 0)


def is_reserved(name: str, folder: int) -> bool:
    """Return whether a writer has a SQLite database locked, without a lock of our own."""
    fd = os.open(name, _READ, dir_fd=folder)
    try:
        asked = struct.pack("hhqqixxxx", fcntl.F_RDLCK, os.SEEK_SET, _FIRST, _BYTES, 0)
        answer = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, asked)
        return struct.unpack_from("h", answer)[0] != fcntl.F_UNLCK
    except OSError:  # the filesystem has no such locks
        return True
    finally:
        os.close(fd)


def _has_open(pid: str, file: os.stat_result) -> bool:
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:  # it ended, or is not ours
        return False
    for each in descriptors:
        with suppress(OSError):  # it was closed in this moment
            if os.path.samestat(os.stat(f"/proc/{pid}/fd/{each}"), file):
                return True
    return False


def _name(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return "gone meanwhile"
