"""Moving a home of an earlier version out of the project folder, where it was the folder `.mulligan`.

On the same filesystem it is one rename. On another one it is copied beside its new place, made durable, and the link in
the project folder is the switch: until it is there the old home is the truth, and as it was; from then on the new one.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mulligan.adapters.homes.home_index import MARK, PART, is_part
from mulligan.adapters.homes.home_link import (
    IGNORE,
    LINK,
    RECORD,
    STAGING,
    HomeLink,
    HomeRecord,
    small_folder,
    write_link,
    write_record,
)
from mulligan.adapters.homes.home_search import ProjectPlace, Standing
from mulligan.adapters.homes.tree_copy import copy_folder, remove_folder
from mulligan.boundaries import act
from mulligan.errors import SystemFailed
from mulligan.osfiles.folders import sync_filesystem, sync_folder

_HELD = ("locks/*.lock", "in-place.lock", "store/upkeep", "store/lock")  # what processes at work keep locked
_FOLDERS = ("store", "sandboxes", "git", "locks", "scratch")
_FILES = ("mulligan.db", "in-place.lock", "level", f"{RECORD}", f"{LINK}.", f"{IGNORE}.")


class Adoption:
    """The move of one home."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._folder = folder
        self._old = small_folder(folder)
        self._home = home

    def run(self, record: HomeRecord, follow: Callable[[Path], None]) -> ProjectPlace:
        """Move it; `follow` lets what it keeps of git follow."""
        if not self._is_on_the_same_filesystem():
            return self._copied(record, follow)
        write_record(self._old, record)
        with act("home.follow"):
            follow(self._old)
        with act("home.move"):
            self._old.rename(self._home)
            sync_folder(self._home.parent)
            sync_folder(self._folder)
        (self._home / IGNORE).unlink(missing_ok=True)
        return ProjectPlace(folder=self._folder, home=self._home, standing=Standing.UNLINKED)

    def _is_on_the_same_filesystem(self) -> bool:
        """Try it with an empty file: two mounts of one device are two filesystems to a rename."""
        draft = f"{RECORD}.{os.urandom(4).hex()}.new"
        here, there = self._old / draft, self._home.with_name(draft)
        here.touch(mode=0o600)
        try:
            here.rename(there)
        except OSError as exc:
            here.unlink()
            if exc.errno != errno.EXDEV:
                raise
            return False
        there.unlink()
        return True

    def _copied(self, record: HomeRecord, follow: Callable[[Path], None]) -> ProjectPlace:
        part = Path(f"{self._home}{PART}")
        if is_part(part) or _is_empty(part):  # of a process that was killed
            _remove_part(part)
        try:
            part.mkdir(mode=0o700)
            (part / MARK).touch()
            copy_folder(self._old, part)
            (part / IGNORE).unlink(missing_ok=True)
            write_record(part, record)
            with act("home.follow"):
                follow(part)
            with act("home.sync"):
                _sync(part)
        except BaseException as exc:
            if is_part(part) or _is_empty(part):
                _remove_part(part)
            if isinstance(exc, OSError) and exc.errno in (errno.ENOSPC, errno.EDQUOT):
                raise self._full(exc) from exc
            raise
        if record.folder:
            link = HomeLink(home=str(self._home), folder=record.folder, identity=record.identity)
            write_link(self._folder, link)
        return self.named(part)

    def _full(self, exc: OSError) -> SystemFailed:
        return SystemFailed(
            path=str(self._home.parent),
            reason=f"the home of the project, {self._old}, cannot be moved there: {exc.strerror}",
            hint="free some space on that disk (`df -h`), or set MULLIGAN_HOME to a folder on another one; "
            "until then the home is where it was, and complete",
        )

    def named(self, part: Path) -> ProjectPlace:
        """Give a copied home its name, and remove the old one; the folder names the new one already."""
        with act("home.move"):
            part.rename(self._home)
            sync_folder(self._home.parent)
        (self._home / MARK).unlink(missing_ok=True)
        clear_copied(self._folder, self._home)
        return ProjectPlace(folder=self._folder, home=self._home, standing=Standing.UNLINKED)


@contextmanager
def held_open(home: Path) -> Generator[bool]:
    """Keep recorded plans from running in a home meanwhile; False where one runs, or the store is being swept."""
    with ExitStack() as held:
        free = True
        for pattern in _HELD:
            for file in sorted(home.glob(pattern)):
                descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                held.callback(os.close, descriptor)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    free = False
        yield free


def clear_copied(folder: Path, home: Path) -> list[str]:
    """Remove from the small folder what was copied to the home; return the names of what stays there unused."""
    stays: list[str] = []
    for name in others_in(folder):
        entry = small_folder(folder) / name
        if entry.is_dir() and not entry.is_symlink() and entry.name in _FOLDERS:
            with act("leftover.remove"):
                remove_folder(entry)
        elif entry.name.startswith(_FILES) or _same_file(entry, home / entry.name):
            with act("leftover.remove"):
                entry.unlink()
        else:
            stays.append(entry.name)
    return stays


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir())


def _remove_part(part: Path) -> None:
    """Remove a home that is being copied; its mark goes last, so that the rest can be removed after a kill."""
    for entry in part.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            remove_folder(entry)
        elif entry.name != MARK:
            entry.unlink()
    (part / MARK).unlink(missing_ok=True)
    part.rmdir()


def others_in(folder: Path) -> list[str]:
    """Return the names in the small folder of what does not belong there."""
    names = (entry.name for entry in small_folder(folder).iterdir())
    return sorted(name for name in names if name not in (IGNORE, LINK, STAGING))


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.read_bytes() == other.read_bytes()
    except OSError:
        return False


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync_filesystem(descriptor)
    finally:
        os.close(descriptor)
