"""The expected entries at the names that a restore is about to touch: anything else is the work of others."""

from collections.abc import Callable, Iterable, Iterator

from mulligan.adapters.snapshots.format.tree_format import (
    ROOT_NAME,
    Entry,
    EntryKind,
    address_of,
    decode,
    identity_part,
    kind_of,
    own_part,
    split,
    split_root,
)
from mulligan.adapters.snapshots.restore.restore_plan import Difference, Work
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.placement import is_spare_name
from mulligan.osfiles.directory_handles import Place, path_of


class KnownTree:
    """The records of a stored tree, by the folders of a tree that lies on the disk."""

    def __init__(self, snapshot: Snapshot, read: Callable[[bytes], bytes]) -> None:
        self._read = read
        self._root = address_of(snapshot.roots[0])
        self._records: dict[int, tuple[Place, dict[str, bytes]]] = {}
        self._opened: dict[bytes, dict[str, bytes]] = {}  # by address

    def is_all_of(self, top: Folder | None) -> bool:
        """Return whether a scanned tree is this one, times included; nothing has to be read for that."""
        return top is not None and top.address == self._root

    def records_of(self, place: Place) -> dict[str, bytes]:
        """Return the records of the tree in that folder; empty if it has no such folder."""
        found = self._records.get(id(place))
        if found is None:
            # With the place: its id() stays its own.
            found = self._records[id(place)] = (place, self._load(place))
        return found[1]

    def record_at(self, path: str) -> bytes | None:
        """Return the record of a path of the tree; None if it has none."""
        records = split_root(self._root, self._read(self._root))
        record: bytes | None = records.get(ROOT_NAME)
        for name in path.split("/") if path != ROOT_NAME else ():
            if record is None or kind_of(record) is not EntryKind.FOLDER:
                return None
            address = decode(record).address
            if address not in self._opened:
                self._opened[address] = split(address, self._read(address))
            record = self._opened[address].get(name)
        return record

    def _load(self, place: Place) -> dict[str, bytes]:
        if place.parent is None:
            return split_root(self._root, self._read(self._root))
        record = self.records_of(place.parent).get(place.name)
        if record is None or kind_of(record) is not EntryKind.FOLDER:
            return {}
        address = decode(record).address
        return split(address, self._read(address))


def changed_at(paths: Iterable[str], top: Folder, known: KnownTree) -> list[str]:
    """Return the paths, of those, that hold something else than is known: also what a restore would leave there."""
    found: list[str] = []
    if known.is_all_of(top):
        return found
    for path in paths:
        folder: Folder | None = top.children.get(ROOT_NAME)
        *above, name = path.split("/")
        for each in above:
            folder = folder.children.get(each) if folder is not None else None
        mine = folder.records.get(name) if folder is not None else None
        expected = known.record_at(path)
        if mine is None or expected is None:
            changed = mine is not expected
        elif EntryKind.FOLDER in (kind_of(mine), kind_of(expected)):
            changed = kind_of(mine) is not kind_of(expected) or own_part(mine) != own_part(expected)
        else:
            changed = identity_part(mine) != identity_part(expected)
        if changed and not is_spare_name(name):
            found.append(path)
    return found


def touched(difference: Difference) -> Iterator[tuple[Place, Folder, str]]:
    """Every file and symlink that a restore replaces, removes or adjusts: where, and as it was found."""
    for work in difference.works:
        for clearing in work.clear:
            for name in clearing.names:
                yield clearing.folder, clearing.folder, name
        if work.present is not None:
            for name in work.unlink:
                yield work, work.present, name
            for name in replaced(work):
                yield work, work.present, name


def replaced(work: Work) -> Iterator[str]:
    """The names of files and symlinks in a folder that get something else in their place, or are adjusted."""
    present = work.present
    if present is None:
        return
    gone = set(work.unlink)
    for entry in (*work.write, *work.adjust):
        if entry.name in present.stats and entry.name not in present.children and entry.name not in gone:
            yield entry.name


def foreign_paths(difference: Difference, known: KnownTree) -> list[str]:
    """The paths a restore would touch that hold neither what is known nor what is wanted."""
    if known.is_all_of(difference.top.present):
        return []
    wanted = {(id(work), entry.name): entry for work in difference.works for entry in work.adjust}
    found: list[str] = []
    for place, folder, name in touched(difference):
        mine = folder.records[name]
        expected = known.records_of(place).get(name)
        if expected is not None and _same(mine, expected):
            continue
        if (entry := wanted.get((id(place), name))) is not None and _plain(decode(mine)) == _plain(entry):
            continue  # only its time is adjusted
        if not is_spare_name(name):
            found.append(path_of(place, name))
    return found


def _same(mine: bytes, other: bytes) -> bool:
    return identity_part(mine) == identity_part(other) or _plain(decode(mine)) == _plain(decode(other))


def _plain(entry: Entry) -> Entry:
    """An entry without what a restore may have changed on its way: times, and names that it shares."""
    return entry._replace(mtime_ns=0, sparse=False, group=b"")
