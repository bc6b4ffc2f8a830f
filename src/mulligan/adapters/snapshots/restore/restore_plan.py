"""The difference between a tree and a snapshot, as a plan of what a restore has to do; touches nothing.

Equal subtrees have equal addresses and are never opened. A path is reported when its identity differs; an
mtime alone is restored without a report.
"""

import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, field

from mulligan.adapters.snapshots.format.signatures import inode_and_links
from mulligan.adapters.snapshots.format.tree_format import (
    Entry,
    EntryKind,
    address_of,
    decode,
    identity_part,
    kind_of,
    own_part,
    split_root,
)
from mulligan.adapters.snapshots.restore.adoption import NO_DOUBT, Doubtful
from mulligan.adapters.snapshots.scan.exclusions import NOTHING, Exclusions, exclusions_of
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.trees.stored_diff import FolderReader
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import ChangeAction, PathChange
from mulligan.domain.paths.path_set import PathSet
from mulligan.errors import RestoreFailed
from mulligan.osfiles.directory_handles import Place, path_of
from mulligan.ports import WorkingTree

# The records of a stored tree in a folder: of a restore that touches only what differs from that tree.
SparedRecords: TypeAlias = Callable[[Place], Mapping[str, bytes]]


class Clearing(Struct, frozen=True):
    """A folder that is not in the target: its files go, and it goes too unless something in it must stay."""

    folder: Folder
    names: tuple[str, ...]  # of what is not a folder
    goes: bool


class Work(Struct, eq=False):
    """A folder in which something is to be done. The topmost is the one that the tree's own folder is in."""

    name: str
    parent: "Work | None"
    target: Entry | None  # the folder's own mode, attributes and mtime; None for the topmost
    present: Folder | None  # None: it is to be made
    records: dict[str, bytes]  # the complete content to reach
    exclusions: Exclusions
    unlink: list[str] = field(default_factory=list[str])
    clear: list[Clearing] = field(default_factory=list[Clearing])  # children before parents
    write: list[Entry] = field(default_factory=list[Entry])  # files and symlinks, new or replaced
    adjust: list[Entry] = field(default_factory=list[Entry])  # only mode, attributes or mtime differ
    children: "list[Work]" = field(default_factory=list["Work"])


class Difference(Struct, eq=False):
    """The changes that make a tree equal to a snapshot."""

    top: Work
    is_exact: bool  # afterwards each folder holds what the snapshot has, not a part of it
    works: list[Work] = []  # parents before children
    kept_links: dict[bytes, tuple[Place, str]] = {}  # hard-link group -> a name of it that stays as it is
    _changes: dict[str, ChangeAction] = {}

    def changes(self) -> tuple[PathChange, ...]:
        """Every path whose identity changes, sorted by its bytes."""
        paths = sorted(self._changes, key=os.fsencode)
        return tuple(PathChange(path, self._changes[path]) for path in paths)

    def note(self, place: Place, name: str, action: ChangeAction) -> None:
        """Report a path; what is removed and then restored as something else is restored."""
        path = path_of(place, name)
        if self._changes.get(path) is not ChangeAction.RESTORED:
            self._changes[path] = action


def compare_trees(
    present: Folder,
    inside: Mapping[tuple[int, int], int],
    snapshot: Snapshot,
    tree: WorkingTree,
    folders: FolderReader,
    spared: SparedRecords | None = None,
    doubtful: Doubtful = NO_DOUBT,
) -> Difference:
    """Plan a restore; RestoreFailed where the target needs a place that something else must keep.

    A path for which `spared` has what the target has is left alone, whatever is there now. What is `doubtful` is
    written again although it seems to be the same.
    """
    return _Comparison(inside, folders, tree, PathSet(tree.only), spared, doubtful).run(
        present, snapshot, exclusions_of(tree)
    )


class _Comparison(Struct, eq=False):
    inside: Mapping[tuple[int, int], int]
    folders: FolderReader
    tree: WorkingTree
    only: PathSet
    spared: SparedRecords | None
    doubtful: Doubtful
    _touched: set[tuple[int, str]] = set()  # names of the present tree that do not stay as they are
    _wanted_groups: set[bytes] = set()

    def run(self, present: Folder, snapshot: Snapshot, exclusions: Exclusions) -> Difference:
        address = address_of(snapshot.roots[0])
        records = split_root(address, self.folders.read(address))
        top = Work("", None, None, present, records, NOTHING)
        difference = Difference(top, not self.only and self.spared is None)
        pending = [(top, b"")]
        while pending:
            work, address = pending.pop()
            difference.works.append(work)
            if address:
                work.records = self.folders(address)
            opened = self._compare(difference, work, exclusions)
            pending.extend(reversed(opened))
        self._find_kept_links(difference, present)
        return difference

    def _compare(
        self, difference: Difference, work: Work, exclusions: Exclusions
    ) -> list[tuple[Work, bytes]]:
        """Compare one folder; return the folders below that differ, with their addresses."""
        present = work.present
        have = present.records if present else {}
        if self.only and work.parent is not None:
            work.records = self._narrowed(work, have)
        left = self._left_alone(work, have)
        # What is left alone is not among the records to reach, and so not taken for known afterwards.
        work.records = {n: r for n, r in work.records.items() if n not in left} if left else work.records
        if present is not None:
            for name in have.keys() - work.records.keys() - left:
                self._remove(difference, work, present, name)
        opened: list[tuple[Work, bytes]] = []
        for name, record in work.records.items():
            if work.exclusions.leave_out(name, is_folder=kind_of(record) is EntryKind.FOLDER):
                continue
            if kind_of(record) is EntryKind.UNHELD:
                continue  # the snapshot does not know what was there: whatever is there now stays
            if present is not None and name in present.unheld:
                raise _blocked(work, name, present.unheld[name])
            mine = have.get(name)
            doubted = present is not None and name in self.doubtful.get(id(present), ())
            if mine == record and not doubted:
                continue
            if mine is None and present is not None and present.skipped and self._is_taken(work, record):
                raise _blocked(work, name, "something that is excluded from snapshots is there")
            below = exclusions if work.parent is None else work.exclusions.below(name)
            if present is not None and mine is not None and kind_of(mine) is not kind_of(record):
                self._remove(difference, work, present, name)
                if kind_of(mine) is EntryKind.FOLDER and not work.clear[-1].goes:
                    raise _blocked(work, name, "something in it cannot be held by a snapshot and must stay")
                mine = None
            if kind_of(record) is EntryKind.FOLDER:
                opened.append(self._folder(difference, work, mine, record, below))
            else:
                self._leaf(difference, work, mine, record, doubted=doubted)
        return opened

    def _is_taken(self, work: Work, record: bytes) -> bool:
        """Return whether something excluded has a name that the snapshot needs: a folder in the place of a file."""
        name, is_folder = decode(record).name, kind_of(record) is EntryKind.FOLDER
        excluded = work.exclusions.is_matched(name, is_folder=not is_folder)
        return excluded and os.path.lexists(self.tree.path / path_of(work, name))

    def _narrowed(self, work: Work, have: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the content to reach, with names that the restore must not touch as they are."""
        names = {*have, *work.records}
        touched = {name for name in names if self.only.leads_to(path_of(work, name))}
        kept = {name: record for name, record in have.items() if name not in touched}
        return kept | {name: record for name, record in work.records.items() if name in touched}

    def _left_alone(self, work: Work, have: Mapping[str, bytes]) -> set[str]:
        """Return the names in a folder that are the same in the spared tree and in the target, but not now."""
        if self.spared is None:
            return set()
        kept, wanted = self.spared(work), work.records
        mine = {name for name in have.keys() | wanted.keys() if have.get(name) != wanted.get(name)}
        return {name for name in mine if _identity(kept.get(name)) == _identity(wanted.get(name))}

    def _is_spared(self, work: Work, name: str, record: bytes) -> bool:
        """Return whether a folder itself is the same in the spared tree and in the target, whatever is in it."""
        kept = self.spared(work).get(name) if self.spared is not None else None
        return kept is not None and kind_of(kept) is EntryKind.FOLDER and own_part(kept) == own_part(record)

    def _folder(
        self, difference: Difference, work: Work, mine: bytes | None, record: bytes, exclusions: Exclusions
    ) -> tuple[Work, bytes]:
        entry = decode(record)
        if (
            mine is not None
            and own_part(mine) != own_part(record)
            and self._is_spared(work, entry.name, record)
        ):
            now = decode(
                mine
            )  # others may have closed it meanwhile: it stays as they have it, and is not known
            entry = entry._replace(mode=now.mode, attributes=now.attributes)
            work.records = {name: each for name, each in work.records.items() if name != entry.name}
            record = mine
        present = work.present.children[entry.name] if work.present and mine else None
        child = Work(entry.name, work, entry, present, {}, exclusions)
        work.children.append(child)
        if mine is None or own_part(mine) != own_part(record):
            difference.note(work, entry.name, ChangeAction.RESTORED)
        if present is not None and present.address == entry.address:
            child.records = present.records  # only the folder itself differs: nothing to find below
            return child, b""
        return child, entry.address

    def _leaf(
        self, difference: Difference, work: Work, mine: bytes | None, record: bytes, *, doubted: bool
    ) -> None:
        entry = decode(record)
        if mine is not None and identity_part(mine) == identity_part(record):
            if decode(mine).mtime_ns == entry.mtime_ns and not doubted:
                return  # holes alone differ
        else:
            difference.note(work, entry.name, ChangeAction.RESTORED)
        if mine is not None and not doubted and self._adjustable(work, decode(mine), entry):
            work.adjust.append(entry)
            return
        work.write.append(entry)
        if entry.group:
            self._wanted_groups.add(entry.group)
        if work.present is not None:
            self._touched.add((id(work.present), entry.name))

    def _adjustable(self, work: Work, mine: Entry, wanted: Entry) -> bool:
        """Return whether mode, attributes and mtime can be changed in place without affecting another name."""
        if work.present is None or (mine.id, mine.size, mine.target) != (
            wanted.id,
            wanted.size,
            wanted.target,
        ):
            return False
        if self.tree.real and mine.attributes != wanted.attributes:
            return False  # not in one call: someone could find the file in between
        inode, links = inode_and_links(work.present.stats[mine.name])
        return mine.group == wanted.group and links <= self.inside.get(inode, 1)

    def _remove(self, difference: Difference, work: Work, present: Folder, name: str) -> None:
        folder = present.children.get(name)
        if folder is None:
            work.unlink.append(name)
            self._touched.add((id(present), name))
            difference.note(work, name, ChangeAction.REMOVED)
            return
        staying: set[int] = set()
        for each in reversed(folder.walk()):
            stays = self._is_guarded(each) or any(id(child) in staying for child in each.children.values())
            names = tuple(name for name in each.records if name not in each.children)
            work.clear.append(Clearing(each, names, goes=not stays))
            if stays:
                staying.add(id(each))
            elif each.parent is not None:
                difference.note(each.parent, each.name, ChangeAction.REMOVED)
            for name in names:
                self._touched.add((id(each), name))
                difference.note(each, name, ChangeAction.REMOVED)

    def _is_guarded(self, folder: Folder) -> bool:
        """Return whether it holds something that must stay, other than what earlier removals take out."""
        if not folder.guarded or folder.unheld or not self.tree.leaving:
            return folder.guarded
        path = path_of(folder.parent, folder.name) if folder.parent is not None else "."
        others = set(os.listdir(self.tree.path / path)) - folder.records.keys()
        return not {f"{path}/{name}" for name in others} <= self.tree.leaving

    def _find_kept_links(self, difference: Difference, present: Folder) -> None:
        if not self._wanted_groups:
            return
        for folder in present.walk_unsealed():
            for name, group in folder.groups.items():
                if group in self._wanted_groups and (id(folder), name) not in self._touched:
                    difference.kept_links.setdefault(group, (folder, name))


def _identity(record: bytes | None) -> bytes | None:
    return None if record is None else identity_part(record)


def _blocked(work: Work, name: str, reason: str) -> RestoreFailed:
    return RestoreFailed(
        path=path_of(work, name),
        reason=f"the snapshot has something there, but {reason}",
        hint="move it away or make it readable, then try again; nothing was touched",
    )
