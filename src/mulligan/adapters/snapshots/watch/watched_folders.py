"""The folders on the kernel's queue, by the numbers of their watches.

Most folders of a large tree are as the stat cache has them, and nothing ever happens in them: such a folder is taken
out of the archive when the first event names it.
"""

from array import array

from mulligan.adapters.snapshots.cache.tree_archive import Archive
from mulligan.adapters.snapshots.scan.found_folder import Folder


class WatchedFolders:
    """Folders by number, and numbers by folder."""

    def __init__(self) -> None:
        self._folders: dict[int, Folder] = {}
        self._numbers: dict[Folder, int] = {}
        self._rows: dict[
            Archive, array[int]
        ] = {}  # by row: the number of a folder that is not among those above; or 0
        self._tops: dict[Archive, list[Folder]] = {}  # the folders that these rows are below
        self._places: dict[Archive, dict[int, int]] = {}  # rows by number; some have another number by now

    def opened(self) -> list[Folder]:
        """Return all that were taken out, or never were in an archive."""
        return list(self._numbers)

    def folder(self, number: int) -> Folder | None:
        """Return the folder that events with this number are about; None: it left the tree."""
        found = self._folders.get(number)
        if found is None and (place := self._place_of(number)) is not None:
            shelf, row = place
            self._rows[shelf][row] = 0
            places = (shelf.folder_at(top, row) for top in self._tops[shelf] if shelf.has_below(top, row))
            found = next(places, None)
            if found is not None:
                self._put(found, number)
        return found

    def _place_of(self, number: int) -> tuple[Archive, int] | None:
        for shelf, places in self._places.items():
            row = places.get(number)
            if row is not None and self._rows[shelf][row] == number:
                return shelf, row
        return None

    def number(self, folder: Folder) -> int | None:
        """Return the number of a folder's watch; None: it has none, or another folder has it by now."""
        if folder in self._numbers or folder.origin is None:
            return self._numbers.get(folder)
        shelf, row = folder.origin
        return (self._rows[shelf][row] or None) if shelf in self._rows else None

    def add(self, folder: Folder, number: int) -> Folder | None:
        """Know a folder by a number; return another one that had it, which is known by none from now on."""
        before = self.folder(number)
        if before is folder:
            return None
        if before is not None:
            del self._numbers[before]
        self._put(folder, number)
        return before

    def _put(self, folder: Folder, number: int) -> None:
        self._folders[number] = folder
        self._numbers[folder] = number

    def add_below(self, folder: Folder, numbers: bytes) -> int:
        """Know all folders below one, which are as in an archive; `numbers` has theirs, by row.

        Return the lowest of them, and 0 where there are none: a negative one is an errno, and then none is known.
        """
        assert folder.origin is not None
        shelf, row = folder.origin
        end = shelf.end(row)
        given = array("i", memoryview(numbers).cast("i")[row + 1 : end].tobytes())
        lowest = min(given, default=0)
        if lowest >= 0:
            self._rows.setdefault(shelf, array("i", bytes(len(numbers))))[row + 1 : end] = given
            self._tops.setdefault(shelf, []).append(folder)
            self._places.setdefault(shelf, {}).update(zip(given, range(row + 1, end), strict=True))
        return lowest

    def remove(self, folder: Folder) -> int | None:
        """Forget a folder; return the number of its watch, if it has one."""
        number = self.number(folder)
        if self._numbers.pop(folder, None) is not None:
            assert number is not None
            del self._folders[number]
        elif number is not None and folder.origin is not None:
            shelf, row = folder.origin
            self._rows[shelf][row] = 0
        return number
