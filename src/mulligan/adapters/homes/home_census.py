"""The homes of all projects of a user: their sizes, their last use, and those that no project folder needs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from msgspec import DecodeError, Struct, json

from mulligan.adapters.homes.folder_identity import Presence, identity_of, presence_of
from mulligan.adapters.homes.home_adoption import clear_copied, held_open, others_in
from mulligan.adapters.homes.home_index import PART, HomeIndex, is_new_home, is_part, is_same_folder
from mulligan.adapters.homes.home_link import HomeRecord, is_sandbox, names_home, read_link, read_record
from mulligan.adapters.homes.tree_copy import remove_folder
from mulligan.boundaries import act
from mulligan.domain.text.sizes import size_text
from mulligan.errors import DiskLimitExceeded, MulliganError
from mulligan.osfiles.folders import disk_use_of, sync_folder

REMOVED = ".removed-"  # before the name of a home that is being removed
_REMOVED = re.compile(re.escape(REMOVED) + r"[0-9a-f]+")
_MEASURED = "size.json"
_CHANGING = ("mulligan.db", "mulligan.db-wal", "store/packs", "sandboxes")  # newer with whatever is recorded


class HomeState(StrEnum):
    """The need of a project folder for a home."""

    IN_USE = "in_use"
    FOLDER_GONE = "folder_gone"  # its folder does not exist, or is another one
    REPLACED = "replaced"  # its folder has another home
    UNREACHABLE = (
        "unreachable"  # its folder cannot be looked at: its disk is away, or a folder above it is closed
    )

    @property
    def is_needed(self) -> bool:
        """Return whether such a home has to stay."""
        return self in (HomeState.IN_USE, HomeState.UNREACHABLE)


class FoundHome(Struct, frozen=True, kw_only=True):
    """One home."""

    home: str
    folder: str  # empty: it was never given one
    state: HomeState
    size_bytes: int
    last_used: datetime


class _Measured(Struct, frozen=True):
    """The size of a home, and the newest change that it counts."""

    newest_ns: int
    size_bytes: int


class HomeCensus(Struct, frozen=True, eq=False, kw_only=True):
    """Looks at all homes, and removes those that are not needed."""

    index: HomeIndex
    folder: Path | None  # the project folder that asks; None: none does
    home: Path | None  # and its home

    def all(self) -> list[FoundHome]:
        """Return every home, the one that was used last first."""
        found = [self._look(home) for home in self.index.homes() if not is_part(home)]
        return sorted(found, key=lambda each: each.last_used, reverse=True)

    def abandoned(self) -> list[Path]:
        """Return the homes that no folder needs any longer."""
        homes = [home for home in self.index.homes() if not is_part(home)]
        return [home for home in homes if not self._state(home, read_record(home)).is_needed]

    def refuse_full(self, limit: int | None) -> None:
        """Refuse a new plan where all homes together hold more than they may."""
        if (said := self.fullness(limit)) is not None:
            raise DiskLimitExceeded(reason=said)

    def fullness(self, limit: int | None) -> str | None:
        """Say that all homes together hold more than they may; None where they do not."""
        if not limit:
            return None
        size = sum(self._size(home) for home in self.index.homes())
        return (
            f"the project homes hold {size_text(size)}, more than core.disk-limit, {size_text(limit)}"
            if size > limit
            else None
        )

    def clear_small_folder(self) -> list[str]:
        """Remove from the small folder what a move to another filesystem left; return the files that nothing uses."""
        if self.folder is None or self.home is None or self.home == self.folder / ".mulligan":
            return []
        record = read_record(self.home)
        # Where the home was never in the project folder, what is there is not ours to remove.
        ours = record is not None and any(Path(each).name == ".mulligan" for each in record.former_homes)
        unused = clear_copied(self.folder, self.home) if ours else others_in(self.folder)
        return [str(self.folder / ".mulligan" / name) for name in unused]

    def prune(self, release: Callable[[Path], None]) -> tuple[list[Path], list[Path]]:
        """Remove the homes that no folder needs; return them, and those that stay because processes use them.

        `release` removes what a home keeps elsewhere: pins in users' repositories.
        """
        removed: list[Path] = []
        busy: list[Path] = []
        for home in self.abandoned():
            with held_open(home) as free:
                if not free:
                    busy.append(home)
                    continue
                record = read_record(home)
                release(home)
                self._remove(home)
            if record is not None and record.folder:
                self.index.forget(Path(record.folder), home)
            removed.append(home)
        self._clear()
        return removed, busy

    def _remove(self, home: Path) -> None:
        real = Path(os.path.realpath(home))  # a user may have put it elsewhere, behind a symlink
        trash = real.with_name(f"{REMOVED}{os.urandom(8).hex()}")
        with act("home.remove"):
            real.rename(trash)
            sync_folder(real.parent)
        if home.is_symlink():
            home.unlink()
        remove_folder(trash)

    def _clear(self) -> None:
        """Remove what killed processes left: homes on their way out, copies that nothing names, empty folders."""
        if not self.index.root.is_dir():
            return
        for path in sorted(self.index.root.iterdir()):
            if path.is_symlink() or not path.is_dir() or path.name == "by-folder":
                continue
            left = _REMOVED.fullmatch(path.name) is not None or is_new_home(path)
            if left or (is_part(path) and not _is_awaited(path)):
                with act("leftover.remove"):
                    remove_folder(path)

    def _look(self, home: Path) -> FoundHome:
        record = read_record(home)
        return FoundHome(
            home=str(home),
            folder=record.folder if record is not None else "",
            state=self._state(home, record),
            size_bytes=self._size(home),
            last_used=datetime.fromtimestamp(_newest(home) / 1e9, UTC),
        )

    def _state(self, home: Path, record: HomeRecord | None) -> HomeState:
        if self.home is not None and is_same_folder(self.home, home):
            return HomeState.IN_USE
        if record is None:
            return HomeState.UNREACHABLE  # it may belong to any folder
        if not record.folder:
            return HomeState.FOLDER_GONE
        folder = Path(record.folder)
        if is_sandbox(folder):
            return HomeState.IN_USE  # of the real folder, which this process cannot see
        if names_home(folder, home):
            return HomeState.IN_USE
        presence = presence_of(folder, record.identity, record.mount)
        if presence is Presence.UNREACHABLE:
            return HomeState.UNREACHABLE
        if presence is Presence.HERE and is_same_folder(self.index.lookup(folder), home):
            return HomeState.IN_USE
        if _renamed(folder, home, record):
            return HomeState.IN_USE
        replaced = presence is Presence.HERE or _has_link(folder)
        return HomeState.REPLACED if replaced else HomeState.FOLDER_GONE

    def _size(self, home: Path) -> int:
        """Return the size of a home, measured again only where something was recorded in it since."""
        newest = _newest(home)
        try:
            known = json.decode((home / _MEASURED).read_bytes(), type=_Measured)
            if known.newest_ns == newest:
                return known.size_bytes
        except (OSError, DecodeError):
            pass  # never measured, or not readable: it is measured now
        size = disk_use_of(home)
        with suppress(OSError):  # a note that saves time
            (home / _MEASURED).write_bytes(json.encode(_Measured(newest, size)))
        return size


def _newest(home: Path) -> int:
    newest = 0
    for name in _CHANGING:
        with suppress(OSError):
            newest = max(newest, (home / name).stat().st_mtime_ns)
    return newest or home.stat().st_mtime_ns


def _is_awaited(part: Path) -> bool:
    """Return whether a project folder names the home that this copy is about to become."""
    record = read_record(part)
    if record is None or not record.folder:
        return False
    try:
        link = read_link(Path(record.folder))
    except MulliganError:
        return True
    return link is not None and f"{link.home}{PART}" == str(part)


def _has_link(folder: Path) -> bool:
    try:
        return read_link(folder) is not None
    except (MulliganError, OSError):
        return False


def _renamed(folder: Path, home: Path, record: HomeRecord) -> bool:
    """Return whether the project folder of a home has another name now, beside its former one."""
    try:
        with os.scandir(folder.parent) as entries:
            same = [Path(entry.path) for entry in entries if entry.inode() == record.identity.inode]
    except OSError:
        return False
    found = ((each, identity_of(each)) for each in same)
    return any(
        there is not None and there.matches(record.identity) and names_home(each, home)
        for each, there in found
    )
