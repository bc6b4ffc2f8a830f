"""Copies what patterns leave out of snapshots: it exists in a sandbox, and belongs to no checkpoint.

Nothing else knows these files, so that a copy need not be exact at an instant: a file that goes while it is copied is
left out, and one that is written meanwhile is copied as it is read. What lies in a folder that the working copy does
not have is left out too. Folders are reached one name at a time on both sides, so that no symlink leads elsewhere.
"""

import errno
import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.removal import clear_trash, move_away
from mulligan.boundaries import act
from mulligan.domain.checkpoints.store_report import Unheld
from mulligan.domain.paths.path_patterns import lines_of
from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.errors import SystemFailed
from mulligan.osfiles.directory_handles import Folders, path_of
from mulligan.osfiles.file_clones import copy_contents
from mulligan.osfiles.folders import sync_filesystem
from mulligan.ports import SnapshotStore, WorkingTree

IGNORE_FILE = ".mulliganignore"
_LARGEST_FILE = 1024 * 1024  # bytes of patterns
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# It is not there, or is another kind of thing.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP})
_DENIED = frozenset({errno.EACCES, errno.EPERM})


def patterns_in(folder: Path) -> tuple[str, ...]:
    """Return the patterns in a folder's own file of patterns; none if it has no such file."""
    path = folder / IGNORE_FILE
    try:
        if not path.is_file():
            return ()
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError as exc:
        raise SystemFailed(path=str(path), reason=exc.strerror or str(exc)) from exc
    if len(data) > _LARGEST_FILE:
        raise SystemFailed(path=str(path), reason="it is larger than 1 MiB, too large for a file of patterns")
    if b"\0" in data:
        raise SystemFailed(path=str(path), reason="it is not a text file, so it cannot hold patterns")
    return lines_of(data)


def copy_excluded(store: SnapshotStore, source: WorkingTree, target: Path, home: Path) -> tuple[Unheld, ...]:
    """Copy what the patterns of a tree match into a working copy below `home`; return what could not be read.

    Repeatable: what an interrupted copy left is removed first.
    """
    paths = store.matched(source)
    if not paths:
        return ()
    try:
        with Folders(source.path) as old, Folders(target) as new:
            copying = _Copying(old, new, home, source.excluded)
            top = _Folder(".", _Folder("", None))
            for folder, names in _by_folder(paths).items():
                copying.copy_into(top.below(folder), names)
            with act("restore.sync"):
                sync_filesystem(new.fd(top))
    except OSError as exc:
        raise SystemFailed(path=str(exc.filename or target), reason=exc.strerror or str(exc)) from exc
    if copying.has_trash:
        clear_trash(home)
    return tuple(copying.unread)


def _by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        found.setdefault(folder, []).append(name)
    return found


class _Folder(Struct, eq=False):
    """A folder of both trees."""

    name: str
    parent: "_Folder | None"
    children: "dict[str, _Folder]" = {}

    def below(self, path: str) -> "_Folder":
        """Return the folder at a path inside this one; the same each time."""
        here = self
        for name in path.split("/") if path else ():
            here = here.children.setdefault(name, _Folder(name, here))
        return here


class _Copying:
    def __init__(self, old: Folders, new: Folders, home: Path, left_out: Iterable[str]) -> None:
        self.unread: list[Unheld] = []
        self.has_trash = False
        self._old, self._new, self._home = old, new, home
        self._left_out = frozenset(left_out)  # paths of other resources, which have sandboxes of their own

    def copy_into(self, folder: _Folder, names: list[str]) -> None:
        """Copy names in a folder that both trees have; where one of them has no such folder, copy nothing."""
        with self._passing_over(folder, *names):
            self._old.fd(folder)
            with self._opened_up(folder):
                for name in names:
                    self.has_trash |= move_away(name, self._new.fd(folder), self._home) is not None
                    self._copy(folder, name)

    def _copy(self, folder: _Folder, name: str) -> None:
        """Copy one name with all below it, at any depth."""
        pending = [(folder, name)]
        made: list[tuple[_Folder, os.stat_result]] = []
        while pending:
            folder, name = pending.pop()
            if name == PROJECT_HOME or (self._left_out and path_of(folder, name) in self._left_out):
                continue
            with self._passing_over(folder, name):
                st = os.stat(name, dir_fd=self._old.fd(folder), follow_symlinks=False)
                if stat.S_ISDIR(st.st_mode):
                    inner = _Folder(name, folder)
                    names = sorted(os.listdir(self._old.fd(inner)), reverse=True)
                    os.mkdir(name, 0o700, dir_fd=self._new.fd(folder))
                    made.append((inner, st))
                    pending += [(inner, each) for each in names]
                else:
                    _copy_entry(self._old.fd(folder), self._new.fd(folder), name, st)
        for inner, st in reversed(made):
            _take_over(st, self._new.fd(inner))

    @contextmanager
    def _passing_over(self, folder: _Folder, *names: str) -> Generator[None]:
        """Pass over names that are gone; note those that may not be read."""
        try:
            yield
        except OSError as exc:
            if exc.errno in _DENIED:
                reason = "it may not be read, so the sandbox does not have it"
                self.unread += [Unheld(path_of(folder, name), reason) for name in names]
            elif exc.errno not in _GONE:
                raise

    @contextmanager
    def _opened_up(self, folder: _Folder) -> Generator[None]:
        """Let a folder of ours be changed, and give it back its mode and its time."""
        st = os.fstat(self._new.fd(folder))
        self._new.open_up(folder)
        try:
            yield
        finally:
            _take_over(st, self._new.fd(folder))


def _copy_entry(old: int, new: int, name: str, st: os.stat_result) -> None:
    """Copy a file or symlink from an open folder to another; sockets, fifos and devices are left out."""
    if stat.S_ISLNK(st.st_mode):
        os.symlink(os.readlink(name, dir_fd=old), name, dir_fd=new)
        os.utime(name, ns=(st.st_mtime_ns, st.st_mtime_ns), dir_fd=new, follow_symlinks=False)
    elif stat.S_ISREG(st.st_mode):
        source = os.open(name, _OLD, dir_fd=old)
        try:
            if stat.S_ISREG(os.fstat(source).st_mode):  # else another kind of thing has the name now
                _copy_file(source, new, name)
        finally:
            os.close(source)


def _copy_file(source: int, new: int, name: str) -> None:
    target = os.open(name, _NEW, 0o600, dir_fd=new)
    try:
        copy_contents(source, target)
        _take_over(os.fstat(source), target)
    finally:
        os.close(target)


def _take_over(st: os.stat_result, target: int) -> None:
    """Give a copy the mode and the times of what it is a copy of."""
    os.fchmod(target, stat.S_IMODE(st.st_mode))
    os.utime(target, ns=(st.st_mtime_ns, st.st_mtime_ns))
