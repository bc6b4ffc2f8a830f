"""The folder that holds the homes of a user's projects, and the index that finds one by its project folder.

An entry of the index is a symlink that is named after the folder: to find a home costs one call, however many there
are.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.homes.home_link import RECORD
from mulligan.boundaries import act
from mulligan.osfiles.folders import make_private_folder, sync_folder

BY_FOLDER = "by-folder"
PART = ".part"  # behind the name of a home that is being copied
MARK = ".mulligan-part"  # a file in it: only such a folder is ours to remove
_LONGEST = 200  # bytes of a name in the index; a longer one is a hash


class HomeIndex(Struct, frozen=True):
    """The homes in one folder, by their project folders."""

    root: Path  # absolute

    def lookup(self, folder: Path) -> Path | None:
        """Return the home that is noted for a project folder; it may be gone."""
        try:
            return self._target(self._entry(folder))
        except OSError:
            return None

    def holds(self, home: Path) -> bool:
        """Return whether mulligan itself made or noted a home: it is in the folder of all homes, or an entry names it.

        A folder that says that it is a home, or that has one, may have come with a repository.
        """
        real = os.path.realpath(home)
        if os.path.dirname(real) == os.path.realpath(self.root):  # noqa: PTH120 - of a path that is resolved
            return True
        return any(os.path.realpath(entry) == real for entry in _entries(self.root / BY_FOLDER))

    def note(self, folder: Path, home: Path) -> None:
        """Note the home of a project folder, durably."""
        make_private_folder(self.root / BY_FOLDER)
        inside = home.parent == self.root  # relative: the folder of all homes may be moved
        target = f"../{home.name}" if inside else str(home)
        entry = self._entry(folder)
        draft = entry.with_name(f".{os.urandom(8).hex()}.new")
        with act("home.index"):
            draft.symlink_to(target)
            draft.replace(entry)
            sync_folder(entry.parent)

    def forget(self, folder: Path, home: Path) -> None:
        """Remove the entry of a project folder, if it names that home."""
        if is_same_folder(self.lookup(folder), home):
            self._entry(folder).unlink(missing_ok=True)

    def new_home(self, folder: Path) -> Path:
        """Return a free place for a home, with a name that people recognise."""
        readable = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name).strip("-.")[:40] or "project"
        while True:
            home = self.root / f"{readable}-{os.urandom(4).hex()}"
            if not os.path.lexists(home) and not os.path.lexists(f"{home}{PART}"):
                return home

    def homes(self) -> list[Path]:
        """Return every home: those in the folder, and those elsewhere that the index names."""
        found: dict[tuple[int, int], Path] = {}
        for entry in _entries(self.root) + _entries(self.root / BY_FOLDER):
            try:
                st = entry.stat()
                is_home = (entry / RECORD).is_file()
            except OSError:
                continue  # the home that it names is gone
            if is_home:
                # As links and the index name it: not resolved, where the folder is behind a symlink.
                home = entry if entry.parent == self.root else self._target(entry)
                found.setdefault((st.st_dev, st.st_ino), home)
        return sorted(found.values())

    def _target(self, entry: Path) -> Path:
        return Path(os.path.normpath(entry.parent / entry.readlink()))

    def _entry(self, folder: Path) -> Path:
        name = str(folder).replace("%", "%25").replace("/", "%2F")
        if len(os.fsencode(name)) > _LONGEST:
            import hashlib  # here: it loads OpenSSL, and few paths are that long

            name = hashlib.sha256(os.fsencode(folder)).hexdigest()
        return self.root / BY_FOLDER / name


def is_same_folder(one: Path | None, other: Path) -> bool:
    """Return whether two paths lead to one place, through symlinks or not; it need not exist."""
    return one is not None and (one == other or os.path.realpath(one) == os.path.realpath(other))


def is_part(folder: Path) -> bool:
    """Return whether a folder is a home that is being copied or unpacked, and not one of a user's of such a name."""
    return folder.name.endswith(PART) and (folder / MARK).is_file()


def is_new_home(folder: Path) -> bool:
    """Return whether an empty folder has a name that mulligan chose for a home."""
    return re.search(r"-[0-9a-f]{8}$", folder.name) is not None and not any(folder.iterdir())


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
