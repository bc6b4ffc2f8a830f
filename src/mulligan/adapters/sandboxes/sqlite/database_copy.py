"""Copying a database through SQLite itself, while others read and write it, and without writing to it.

A database that others have open is read through a connection of our own, with their locks. Two states cannot
be read that way without leaving files beside it: one in WAL mode that nobody has open (SQLite would make a
-wal and a -shm, and leave them there), and one whose last writer died (the recovery writes). Those are read
as they lie, the second from a private copy on which SQLite recovers it, and the read counts only if no stamp
of the files changed meanwhile.
"""

import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.sqlite.database_files import DatabaseFiles, is_settled, opened, sidecars
from mulligan.adapters.sandboxes.sqlite.lock_holders import holders_of, is_reserved
from mulligan.errors import DatabaseBusy, SystemFailed
from mulligan.ports import Observer

BUSY_LIMIT = 10.0  # seconds to wait for other programs to let go of a database
MAGIC = b"SQLite format 3\0"
_PATIENCE_AT_WORK = 1.0  # seconds, for a moment at which a program that writes all the time does not
_PAGES_AT_ONCE = 4096  # between two signs of progress
_NAP = 0.005
_WAL = 2  # in the header, where a database says how it is written
HEADER = 100  # bytes at the beginning of a database
PAGE_SIZE, JOURNAL_MODE = slice(16, 18), slice(18, 20)  # in it
_KNOWS_ITS_SIZE = 3_007_000  # the first SQLite that kept its version number in the header

# SQLite says one of these when a reader would have to recover what a dead writer left.
_NEEDS_RECOVERY = {
    sqlite3.SQLITE_READONLY_ROLLBACK,
    sqlite3.SQLITE_READONLY_RECOVERY,
    sqlite3.SQLITE_READONLY_CANTINIT,
    sqlite3.SQLITE_READONLY_CANTLOCK,
    sqlite3.SQLITE_CANTOPEN,
}
BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_SYSTEM = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM}  # not the file's fault
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BROKEN_RULE = re.compile(r"CHECK constraint failed in |\w+ value in |non-\w+ value in ")


class NoDatabase(Exception):
    """SQLite cannot read the file as a database, for this reason."""


class _NotNow(Exception):
    """Someone else has it locked, or the files changed while they were read as they lie."""


class DatabaseCopies(Struct, frozen=True, eq=False):
    """Copies databases: equal contents give equal bytes."""

    # `now_ns` is the clock that stamps files; others may keep a database locked for `busy_limit` seconds.
    now_ns: Callable[[], int]
    busy_limit: float

    def copy(
        self, files: DatabaseFiles, target: Path, room: Path, observer: Observer, *, at_work: bool = False
    ) -> None:
        """Copy a database that is there to `target`, which must not be.

        `room` is an empty folder for work in progress. NoDatabase where SQLite cannot read it, DatabaseBusy
        where others do not let go of it. With `at_work` no lock is taken for which a writer would have to wait.
        """
        deadline = time.monotonic() + min(self.busy_limit, _PATIENCE_AT_WORK if at_work else self.busy_limit)
        copying = _Copying(files, target, room, observer, self.now_ns, deadline, at_work)
        while True:
            try:
                copying.attempt()
                return
            except _NotNow as exc:
                if time.monotonic() > deadline:
                    raise self.busy(files) from exc
                time.sleep(_NAP)

    def busy(self, files: DatabaseFiles) -> DatabaseBusy:
        """Return the error for a database that others have kept locked for too long."""
        found = files.stat(files.name)
        holders = ", ".join(holders_of(found) if found else ()) or "another program"
        return DatabaseBusy(database=str(files.path), seconds=self.busy_limit, holders=holders)


class _Copying(Struct, frozen=True):
    """One copy of one database."""

    files: DatabaseFiles
    target: Path
    room: Path
    observer: Observer
    now_ns: Callable[[], int]
    deadline: float
    at_work: bool

    def attempt(self) -> None:
        """Copy it in the way that its present state allows; again, where that changed on the way."""
        before = self._stat()
        self._content()
        after = self._stat()
        if (after.st_dev, after.st_ino) != (before.st_dev, before.st_ino):
            raise _NotNow  # another file was put in its place
        os.chmod(self.target, stat.S_IMODE(before.st_mode))
        os.utime(self.target, ns=(before.st_atime_ns, before.st_mtime_ns))

    def _stat(self) -> os.stat_result:
        found = self.files.stat(self.files.name)
        if found is None:
            raise _NotNow
        return found

    def _content(self) -> None:
        wal, shm, journal = names = sidecars(self.files.name)
        if odd := [name for name in names if not self.files.is_plain(name)]:
            # SQLite would follow a symlink there, and write to what it leads to.
            raise NoDatabase(
                f"{odd[0]} is not a file, and SQLite keeps what is not written yet in one of that name"
            )
        head, wal_found = self.files.head(HEADER), self.files.stat(wal)
        in_wal_mode = head[JOURNAL_MODE] == bytes((_WAL, _WAL))
        has_wal = wal_found is not None and wal_found.st_size > 0
        if not head and not has_wal and self.files.stat(journal) is None:
            self.target.touch()  # nothing was ever written to it; a copy by SQLite would have a page
        elif in_wal_mode and not has_wal:
            self._as_it_lies(lambda: self._backup(self.files.path, "?mode=ro&immutable=1"))
        elif in_wal_mode and self.files.stat(shm) is None:
            self._as_it_lies(self._recover)
        elif self.at_work and not in_wal_mode:  # a reader's lock would keep writers waiting
            self._beside_a_writer(journal)
        else:
            self._with_locks()

    def _with_locks(self) -> None:
        try:
            self._backup(self.files.path, "?mode=ro")
        except sqlite3.DatabaseError as exc:
            if exc.sqlite_errorcode & 0xFF in BUSY:
                raise _NotNow from exc
            if exc.sqlite_errorcode not in _NEEDS_RECOVERY:
                raise self._unreadable(exc) from exc
            self._as_it_lies(self._recover)

    def _beside_a_writer(self, journal: str) -> None:
        """Copy what a rollback journal leads back from; _NotNow where a writer keeps none on the disk."""
        found = self.files.stat(journal)
        with self.files.folder() as folder:
            writing = folder is not None and is_reserved(self.files.name, folder)
        if writing and (found is None or not found.st_size):
            raise _NotNow
        self._as_it_lies(self._recover)

    def _as_it_lies(self, read: Callable[[], None]) -> None:
        """Read files that nobody is expected to change; _NotNow when someone did."""
        while not is_settled(before := self.files.look(), self.now_ns()):
            if time.monotonic() > self.deadline:
                raise _NotNow
            time.sleep(_NAP)
        failure: sqlite3.Error | None = None
        try:
            read()
        except sqlite3.DatabaseError as exc:
            failure = exc
        if self.files.look() != before:
            raise _NotNow
        if failure is not None:
            raise self._unreadable(failure) from failure

    def _unreadable(self, exc: sqlite3.Error) -> NoDatabase | SystemFailed:
        if exc.sqlite_errorcode & 0xFF in _SYSTEM:
            return SystemFailed(path=str(self.files.path), reason=str(exc))
        return NoDatabase(str(exc))

    def _recover(self) -> None:
        """Copy the files, and have SQLite recover the copy as it would the database when it is opened next."""
        for old in self.room.iterdir():
            old.unlink()
        wal, _shm, journal = sidecars(self.files.name)
        self.files.copy_to(self.room, (self.files.name, wal, journal))
        copy = self.room / self.files.name
        copy.chmod(0o600)
        self._backup(copy, "")

    def _backup(self, source: Path, how: str) -> None:
        self.target.unlink(missing_ok=True)
        left = max(self.deadline - time.monotonic(), 0.0)
        with closing(opened(source, how, timeout=left)) as reader:
            # Within one transaction, or the copy would start again with every write of others. And it is this
            # statement that waits for a lock: the copy itself would wait for ever.
            reader.execute("BEGIN")
            reader.execute("PRAGMA schema_version").fetchone()
            with closing(sqlite3.connect(self.target, isolation_level=None)) as writer:
                writer.execute("PRAGMA journal_mode = OFF")
                writer.execute("PRAGMA synchronous = OFF")  # the caller makes it durable if needed
                reader.backup(writer, pages=_PAGES_AT_ONCE, progress=self._progress)
        _make_equal(self.target)

    def _progress(self, _status: int, left: int, total: int) -> None:
        self.observer.progress("database pages copied", total - left, total)


def _make_equal(copy: Path) -> None:
    """Set what counts writes and not what was written, so that equal contents have equal bytes on any machine.

    Counters of changes and of changes of the schema, and the version of the SQLite that wrote last.
    """
    with copy.open("r+b") as file:
        for offset, value in ((24, 1), (40, 1), (92, 1), (96, _KNOWS_ITS_SIZE)):
            file.seek(offset)
            file.write(value.to_bytes(4, "big"))


def problem_in(database: Path) -> str | None:
    """Return the damage of a database that nobody else has open; None if SQLite finds none.

    Rows that break a constraint are not damage: fixing them may be what the plan is for. Nor is a collation or
    function that this SQLite lacks and the program that owns the database has.
    """
    try:
        with closing(opened(database, "?mode=ro&immutable=1")) as reader:
            found = [str(text) for (text,) in reader.execute("PRAGMA quick_check")]
    except sqlite3.DatabaseError as exc:
        return str(exc) if exc.sqlite_errorcode & 0xFF in _DAMAGE else None
    return next((text for text in found if text != "ok" and not _BROKEN_RULE.match(text)), None)
