"""Removal of a sandbox for good, whatever a plan did to it.

A folder is gone as soon as it was moved into the trash. What is small is emptied right away; a process of its own
(remover.py) empties what takes longer, so that no command waits for it. Any number of processes may empty the same.
"""

import errno
import fcntl
import os
import stat
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from mulligan.boundaries import act
from mulligan.errors import Advice, NextStep, SystemFailed
from mulligan.osfiles.moves import exchange as exchange_names

_TRASH = ".removed-"
_AT_WORK = ".remover"  # locked while a process of its own clears the trash
_AT_ONCE = 2000  # files and folders that a command removes itself
_TRIES = 100  # each is lost only to a process that clears trash in the instant between two calls
_HERE = -100  # AT_FDCWD: paths are whole
_PARENT = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FOLDER = _PARENT | os.O_NOFOLLOW


def remove_tree(path: Path, home: Path) -> None:
    """Remove a folder somewhere under `home`; a missing one is fine.

    It is moved away first, so that it is gone at once. Then every folder is moved up before it is emptied: no
    depth, path length or mode of a folder stops the removal, and no symlink is ever followed. Leftovers of a
    killed removal go too. What is large is left to a process of its own; `clear_trash` waits for that.
    """
    own: Path | None = None
    if not is_plainly_in(path, home):
        raise SystemFailed(
            path=str(path),
            reason=f"it is not in {home}, and is not removed",
            hint=Advice("see what is wrong with ", NextStep("doctor")),
        )
    try:
        if path.is_symlink() or path.exists():
            with opened_parent(path) as parent:
                own = move_away(path.name, parent, home)
    except OSError as exc:
        raise SystemFailed(path=str(path), reason=exc.strerror or str(exc)) from exc
    trash = ([own] if own is not None else []) if _remover_at_work(home) else trash_in(home)
    allowance = _Allowance(_AT_ONCE)
    try:
        for each in trash:
            _clear(each, allowance)
    except _UsedUp:
        _start_remover(home)


class _UsedUp(Exception):
    """More is left to remove than a command removes itself."""


class _Allowance(Struct):
    """The number of files and folders that may still be removed; None: all of them."""

    left: int | None

    def take(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise _UsedUp
            self.left -= 1


def _remover_at_work(home: Path) -> bool:
    try:
        fd = os.open(home / _AT_WORK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # locks do not work there
        return False
    finally:
        os.close(fd)
    return False


def _start_remover(home: Path) -> None:
    """Let a process of its own clear the trash, which outlives this one; where none can be started, clear it here."""
    import subprocess  # here: most of what is removed is small

    words = [sys.executable, "-P", "-m", "mulligan.adapters.sandboxes.remover", str(home)]
    try:
        nothing = subprocess.DEVNULL
        started = subprocess.Popen(
            words, stdin=nothing, stdout=nothing, stderr=nothing, cwd="/", start_new_session=True
        )
    except OSError:
        clear_trash(home)
        return
    threading.Thread(target=started.wait, daemon=True).start()  # else it stays a zombie in a long process


def clear_trash_alone(home: Path) -> None:
    """Clear all trash, one process at a time; what cannot be removed stays, for `gc` to report."""
    lock = home / _AT_WORK
    with suppress(OSError):
        if lock.is_symlink():  # not ours, and never followed: with it nothing would be cleared
            lock.unlink()
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with (
        suppress(OSError),
        os.fdopen(os.open(lock, flags, 0o600), "r+b") as file,
    ):  # such as: the home is gone
        with suppress(OSError):  # locks do not work there: several may clear it at once
            fcntl.flock(file, fcntl.LOCK_EX)
        failed = set[Path]()
        while trash := [each for each in trash_in(home) if each not in failed]:
            for each in trash:
                with suppress(SystemFailed):
                    _clear(each, _Allowance(None))
                if each.exists():
                    failed.add(each)
        lock.unlink(missing_ok=True)


def move_away(name: str, folder_fd: int, home: Path) -> Path | None:
    """Remove a file from an open folder, or move a folder into trash of its own; return that, if there is any.

    The move is repeated where another process cleared the trash before anything was in it.
    """
    for attempt in range(_TRIES):
        if not _is_folder(name, folder_fd):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder_fd)
            return None
        trash = home / f"{_TRASH}{new_name()}"
        trash.mkdir(mode=0o700)
        try:
            unlock(name, folder_fd)
            with act("sandbox.remove"):
                os.rename(name, trash / new_name(), src_dir_fd=folder_fd)
            return trash
        except FileNotFoundError:
            if _is_folder(name, folder_fd) and (trash.is_dir() or attempt + 1 == _TRIES):
                raise  # it is there still: else another process moved it away
    return None


def is_plainly_in(path: Path, home: Path) -> bool:
    """Return whether a path leads into a folder without a symlink or `..` on the way; the path itself may be one."""
    if path == home or ".." in path.parts or not path.is_relative_to(home):
        return False
    between = path.relative_to(home).parents
    return not any((home / each).is_symlink() for each in list(between)[:-1])


def trash_in(home: Path) -> list[Path]:
    """Return the folders that were moved away and are not removed yet."""
    return sorted(home.glob(f"{_TRASH}*"))


def clear_trash(home: Path) -> None:
    """Remove all that was moved away, by this process or by one that was killed, also what another is clearing."""
    for _ in range(_TRIES):
        trash = trash_in(home)
        for each in trash:
            _clear(each, _Allowance(None))
        if not trash:
            break
    if not _remover_at_work(home):  # else it removes its lock itself
        with suppress(OSError):
            (home / _AT_WORK).unlink(missing_ok=True)


def _clear(trash: Path, allowance: _Allowance) -> None:
    try:
        # Others may clear it too, or be moving something into it; what is left the next one takes.
        with suppress(FileNotFoundError), act("sandbox.clear"):
            _empty(trash, allowance)
            trash.rmdir()
    except OSError as exc:
        if exc.errno != errno.ENOTEMPTY:
            raise SystemFailed(path=str(trash), reason=exc.strerror or str(exc)) from exc


def remove_new_tree(path: Path) -> None:
    """Remove a folder that this process made in a place of the user's: nothing is made there, not for a moment.

    So it can be done on a disk that is full.
    """
    try:
        if not path.is_dir() or path.is_symlink():
            return
        with opened_parent(path) as parent:
            unlock(path.name, parent)
        _empty(path, _Allowance(None))
        path.rmdir()
    except OSError as exc:
        raise SystemFailed(path=str(path), reason=exc.strerror or str(exc)) from exc


def exchange(one: Path, other: Path) -> None:
    """Let two folders of ours change places in one move; where the filesystem cannot, in three."""
    if exchange_names(_HERE, str(one), _HERE, str(other)):
        return
    between = one.with_name(f"{one.name}-{new_name()}")
    other.rename(between)
    one.rename(other)
    between.rename(one)


def _empty(folder: Path, allowance: _Allowance) -> None:
    with _opened(folder, _FOLDER) as base:
        pending = _unlink_all(base, allowance)
        while pending:
            name = pending.pop()
            with suppress(FileNotFoundError):  # another process was faster
                with _opened(name, _FOLDER, base) as fd:
                    for inner in _unlink_all(fd, allowance):
                        with suppress(FileNotFoundError):
                            above = new_name()
                            os.rename(inner, above, src_dir_fd=fd, dst_dir_fd=base)
                            pending.append(above)
                allowance.take()
                os.rmdir(name, dir_fd=base)


@contextmanager
def opened_parent(path: Path) -> Generator[int]:
    """Open the folder that a path is in."""
    with _opened(path.parent, _PARENT) as folder_fd:
        yield folder_fd


@contextmanager
def _opened(path: Path | str, flags: int, folder_fd: int | None = None) -> Generator[int]:
    fd = os.open(path, flags, dir_fd=folder_fd)
    try:
        yield fd
    finally:
        os.close(fd)


def _unlink_all(folder_fd: int, allowance: _Allowance) -> list[str]:
    """Remove everything but folders; return those, each made accessible to its owner."""
    with os.scandir(folder_fd) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    folders: list[str] = []
    for name, is_folder in found:
        with suppress(FileNotFoundError):  # another process was faster
            if is_folder:
                unlock(name, folder_fd)
                folders.append(name)
            else:
                allowance.take()
                os.unlink(name, dir_fd=folder_fd)
    return folders


def _is_folder(name: str, folder_fd: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def new_name() -> str:
    """Return a name that nothing has."""
    return os.urandom(8).hex()


def unlock(name: str, folder_fd: int) -> None:
    """Let the owner enter and change a folder, without following a symlink put in its place."""
    if os.chmod in os.supports_follow_symlinks:  # pragma: no cover  macOS has this, Linux the way below
        os.chmod(name, 0o700, dir_fd=folder_fd, follow_symlinks=False)
        return
    with _opened(name, _FOLDER | os.O_PATH, folder_fd) as fd:
        os.chmod(f"/proc/self/fd/{fd}", 0o700)  # a folder that may not be read cannot be opened but as a path
