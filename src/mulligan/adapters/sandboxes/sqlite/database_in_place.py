"""Databases in place, inside a folder in place: the sandbox is the real database itself.

Others may have it open, so it is never replaced as a file: a restore writes into it through SQLite, in one
transaction with SQLite's own locks. Only a file that is not, or is no longer, a database is replaced.
"""

import os
import sqlite3
import stat
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.folder.folder_copy import real_tree
from mulligan.adapters.sandboxes.private_sandbox import Workplace, work_folder
from mulligan.adapters.sandboxes.sqlite.database_copy import (
    BUSY,
    JOURNAL_MODE,
    MAGIC,
    PAGE_SIZE,
    DatabaseCopies,
    NoDatabase,
)
from mulligan.adapters.sandboxes.sqlite.database_files import DatabaseFiles, Version, opened, sidecars
from mulligan.adapters.sandboxes.sqlite.database_sandbox import SqliteSandboxes
from mulligan.boundaries import act
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Capture, PathChange
from mulligan.domain.resources.resource import Resource, Sandbox, Strategy
from mulligan.domain.trees.tree_difference import changed_by_others
from mulligan.errors import ChangedMeanwhile, ResourceUnsuitable, RestoreFailed, TreeChanged
from mulligan.ports import Observer, Replacement, SandboxOrder, Unobserved

_NAP = 0.01
_ROLLBACK, _WAL = b"\1\1", b"\2\2"


class _Written(Exception):
    """Someone wrote to the database since it was looked at."""


class InPlaceDatabases(SqliteSandboxes):
    """Keeps and restores real databases: nothing is copied or removed. A fork of one is a copy like any other."""

    strategy = Strategy.IN_PLACE
    _others_at_work = True  # the sidecars are theirs, and they may write at once

    def __init__(self, place: Workplace, copies: DatabaseCopies, boot_id: str) -> None:
        super().__init__(place, copies, boot_id)
        self._seen: dict[Path, Version] = {}  # what databases were when they were captured last
        self._kept: dict[Path, Snapshot] = {}  # what may be replaced, while a restore goes on

    def check(self, resource: Resource, location: Path) -> None:
        """Refuse what cannot be copied either, and what only a symlink leads to: it could lead elsewhere later."""
        super().check(resource, location)
        project = self._place.project
        if location.resolve() != project.resolve() / os.path.relpath(location, project):
            raise ResourceUnsuitable(
                resource=resource.name,
                path=str(location),
                reason="a symlink leads to it, and a database that is worked on in place must lie there itself",
            )

    def fork(self, order: SandboxOrder, parent: Sandbox, snapshot: Snapshot, observer: Observer) -> Sandbox:
        copies = SqliteSandboxes(self._place, self._copies, self._boot_id)
        return copies.fork(order, parent, snapshot, observer)

    def exists(self, sandbox: Sandbox) -> bool:
        """The database itself may be missing; whether the folder around it is there is that resource's matter."""
        return True

    def changed_where(
        self, real: Sandbox, before: Snapshot, written: Snapshot, observer: Observer
    ) -> tuple[str, ...]:
        (present,) = self.capture(real, observer).snapshot.roots
        folder = Path(real.path).parent
        return tuple(str(folder / each.path) for each in self._store.difference(before.roots[0], present))

    def changed_by_others(
        self, sandbox: Sandbox, target: Snapshot, before: Snapshot, observer: Observer
    ) -> tuple[str, ...]:
        """The database, if it is neither of the two, nor on the way from one to the other."""
        present = self.capture(sandbox, observer).snapshot
        known = (target, before)
        found = changed_by_others(*(self._store.difference(present.roots[0], s.roots[0]) for s in known))
        if not found or any(self._is_on_the_way_to(sandbox, state, observer) for state in known):
            return ()
        return (sandbox.path,)

    def _is_on_the_way_to(self, sandbox: Sandbox, state: Snapshot, observer: Observer) -> bool:
        """Return whether it has the content already, and differs only in journal mode or file mode."""
        with self._staged(sandbox, observer) as (tree, unheld):
            copy = tree.path / Path(sandbox.path).name
            present = self._store.capture(tree, observer).snapshot
            differences = self._store.difference(present.roots[0], state.roots[0])
            wanted = [d.new for d in differences if d.path == copy.name]
            if unheld or not wanted or wanted[0] is None or not _head(copy).startswith(MAGIC):
                return False
            copy.chmod(wanted[0].mode)
            for mode in (_ROLLBACK, _WAL):
                with copy.open("r+b") as file:
                    file.seek(JOURNAL_MODE.start)
                    file.write(mode)
                if self._store.capture(tree, observer).snapshot.same_as(state):
                    return True
        return False

    def capture(self, sandbox: Sandbox, observer: Observer, *, at_work: bool = False) -> Capture:
        """Store the database durably, and note as of when: what others commit from then on is not overwritten."""
        files = self._files(sandbox)
        seen = files.version()
        capture = super().capture(sandbox, observer, at_work=at_work)
        self._seen[files.path] = seen
        return capture

    def restore(
        self,
        sandbox: Sandbox,
        snapshot: Snapshot,
        observer: Observer,
        known: Snapshot | None = None,
        *,
        spare: bool = False,
    ) -> tuple[PathChange, ...]:
        path = self._files(sandbox).path
        if known is not None:
            self._kept[path] = known
        try:
            return super().restore(sandbox, snapshot, observer, known, spare=spare)
        finally:
            self._kept.pop(path, None)

    def recover(self, sandbox: Sandbox) -> tuple[str, ...]:
        files = self._files(sandbox)
        with files.folder() as fd:
            if fd is None:
                return ()
        return self._store.recover(real_tree(files.path.parent, frozenset(), ()))

    def remove(self, sandbox: Sandbox) -> None:
        """Leave the database alone: it is the user's."""
        self._memory(sandbox).forget()

    def _make(self, order: SandboxOrder, base: Snapshot, observer: Observer) -> Sandbox:
        return self._sandbox(order, base)

    def _files(self, sandbox: Sandbox) -> DatabaseFiles:
        project = self._place.project.resolve()
        return DatabaseFiles(project, Path(sandbox.path).relative_to(project).parts)

    def _put(self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer) -> None:
        """Replace the database that was looked at by the snapshot; refuse if it has changed since."""
        try:
            super()._put(sandbox, snapshot, observer)
        except _Written as exc:
            raise ChangedMeanwhile(plan_id=sandbox.plan_id, paths=sandbox.path) from exc

    def _replace(self, files: DatabaseFiles, new: Path, shop: Path) -> None:
        """Write the new state into the database that is there, or put it where there is none."""
        wanted = new / files.name
        # Before the version: what is committed in between shows there.
        found = {name: files.stat(name) for name in (files.name, *sidecars(files.name))}
        now = files.version()
        if self._seen.pop(files.path, now) != now:
            raise _Written
        if odd := [name for name in sidecars(files.name) if not files.is_plain(name)]:
            self._put_files(files, [Replacement(name=name, new=None, found=found[name]) for name in odd])
            found |= dict.fromkeys(odd)
        readable = _head(wanted).startswith(MAGIC) and len(os.listdir(new)) == 1
        if _is_database(files) and readable and not _has_other_names(files):
            self._write_into(files, wanted, self._made_ready(files, wanted, shop, now))
            return
        if _is_database(files):
            self._alone(files)
        comes = {path.name: path for path in new.iterdir()}
        # The database last: cut off at any instant, no file lies beside another's -wal or -journal.
        names = (*sidecars(files.name), files.name)
        self._put_files(files, [Replacement(name=n, new=comes.get(n), found=found[n]) for n in names])

    def _put_files(self, files: DatabaseFiles, replacements: list[Replacement]) -> None:
        with files.folder(make=True) as fd:
            assert fd is not None, "it was made"
            replacements = [_without_folder(fd, files, each) for each in replacements]
        try:
            self._store.replace_files(files.path.parent, replacements)
        except TreeChanged as exc:
            raise _Written from exc

    def _made_ready(self, files: DatabaseFiles, wanted: Path, shop: Path, looked_at: Version) -> Version:
        """Do what has to be written before the content can be; return the version after that.

        A journal may be that of a dead writer, or of one that is about to commit: so the content is compared again.
        """
        other_size = files.head(PAGE_SIZE.stop)[PAGE_SIZE] != _head(wanted)[PAGE_SIZE]
        recovers = files.stat(sidecars(files.name)[2]) is not None
        if not other_size and not recovers:
            return looked_at
        with self._open(files) as real:
            if other_size:
                real.execute("PRAGMA journal_mode = DELETE")  # in WAL mode no page size can be changed
            if recovers:
                real.execute("PRAGMA schema_version").fetchone()  # of what a dead writer left
        now = files.version()
        known = self._kept.get(files.path)
        if known is not None and not self._still_holds(files, known, shop):
            raise _Written
        return now

    def _still_holds(self, files: DatabaseFiles, known: Snapshot, shop: Path) -> bool:
        """Return whether SQLite reads the known content from the database, in any journal mode."""
        kept, now = work_folder(shop, "kept"), work_folder(shop, "now").path / files.name
        self._store.restore(known, kept, Unobserved())
        self._store.forget_tree(kept)
        try:
            self._copies.copy(files, now, work_folder(shop, "now room").path, Unobserved())
        except NoDatabase:
            return False
        return _without_mode(now) == _without_mode(kept.path / files.name)

    def _write_into(self, files: DatabaseFiles, wanted: Path, looked_at: Version) -> None:
        deadline = time.monotonic() + self._copies.busy_limit
        mode = "wal" if _head(wanted)[JOURNAL_MODE] == _WAL else "delete"
        unwritten = False  # whether it was seen, under the lock, that nobody wrote since

        def progress(status: int, _left: int, _total: int) -> None:
            nonlocal unwritten
            if status in BUSY and time.monotonic() > deadline:
                raise self._copies.busy(files)
            if status == sqlite3.SQLITE_OK and not unwritten:
                if files.version() != looked_at:
                    raise _Written
                unwritten = True

        with self._open(files) as real:
            real.execute("PRAGMA synchronous = FULL")  # whatever this SQLite was built with
            with closing(sqlite3.connect(wanted, isolation_level=None)) as source:
                source.execute("PRAGMA journal_mode = DELETE")  # or its own -wal would have to be written
                source.execute("BEGIN")  # otherwise each page would take its locks again
                source.execute("PRAGMA schema_version").fetchone()
                with act("database.write"):
                    # The lock is taken with the first page, and nothing is committed before the last.
                    source.backup(real, pages=1, sleep=_NAP, progress=progress)
            (now,) = real.execute(f"PRAGMA journal_mode = {mode}").fetchone()
        if now != mode:
            raise RestoreFailed(
                path=str(files.path), reason=f"others have it open, so its journal mode stays {now}"
            )
        with files.folder() as fd:
            assert fd is not None, "it was written"
            os.chmod(files.name, stat.S_IMODE(wanted.stat().st_mode), dir_fd=fd)
            with act("database.sync"):
                os.fsync(fd)  # SQLite does not wait for the deletion of its journal, which would undo it all

    def _alone(self, files: DatabaseFiles) -> None:
        """See to it that nobody is in the middle of something before the database goes."""
        with self._open(files) as real:
            real.execute("BEGIN EXCLUSIVE")

    @contextmanager
    def _open(self, files: DatabaseFiles) -> Generator[sqlite3.Connection]:
        try:
            with closing(opened(files.path, "?mode=rw", timeout=self._copies.busy_limit)) as real:
                yield real
        except sqlite3.Error as exc:
            if exc.sqlite_errorcode & 0xFF in BUSY:
                raise self._copies.busy(files) from exc
            raise RestoreFailed(path=str(files.path), reason=str(exc)) from exc


def _is_database(files: DatabaseFiles) -> bool:
    found = files.stat(files.name)
    return found is not None and stat.S_ISREG(found.st_mode) and files.head(len(MAGIC)) == MAGIC


def _has_other_names(files: DatabaseFiles) -> bool:
    """Return whether it is a hard link: a write would change another name's file too."""
    found = files.stat(files.name)
    return found is not None and found.st_nlink > 1


def _head(file: Path) -> bytes:
    """The beginning of a file; nothing of what is none."""
    if file.is_symlink() or not file.is_file():
        return b""
    with file.open("rb") as opened:
        return opened.read(JOURNAL_MODE.stop)


def _without_mode(database: Path) -> bytes | None:
    """The bytes of a copy without those that name its journal mode; None where there is none."""
    if not database.is_file():
        return None
    data = bytearray(database.read_bytes())
    data[JOURNAL_MODE] = b"\0\0"
    return bytes(data)


def _without_folder(fd: int, files: DatabaseFiles, each: Replacement) -> Replacement:
    """Remove an empty folder that is in the place of a file; refuse one that holds something."""
    if each.found is None or not stat.S_ISDIR(each.found.st_mode):
        return each
    try:
        with act("database.remove"):
            os.rmdir(each.name, dir_fd=fd)
    except OSError as exc:
        raise RestoreFailed(
            path=str(files.path.with_name(each.name)),
            reason="a folder is in its place, and what is in that is in no checkpoint",
            hint="move that folder away, then try again",
        ) from exc
    return replace(each, found=None)
