"""Folders of a tree as they were found, and what was learned of them."""

import marshal
from typing import NamedTuple, cast

from mulligan.adapters.snapshots.signatures import Listing, listing_of


class PackedRecords(NamedTuple):
    """The records of a folder in one piece."""

    data: bytes
    count: int

    def opened(self) -> dict[str, bytes]:
        """Records by name."""
        return cast("dict[str, bytes]", marshal.loads(self.data))  # noqa: S302  packed by ourselves


class Folder:
    """A folder as it was found. The topmost holds the tree itself, as ".".

    Most folders of a large tree do not change from one look to the next, and nobody asks what is in them:
    signatures and records stay in one piece each, as they came from the scan or the stat cache, until asked for.
    From then on they may be changed, and are dictionaries.
    """

    __slots__ = (
        "_listing",
        "_packed",
        "_records",
        "_stats",
        "address",
        "children",
        "files",
        "groups",
        "id",
        "name",
        "parent",
        "racy",
        "skipped",
        "unheld",
    )

    def __init__(self, name: str, parent: "Folder | None") -> None:
        self.name = name
        self.parent = parent
        self._stats: dict[str, bytes] | None = {}
        self._listing = _NO_LISTING  # of use while there are no `_stats`
        self._records: dict[str, bytes] | None = {}
        self._packed = _NO_RECORDS  # of use while there are no `_records`
        self.racy: set[str] = set()  # names that must be read again next time
        self.groups: dict[str, bytes] = {}  # names that share an inode -> first path
        self.unheld: dict[str, str] = {}  # names that cannot be held -> why
        self.skipped = False  # has something excluded in it
        self.children: dict[str, Folder] = {}
        self.id = b""
        self.address = b""  # empty: not known
        self.files = 0  # below here, folders not counted

    @property
    def stats(self) -> dict[str, bytes]:
        """The signatures of what can be held, by name."""
        if self._stats is None:
            self._stats, self._listing = self._listing.opened(), _NO_LISTING
        return self._stats

    @property
    def records(self) -> dict[str, bytes]:
        """Records as in trees, by name; empty until captured."""
        if self._records is None:
            self._records, self._packed = self._packed.opened(), _NO_RECORDS
        return self._records

    @property
    def listing(self) -> Listing:
        """All signatures in one piece."""
        return self._listing if self._stats is None else listing_of(self._stats)

    @property
    def packed_records(self) -> PackedRecords:
        """All records in one piece."""
        if self._records is None:
            return self._packed
        return PackedRecords(marshal.dumps(self._records), len(self._records))

    @property
    def held(self) -> int:
        """How many names have a signature."""
        return self._listing.count if self._stats is None else len(self._stats)

    @property
    def recorded(self) -> int:
        """How many names have a record."""
        return self._packed.count if self._records is None else len(self._records)

    @property
    def guarded(self) -> bool:
        """Holds something that a restore must leave alone."""
        return self.skipped or bool(self.unheld)

    def start_anew(self) -> None:
        """Forget what was found, before the folder is listed."""
        self._stats, self.racy, self.unheld, self.children = {}, set(), {}, {}
        self.skipped = False

    def list_as(self, listing: Listing) -> None:
        """Take signatures in one piece."""
        self._stats, self._listing = None, listing

    def record_as(self, packed: PackedRecords) -> None:
        """Take records in one piece."""
        self._records, self._packed = None, packed

    def looks_like(self, other: "Folder") -> bool:
        """Tell whether both hold the same names with the same signatures."""
        if self._stats is None and other._stats is None and self._listing == other._listing:  # noqa: SLF001  its own class
            return True
        return self.held == other.held and self.stats == other.stats

    def take_over(self, other: "Folder") -> None:
        """Be known as another is, which has not changed; what both hold is kept once."""
        self._stats, self._listing = other._stats, other._listing  # noqa: SLF001  its own class
        self._records, self._packed = other._records, other._packed  # noqa: SLF001  its own class
        self.id, self.address = other.id, other.address

    def walk(self) -> "list[Folder]":
        """This folder and all below, parents before children."""
        found: list[Folder] = [self]
        for folder in found:
            found.extend(folder.children.values())
        return found


_NO_LISTING = Listing(b"", b"")
_NO_RECORDS = PackedRecords(b"", 0)
