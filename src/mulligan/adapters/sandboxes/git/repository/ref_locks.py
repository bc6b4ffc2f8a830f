"""Git's own lock files that a killed git of ours leaves in a repository: noted before, removed afterwards.

Git removes its locks when it ends. One that is killed together with the process that started it leaves them, and
every later git command fails. So the locks that a command may take are noted in the git directory first. The note
is locked for as long as its maker or that git lives; one that is free names what may be removed.
"""

import fcntl
import json
import os
import re
import stat
import time
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from msgspec import ValidationError, convert

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.git_processes import git_at_work
from mulligan.boundaries import act
from mulligan.errors import SystemFailed

HEAD, PACKED, SHALLOW = "HEAD.lock", "packed-refs.lock", "shallow.lock"
_NOTE = "mulligan-{}.locks"
_NOTES = "mulligan-*.locks"
_AT_REST = 1.0  # seconds: longer than any program holds a lock that it is about to release
_DYING = 1.0  # seconds
_OURS = re.compile(r"(?:HEAD|packed-refs|shallow|refs/[^\0]+)\.lock|refs/[^\0]+/")


@contextmanager
def noting(there: Git, git_dir: Path, names: Collection[str], *, durable: bool = False) -> Generator[Git]:
    """Note the locks that git may take inside of the context; yield the git to run.

    A name that ends in a slash means all locks below a folder of refs, which must be ours alone. Locks of earlier
    notes are removed first, and those of this one if the git inside is killed.
    """
    clear_locks(git_dir)
    common = common_dir_in(git_dir)
    free = [
        name for name in names if name.endswith("/") or not os.path.lexists(_place(git_dir, common, name))
    ]
    note = git_dir / _NOTE.format(os.urandom(6).hex())
    try:
        with note.open("xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(json.dumps(free).encode("utf-8", "surrogateescape"))
            file.flush()
            if durable:
                with act("position.sync"):
                    os.fsync(file.fileno())
            try:
                yield there.holding(file.fileno())
            except BaseException:
                _remove_left(git_dir, common, free, os.fstat(file.fileno()).st_mtime_ns)
                raise
            finally:
                note.unlink(missing_ok=True)
    except OSError as exc:
        raise SystemFailed(path=str(note), reason=exc.strerror or str(exc)) from exc


def clear_locks(git_dir: Path) -> tuple[Path, ...]:
    """Remove the locks that killed processes of ours left in a git directory, and their notes; return the locks."""
    removed: list[Path] = []
    for note in git_dir.glob(_NOTES):
        if note.is_symlink() or not os.access(note, os.R_OK):
            continue  # not one of ours
        with suppress(FileNotFoundError, BlockingIOError):  # its maker ended just now, or lives
            fd = os.open(note, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                _wait_for(fd)
                st = os.fstat(fd)
                if stat.S_ISREG(st.st_mode):
                    names = _names_in(os.read(fd, st.st_size))
                    common = common_dir_in(git_dir)
                    removed += _remove_left(git_dir, common, names, st.st_mtime_ns)
                    if not any(_present(git_dir, common, names)):  # else a live git may hold one: later, then
                        note.unlink(missing_ok=True)
            finally:
                os.close(fd)
    return tuple(removed)


def locks_in(git_dir: Path) -> list[Path]:
    """All lock files of a repository that stop git from changing refs, index or settings."""
    found: set[Path] = set()
    for folder in {git_dir, common_dir_in(git_dir)}:
        found |= {path for path in folder.glob("*.lock") if path.is_file()}
        found.update(_below(folder / "refs"))
    return sorted(found)


def described(lock: Path, now: datetime) -> str:
    """A lock in words: where it is, and how old."""
    return f"{lock} (made {_age(max(0, now.timestamp() - lock.lstat().st_mtime))} ago)"


def common_dir_in(git_dir: Path) -> Path:
    """The folder with the refs that a git directory has in common with others, read as data."""
    pointer = git_dir / "commondir"
    return (git_dir / os.fsdecode(pointer.read_bytes()).strip()).resolve() if pointer.is_file() else git_dir


def _remove_left(git_dir: Path, common: Path, names: Collection[str], since_ns: int) -> list[Path]:
    """Remove those locks that came since and that no live process can hold."""
    removed: list[Path] = []
    for lock in _present(git_dir, common, names):
        with suppress(FileNotFoundError):
            st = lock.lstat()
            ours = stat.S_ISREG(st.st_mode) and st.st_mtime_ns >= since_ns
            places = (git_dir, common, common.parent)
            if not ours or git_at_work(places, before=st.st_mtime) or not _rests(lock, st):
                continue
            if not git_at_work(places, before=st.st_mtime):  # nor one that was just being started before
                lock.unlink()
                removed.append(lock)
    return removed


def _wait_for(note: int) -> None:
    """Take the lock of a note; BlockingIOError where its maker lives. A killed git may need a moment to end."""
    until = time.monotonic() + _DYING
    while True:
        try:
            return fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def _rests(lock: Path, seen: os.stat_result) -> bool:
    """Return whether a lock stays unchanged for longer than any program holds one: not every program is called git."""
    until = time.monotonic() + _AT_REST
    while os.path.samestat(lock.lstat(), seen):
        if (left := until - time.monotonic()) <= 0:
            return True
        time.sleep(min(left, 0.05))
    return False


def _present(git_dir: Path, common: Path, names: Collection[str]) -> Iterator[Path]:
    for name in names:
        place = _place(git_dir, common, name)
        if name.endswith("/"):
            yield from _below(place)
        elif os.path.lexists(place):
            yield place


def _below(refs: Path) -> Iterator[Path]:
    for folder, _, files in os.walk(refs):
        yield from (Path(folder, file) for file in files if file.endswith(".lock"))


def _place(git_dir: Path, common: Path, name: str) -> Path:
    return (git_dir if name == HEAD else common) / name


def _names_in(text: bytes) -> list[str]:
    """The names in a note, as far as they can be locks of refs: a note may be cut off, or a stranger's."""
    try:
        names = convert(json.loads(text.decode("utf-8", "surrogateescape")), list[str])
    except (ValueError, ValidationError):
        return []
    return [name for name in names if _OURS.fullmatch(name) and ".." not in name.split("/")]


def _age(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{int(seconds)} seconds"
