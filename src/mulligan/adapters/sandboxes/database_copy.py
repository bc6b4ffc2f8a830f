"""Copying a database through SQLite itself, while others read and write it, and without writing to it.

A database that others have open is read through a connection of our own, with their locks. Two states cannot
be read that way without leaving files beside it: one in WAL mode that nobody has open (SQLite would make a
-wal and a -shm, and leave them there), and one whose last writer died (the recovery writes). Those are read
as they lie, the second from a private copy on which SQLite recovers it, and the read counts only if no stamp
of the files changed meanwhile.
"""

import os
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote_from_bytes

from mulligan.adapters.sandboxes.database_files import DatabaseFiles, Stamps, is_settled
from mulligan.adapters.sandboxes.lock_holders import holders_of
from mulligan.domain.placement import sidecars
from mulligan.errors import DatabaseBusy
from mulligan.ports import Observer

BUSY_LIMIT = 10.0  # seconds to wait for other programs to let go of a database
MAGIC = b"SQLite format 3\0"
_PAGES_AT_ONCE = 4096  # between two signs of progress
_NAP = 0.005
_WAL = 2  # in the header, where a database says how it is written
_HEADER = 100
_KNOWS_ITS_SIZE = 3_007_000  # the first SQLite that kept its version number in the header

# SQLite says one of these when a reader would have to recover what a dead writer left.
_NEEDS_RECOVERY = {
    sqlite3.SQLITE_READONLY_ROLLBACK,
    sqlite3.SQLITE_READONLY_RECOVERY,
    sqlite3.SQLITE_READONLY_CANTINIT,
    sqlite3.SQLITE_READONLY_CANTLOCK,
    sqlite3.SQLITE_CANTOPEN,
}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class NoDatabase(Exception):
    """SQLite cannot read the file as a database, for this reason."""


class _Unsteady(Exception):
    """The files changed while they were read as they lie."""


class DatabaseCopies:
    """Copies databases: equal contents give equal bytes."""

    def __init__(self, now_ns: Callable[[], int], busy_limit: float) -> None:
        """`now_ns` is the clock that stamps files; others may keep a database locked for `busy_limit` seconds."""
        self._now_ns = now_ns
        self._busy_limit = busy_limit

    def copy(self, files: DatabaseFiles, target: Path, room: Path, observer: Observer) -> None:
        """Copy a database that is there to `target`, which must not be.

        `room` is an empty folder for work in progress. NoDatabase where SQLite cannot read it, DatabaseBusy
        where others do not let go of it.
        """
        deadline = time.monotonic() + self._busy_limit
        found = files.stat(files.name)
        while True:
            try:
                self._copy_once(files, target, room, deadline, observer)
                break
            except _Unsteady as exc:
                if time.monotonic() > deadline:
                    raise self._busy(files) from exc
                time.sleep(_NAP)
        assert found is not None
        os.chmod(target, stat.S_IMODE(found.st_mode))
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))

    def _copy_once(
        self, files: DatabaseFiles, target: Path, room: Path, deadline: float, observer: Observer
    ) -> None:
        wal, shm, journal = sidecars(files.name)
        head, wal_found = files.head(_HEADER), files.stat(wal)
        in_wal_mode = head[18:20] == bytes((_WAL, _WAL))
        has_wal = wal_found is not None and wal_found.st_size > 0
        if not head and not has_wal and files.stat(journal) is None:
            target.touch()  # a database that nothing was ever written to; a copy by SQLite would have a page
        elif in_wal_mode and not has_wal:
            self._as_it_lies(
                files, lambda: _backup(files.path, "?mode=ro&immutable=1", target, 0.0, observer)
            )
        elif in_wal_mode and files.stat(shm) is None:
            self._as_it_lies(files, lambda: _recover(files, target, room, observer))
        else:
            self._with_locks(files, target, room, deadline, observer)

    def _with_locks(
        self, files: DatabaseFiles, target: Path, room: Path, deadline: float, observer: Observer
    ) -> None:
        try:
            _backup(files.path, "?mode=ro", target, max(deadline - time.monotonic(), 0.0), observer)
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF in _BUSY:
                raise self._busy(files) from exc
            if exc.sqlite_errorcode not in _NEEDS_RECOVERY:
                raise NoDatabase(str(exc)) from exc
            self._as_it_lies(files, lambda: _recover(files, target, room, observer))
        except sqlite3.DatabaseError as exc:
            raise NoDatabase(str(exc)) from exc

    def _as_it_lies(self, files: DatabaseFiles, read: Callable[[], None]) -> None:
        """Read files that nobody is expected to change; _Unsteady when someone did."""
        before = self._settled(files)
        failure: sqlite3.Error | None = None
        try:
            read()
        except sqlite3.DatabaseError as exc:
            failure = exc
        if files.look() != before:
            raise _Unsteady
        if failure is not None:
            raise NoDatabase(str(failure)) from failure

    def _settled(self, files: DatabaseFiles) -> Stamps:
        while not is_settled(stamps := files.look(), self._now_ns()):
            time.sleep(_NAP)
        return stamps

    def _busy(self, files: DatabaseFiles) -> DatabaseBusy:
        found = files.stat(files.name)
        holders = holders_of(found) if found else ()
        return DatabaseBusy(
            database=str(files.path),
            seconds=self._busy_limit,
            holders=", ".join(holders) or "another program",
        )


def _recover(files: DatabaseFiles, target: Path, room: Path, observer: Observer) -> None:
    """Copy the files, and have SQLite recover the copy as it would the database when it is opened next."""
    for old in room.iterdir():
        old.unlink()
    wal, _shm, journal = sidecars(files.name)
    files.copy_to(room, (files.name, wal, journal))
    os.chmod(room / files.name, 0o600)
    _backup(room / files.name, "", target, 0.0, observer)


def _backup(source: Path, how: str, target: Path, timeout: float, observer: Observer) -> None:
    target.unlink(missing_ok=True)
    address = f"file:{quote_from_bytes(os.fsencode(source))}{how}"
    with closing(sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None)) as reader:
        # Within one transaction, or the copy would begin anew with every write of others. And it is this
        # statement that waits for a lock: the copy itself would wait for ever.
        reader.execute("BEGIN")
        (cookie,) = reader.execute("PRAGMA schema_version").fetchone()
        with closing(sqlite3.connect(target, isolation_level=None)) as writer:
            writer.execute("PRAGMA journal_mode = OFF")
            writer.execute("PRAGMA synchronous = OFF")  # it is made durable by whoever needs it
            reader.backup(
                writer,
                pages=_PAGES_AT_ONCE,
                progress=lambda _status, left, total: observer.progress(
                    "database pages copied", total - left, total
                ),
            )
    _make_equal(target, cookie)


def _make_equal(copy: Path, cookie: int) -> None:
    """Set what SQLite counts for every copy anew, so that equal contents have equal bytes on any machine."""
    with copy.open("r+b") as file:
        for offset, value in ((24, 1), (40, cookie), (92, 1), (96, _KNOWS_ITS_SIZE)):
            file.seek(offset)
            file.write((value & 0xFFFFFFFF).to_bytes(4, "big"))


def problem_in(database: Path) -> str | None:
    """What is wrong inside a database that nobody else has open; None: nothing."""
    address = f"file:{quote_from_bytes(os.fsencode(database))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as reader:
            (verdict,) = reader.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as exc:
        return str(exc)
    return None if verdict == "ok" else str(verdict)
