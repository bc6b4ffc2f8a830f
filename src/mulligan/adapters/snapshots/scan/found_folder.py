"""Folders of a tree as they were found, and what was learned of them."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.adapters.snapshots.format.signatures import Listing, inodes_in, listing_of, measured

if TYPE_CHECKING:
    from mulligan.adapters.snapshots.cache.tree_archive import Archive


class Folder(Struct, eq=False):
    """A folder as it was found. The topmost holds the tree itself, as ".".

    Most folders of a large tree do not change from one look to the next, and nobody asks what is in them: what
    came in one piece, from a scan or from the stat cache, stays so until someone asks.
    """

    name: str
    parent: "Folder | None"
    racy: set[str] = set()  # names that must be read again next time
    groups: dict[str, bytes] = {}  # names that share an inode -> first path
    unheld: dict[str, str] = {}  # names that cannot be held -> why
    skipped: bool = False  # has something excluded in it
    apart: bool = False  # some of that is excluded as a path of another resource
    id: bytes = b""
    address: bytes = b""  # empty: not known
    files: int = 0  # below here, folders not counted
    missing: int = 0  # here and below: names that cannot be held
    sealed: bool = False  # it is as on the shelf, with all below
    _stats: dict[str, bytes] | None = {}  # None: as in the listing
    _listing: Listing | None = None  # None: as on the shelf
    _records: dict[str, bytes] | None = {}  # None: as on the shelf
    _children: "dict[str, Folder] | None" = {}  # None: as on the shelf
    _shelf: "Archive | None" = None
    _row: int = 0

    @property
    def stats(self) -> dict[str, bytes]:
        """The signatures of what can be held, by name."""
        if self._stats is None:
            self._stats, self._listing = self.listing.opened(), None
        return self._stats

    @property
    def listing(self) -> Listing:
        """All signatures in one piece."""
        if self._stats is not None:
            return listing_of(self._stats)
        if self._listing is None:
            assert self._shelf is not None
            return self._shelf.listing(self._row)
        return self._listing

    @property
    def held(self) -> int:
        """The number of names with a signature."""
        if self._stats is not None:
            return len(self._stats)
        if self._listing is None:
            assert self._shelf is not None
            return self._shelf.held(self._row)
        return self._listing.held

    @property
    def records(self) -> dict[str, bytes]:
        """Records as in trees, by name; empty until captured."""
        if self._records is None:
            assert self._shelf is not None
            self._records = self._shelf.records(self._row)
        return self._records

    @property
    def complete(self) -> bool:
        """Return whether every name has a record."""
        if self._records is None:
            assert self._shelf is not None
            return self._shelf.is_complete(self._row)
        return len(self._records) == self.held

    @property
    def children(self) -> "dict[str, Folder]":
        """The folders in this one, by name."""
        if self._children is None:
            assert self._shelf is not None
            self._children = self._shelf.children(self._row, self)
        return self._children

    @property
    def shelf(self) -> "tuple[Archive, int] | None":
        """The position of this folder in the archive, if it is unchanged with all below."""
        return (self._shelf, self._row) if self._shelf is not None and self.sealed else None

    @property
    def guarded(self) -> bool:
        """Holds something that a restore must leave alone."""
        return self.skipped or bool(self.unheld)

    def start_anew(self) -> None:
        """Forget what was found, before the folder is listed."""
        self._stats, self._listing, self.racy, self.unheld, self._children = {}, None, set(), {}, {}
        self.skipped = self.apart = False

    def list_as(self, listing: Listing) -> None:
        """Take signatures in one piece."""
        self._stats, self._listing = None, listing

    def put_away(self, shelf: "Archive", row: int, *, has_children: bool) -> None:
        """Take the content of a folder in the archive."""
        self._stats = self._listing = self._records = None
        self._children = None if has_children else {}
        self._shelf, self._row, self.sealed = shelf, row, True

    def unseal(self) -> None:
        """Take note that this is about to be changed, and with it all that it is in."""
        folder: Folder | None = self
        while folder is not None and folder.sealed:
            folder.sealed = False
            folder = folder.parent

    @property
    def origin(self) -> "tuple[Archive, int] | None":
        """The position in the archive of what this folder was known as, whatever has changed since."""
        return (self._shelf, self._row) if self._shelf is not None else None

    def stem_from(self, other: "Folder") -> None:
        """Take note that this is the folder that was known as another one, listed again."""
        self._shelf, self._row = other._shelf, other._row  # noqa: SLF001  its own class

    def looks_like(self, other: "Folder") -> bool:
        """Return whether both hold the same names with the same signatures."""
        if self._stats is None and self.listing == other.listing:
            return True
        return self.held == other.held and self.stats == other.stats

    def take_over(self, other: "Folder") -> None:
        """Be known as another is, which has not changed; what both hold is kept once."""
        self._stats, self._listing, self._records = other._stats, other._listing, other._records  # noqa: SLF001  its own class
        self._shelf, self._row = other._shelf, other._row  # noqa: SLF001  its own class
        self.id, self.address = other.id, other.address

    def walk(self) -> "list[Folder]":
        """This folder and all below, parents before children."""
        found: list[Folder] = [self]
        for folder in found:
            found.extend(folder.children.values())
        return found

    def measured(self) -> tuple[int, int]:
        """Return how many names here and below are not folders, and the bytes of files among them."""
        counts = [
            measured(folder.listing.signatures)
            if folder.shelf is None
            else folder.shelf[0].measured(folder.shelf[1])
            for folder in self.walk_unsealed()
        ]
        return sum(count for count, _ in counts), sum(size for _, size in counts)

    def has_inode(self, inodes: AbstractSet[int]) -> bool:
        """Return whether one of these inodes is here or below."""
        return any(
            not inodes.isdisjoint(inodes_in(folder.listing.signatures))
            if folder.shelf is None
            else folder.shelf[0].has_inode(folder.shelf[1], inodes)
            for folder in self.walk_unsealed()
        )

    def with_name(self, name: str) -> "list[Folder]":
        """Return the folders, of this one and those below, that have a name in them."""
        return self._those(lambda folder: name in folder.stats, lambda shelf, row: shelf.with_name(row, name))

    def leaving_out(self) -> "list[Folder]":
        """Return the folders, of this one and those below, in which something is excluded."""
        return self._those(lambda folder: folder.skipped, lambda shelf, row: shelf.leaving_out(row))

    def _those(
        self, fits: "Callable[[Folder], bool]", rows_of: "Callable[[Archive, int], list[int]]"
    ) -> "list[Folder]":
        found: list[Folder] = []
        for folder in self.walk_unsealed():
            if folder.shelf is None:
                found += [folder] if fits(folder) else []
            else:
                shelf, row = folder.shelf
                places = [shelf.folder_at(folder, each) for each in rows_of(shelf, row)]
                found += [place for place in places if place is not None]
        return found

    def walk_missing(self) -> "list[Folder]":
        """This folder and those below that have something that cannot be held, or lead there."""
        found: list[Folder] = [self]
        for folder in found:
            if folder.missing > len(folder.unheld):
                found.extend(child for child in folder.children.values() if child.missing)
        return found

    def walk_unsealed(self) -> "list[Folder]":
        """This folder and all below, parents before children; nothing below those that are sealed."""
        found: list[Folder] = [self]
        for folder in found:
            if not folder.sealed:
                found.extend(folder.children.values())
        return found
