"""Capturing: a scan, then reading what the stat cache does not know; folders become objects, leaves first."""

import os
from collections.abc import Callable

from msgspec import Struct

from mulligan.adapters.snapshots.cache.marks import Mark
from mulligan.adapters.snapshots.capture.entry_reader import Records
from mulligan.adapters.snapshots.format.pack_format import Kind
from mulligan.adapters.snapshots.format.tree_format import decode, encode, folder_object, unheld_record
from mulligan.adapters.snapshots.scan.exclusions import exclusions_of
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.scan import Scan, Witness, until_steady
from mulligan.domain.checkpoints.store_report import Unheld
from mulligan.osfiles.directory_handles import Folders, path_of
from mulligan.ports import WorkingTree


class Surveyed(Struct, frozen=True, eq=False):
    """A scan that was made to count a tree."""

    tree: WorkingTree
    known: Folder | None  # what the scan compared with
    scan: Scan
    top: Folder
    mark: Mark  # a moment before the scan, where another process reports what changes


class Reading(Struct, eq=False):
    """One reading of a tree: what was found, and how much of it had to be read."""

    tree: WorkingTree
    known: Folder | None  # the tree as it was read before; what has not changed since is taken from there
    records: Records
    witness: Witness
    surveyed: Surveyed | None  # a scan that was made already
    inside: dict[tuple[int, int], int] = {}  # files with several links: how many are in this tree
    links: list[tuple[Folder, str]] = []  # names of files with several links
    resolved: list[Folder] = []  # folders whose objects were made now

    def run(self, now_ns: Callable[[], int]) -> Folder:
        """Read the tree; return its topmost folder, whose one entry is the tree itself."""
        with Folders(self.tree.path) as folders:
            return until_steady(lambda: self._attempt(folders, now_ns()))

    def _attempt(self, folders: Folders, started_ns: int) -> Folder:
        scan, top = self._scanned(folders, started_ns)
        self.records.started_ns = scan.started_ns
        self.inside = scan.inside
        self.links = [each for names in scan.links.values() for each in names]
        self.resolved = []
        before: dict[int, Folder | None] = {id(top): self.known}
        order = top.walk_unsealed()
        for folder in order:
            if folder.sealed:
                continue
            old = before[id(folder)]
            for name, child in folder.children.items():
                before[id(child)] = old.children.get(name) if old else None
        for folder in reversed(order):
            self._resolve(folders, folder, before[id(folder)])
        return top

    def _scanned(self, folders: Folders, started_ns: int) -> tuple[Scan, Folder]:
        if self.surveyed is not None:  # once: another attempt looks again
            scan, top = self.surveyed.scan, self.surveyed.top
            self.surveyed, self.records.moves = None, scan.moves
            return scan, top
        exclusions, moves = exclusions_of(self.tree), self.records.moves
        scan = Scan(folders, exclusions, started_ns, self.witness, self.known, moves=moves)
        return scan, scan.run()

    def _resolve(self, folders: Folders, folder: Folder, old: Folder | None) -> None:
        """Learn a folder's records, identity and address; its children are resolved already."""
        if folder.sealed:
            return
        if old is not None and self._unchanged(folder, old):
            folder.take_over(old)
            count_files(folder)
            return
        unread: list[str] = []
        for name in folder.stats:
            record = self._kept_record(folder, old, name) if old else None
            if record is None:
                unread.append(name)
            else:
                folder.records[name] = record
        made = self.records.make_plain(folders, folder, unread)
        for name in unread:
            record = made.get(name) or self.records.make(folders, folder, name)
            if record is not None:
                folder.records[name] = record
        make_object(folder, self.records)
        if old is not None:
            folder.stem_from(old)
        self.resolved.append(folder)

    @staticmethod
    def _unchanged(folder: Folder, old: Folder) -> bool:
        return (
            old.address != b""
            and not old.racy
            and folder.looks_like(old)
            and folder.groups == old.groups
            and folder.unheld.keys() == old.unheld.keys()
            and old.complete
            and all(child.address == old.children[name].address for name, child in folder.children.items())
        )

    @staticmethod
    def _kept_record(folder: Folder, old: Folder, name: str) -> bytes | None:
        """The record of a name that did not change, with what its neighbours changed; None: look at it."""
        record = old.records.get(name)
        if record is None or name in old.racy or folder.stats[name] != old.stats.get(name):
            return None
        child = folder.children.get(name)
        if child is not None:
            return renewed(record, child)
        if folder.groups.get(name, b"") != old.groups.get(name, b""):
            record = encode(decode(record)._replace(group=folder.groups.get(name, b"")))
        return record


def renewed(record: bytes, child: Folder) -> bytes:
    """Return the record of a folder with its present identity and address."""
    entry = decode(record)
    if (entry.id, entry.address) == (child.id, child.address):
        return record
    return encode(entry._replace(id=child.id, address=child.address))


def make_object(folder: Folder, records: Records) -> None:
    """Give a folder, whose records are all known, its identity and address."""
    records_and_names = folder.records | {name: unheld_record(name) for name in folder.unheld}
    data, folder.id = folder_object(records_and_names)
    folder.address = records.sink.add(Kind.TREE, data)
    count_files(folder)


def count_files(folder: Folder) -> None:
    """Count the files in a folder and below; the counts of its children are known."""
    folder.files = folder.held - len(folder.children)
    folder.missing = len(folder.unheld)
    if folder.children:
        folder.files += sum(child.files for child in folder.children.values())
        folder.missing += sum(child.missing for child in folder.children.values())


def unheld_in(top: Folder) -> tuple[Unheld, ...]:
    """All that was found but cannot be held, sorted by path."""
    found = [
        Unheld(path_of(folder, name), reason)
        for folder in top.walk_missing()
        for name, reason in folder.unheld.items()
    ]
    return tuple(sorted(found, key=lambda unheld: os.fsencode(unheld.path)))
