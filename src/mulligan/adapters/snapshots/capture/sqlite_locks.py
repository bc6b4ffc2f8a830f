"""The lock that readers of a SQLite database take: while it is held, no program changes the database's file.

It is asked for only where a database never held still, or was in the middle of a transaction whenever it was read; for
the time of one read, as any query does. In WAL mode writers need no such lock, and changes go into another file.
"""

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Generator

_MAGIC = b"SQLite format 3\0"
_SMALLEST_PAGE = 512  # bytes
# Zeros where the transaction has ended and the journal stays.
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_STAMPS = 5  # CLOCK_REALTIME_COARSE, by which the kernel stamps files
_LARGEST = 256 * 1024 * 1024  # bytes: reading more would keep writers waiting for too long
_PENDING, _SHARED, _SHARED_BYTES = 0x40000000, 0x40000002, 510  # where SQLite locks its files
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
# Seconds before each try. A writer without pauses leaves only instants between two transactions, so many short waits
# find one sooner than a few long ones.
_PAUSES = (0.0, 0.001, 0.002, 0.005, *(0.01,) * 10, *(0.02,) * 10, 0.05, 0.1)


def time_of_stamps() -> int:
    """Return the time in nanoseconds with which the kernel would stamp a file that changes now."""
    return time.clock_gettime_ns(_STAMPS)


def in_a_transaction(name: str, folder_fd: int, fd: int, st: os.stat_result, opened_ns: int) -> bool:
    """Return whether an open file may be a database that a transaction has changed in part.

    It is asked after the file was read and before its stat is compared. A writer that waits for its processor changes
    nothing meanwhile; one that is quick changes the file twice with the same time.
    """
    if not st.st_size or st.st_size % _SMALLEST_PAGE or os.pread(fd, len(_MAGIC), 0) != _MAGIC:
        return False
    return st.st_ctime_ns >= opened_ns or _has_journal(name, folder_fd)


def _has_journal(name: str, folder_fd: int) -> bool:
    try:
        journal = os.open(f"{name}-journal", _READ, dir_fd=folder_fd)
    except OSError:
        return False
    try:
        return os.pread(journal, len(_JOURNAL_MAGIC), 0) == _JOURNAL_MAGIC
    except OSError:  # a folder
        return False
    finally:
        os.close(journal)


@contextlib.contextmanager
def not_written_by_sqlite(fd: int) -> Generator[bool]:
    """Keep SQLite from writing to an open file meanwhile, if it is a database; yield whether that could be had."""
    is_database = os.fstat(fd).st_size <= _LARGEST and os.pread(fd, len(_MAGIC), 0) == _MAGIC
    locked = is_database and any(_lock_after(fd, pause) for pause in _PAUSES)
    try:
        yield locked
    finally:
        if locked:
            _set(fd, fcntl.F_UNLCK, _SHARED, _SHARED_BYTES)


def _lock_after(fd: int, pause: float) -> bool:
    """Lock as SQLite's readers do; False where a writer is at work, or waits for its turn."""
    if pause:
        time.sleep(pause)
    if not _set(fd, fcntl.F_RDLCK, _PENDING, 1):
        return False
    try:
        return _set(fd, fcntl.F_RDLCK, _SHARED, _SHARED_BYTES)
    finally:
        _set(fd, fcntl.F_UNLCK, _PENDING, 1)


def _set(fd: int, kind: int, start: int, length: int) -> bool:
    """Set a lock of the open file, not of the process: closing it drops no lock that SQLite holds here."""
    lock = struct.pack("hhqqixxxx", kind, os.SEEK_SET, start, length, 0)
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, lock)
    except OSError:  # it is taken, or the filesystem has no such locks
        return False
    return True
