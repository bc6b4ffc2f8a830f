"""Creation: a tree that is not there yet is written in place, without a stage, since nobody has seen it.

Cut off anywhere it leaves a tree in between, which the next restore completes or which is removed. Where a tree is
known that has the same files, such as the folder that was captured just now or the sandbox of a parent plan, their
contents are copied from there, or shared with it where the filesystem can. A file is copied only if its signature, with
inode and change time, is what is known of it both before and afterwards; all else is read from the store.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.snapshots.capture.file_contents import write_attributes, write_entry
from mulligan.adapters.snapshots.format.signatures import Listing, inodes_in, listing_of
from mulligan.adapters.snapshots.format.tree_format import (
    Entry,
    EntryKind,
    address_of,
    decode,
    is_plain_file,
    kind_of,
    split_root,
)
from mulligan.adapters.snapshots.new_trees import c_copy, file_copy
from mulligan.adapters.snapshots.new_trees.c_copy import Known
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.adapters.snapshots.restore.collisions import refuse_collisions
from mulligan.adapters.snapshots.restore.post_restore import settled_tree
from mulligan.adapters.snapshots.restore.restore_plan import Difference, Work
from mulligan.adapters.snapshots.restore.restorer import failing, in_turn
from mulligan.adapters.snapshots.scan.exclusions import NOTHING, Exclusions, exclusions_of
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.memory_maps import shared_writable_maps
from mulligan.adapters.snapshots.scan.scan import Witness
from mulligan.adapters.snapshots.trees.stored_diff import FolderReader
from mulligan.boundaries import act
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.osfiles.directory_handles import FOLDER_FLAGS, Folders, Place, path_of
from mulligan.osfiles.folders import make_private_folder, sync_filesystem
from mulligan.ports import Observer, WorkingTree

_BATCH = 2_000  # names in the folders that are made in one go: between two, the plan may turn out to be lost
_FEW = 64  # files that are written from the store faster than it is found out who has them mapped
_PROGRESS_EVERY = 50  # files
_NO_FILES = Listing(b"", b"")


class Source(Struct, frozen=True, eq=False):
    """A tree on the disk, and what is known of it."""

    path: Path
    top: Folder


class Creation(Struct, eq=False):
    """One new tree."""

    snapshot: Snapshot
    tree: WorkingTree
    objects: Objects
    folders: FolderReader
    source: Source | None
    observer: Observer
    files_written: int = 0
    bytes_written: int = 0
    _known: dict[int, Listing] = {}  # by the id of a folder to make: what can be copied into it
    _copied: dict[int, Listing] = {}  # the same, where the source's folder is exactly what is to be made
    _links: dict[bytes, tuple[Place, str]] = {}
    _total: int = 0  # files and symlinks
    _at: str = "."  # what is being worked on, for the message of an error

    def run(self, now_ns: Callable[[], int]) -> Folder:
        """Write the tree; return it as it is known then."""
        difference = self._planned()
        refuse_collisions(self.tree, difference)
        works = difference.works[1:]  # without the folder around the tree
        with in_turn(self._total), failing(lambda: self.tree.path / self._at):
            make_private_folder(self.tree.path.parent)
            with act("restore.make_folder"):
                self.tree.path.mkdir(0o700)
            self._copy_all(works)
            with Folders(self.tree.path) as folders:
                for work in works:
                    self._write(folders, work)
                for work in reversed(works):
                    self._finish(folders, work)
                self._at = "."
                with act("restore.sync"):
                    sync_filesystem(folders.fd(works[0]))
        with Folders(self.tree.path) as folders:
            return settled_tree(difference, folders, now_ns(), Witness(), sure=True, copied=self._copied)

    # --- what to do ----------------------------------------------------------------------------------------

    def _planned(self) -> Difference:
        """List the folders to make, parents first, each with what has to be written from the store."""
        address = address_of(self.snapshot.roots[0])
        top = Work("", None, None, None, split_root(address, self.folders.read(address)), NOTHING)
        difference = Difference(top, is_exact=True)
        pending = [(top, self.source.top if self.source else None)]
        while pending:
            work, known = pending.pop()
            difference.works.append(work)
            if work.target is not None:
                address = work.target.address
                # What cannot be held has a record in the snapshot alone.
                is_same = known is not None and known.address == address and not known.unheld
                work.records = known.records if known and is_same else self.folders(address)
            pending.extend(reversed(self._opened(work, known)))
        if sum(listing.held for listing in self._known.values()) < _FEW:
            for work in difference.works:
                self._write_instead(work, self._known.pop(id(work), _NO_FILES).opened())
        return difference

    def _opened(self, work: Work, known: Folder | None) -> list[tuple[Work, Folder | None]]:
        """Note what a folder needs; return the folders in it, each with the one that the source has there."""
        exclusions, is_top = work.exclusions, work.parent is None
        below = exclusions_of(self.tree) if is_top else NOTHING
        opened: list[tuple[Work, Folder | None]] = []
        plain: list[str] = []
        is_odd = False  # has files that cannot be copied as they are
        for name, record in work.records.items():
            if name == PROJECT_HOME or (exclusions and _is_left_out(exclusions, name, record)):
                is_odd = True
            elif known is not None and is_plain_file(record):
                plain.append(name)
            elif (kind := kind_of(record)) is EntryKind.FOLDER:
                if exclusions:
                    below = exclusions.below(name)
                child = Work(name, work, decode(record), None, {}, below)
                work.children.append(child)
                opened.append((child, known.children.get(name) if known else None))
            elif kind is EntryKind.UNHELD:
                is_odd = True
            else:
                is_odd = is_odd or kind is EntryKind.FILE
                work.write.append(decode(record))
        self._total += len(plain) + len(work.write)
        if known is not None and plain:
            same = known.records is work.records and not is_odd and not known.racy
            self._known[id(work)] = known.listing if same else self._listed(work, known, plain)
            if same:
                self._copied[id(work)] = self._known[id(work)]
        return opened

    def _listed(self, work: Work, known: Folder, names: list[str]) -> Listing:
        """Return those of the files that the source has too; the others are to be written."""
        stats, records = known.stats, known.records
        found: dict[str, bytes] = {}
        for name in names:
            if name in stats and name not in known.racy and records.get(name) == work.records[name]:
                found[name] = stats[name]
            else:
                work.write.append(decode(work.records[name]))
        return listing_of(found)

    def _write_instead(self, work: Work, names: Iterable[str]) -> None:
        """Have files written that cannot be copied."""
        records = (work.records[name] for name in names)
        work.write += [decode(record) for record in records if kind_of(record) is EntryKind.FILE]

    # --- files of the source -------------------------------------------------------------------------------

    def _copy_all(self, works: list[Work]) -> None:
        """Make all folders, with the files that the source has."""
        if self._known and self.source is not None:
            self._leave_out_mapped(works, self.source)
        source = os.open(self.source.path, FOLDER_FLAGS) if self._known and self.source else -1
        target = os.open(self.tree.path, FOLDER_FLAGS)
        try:
            for batch in self._batches(works):
                with act("tree.copy"):
                    left = self._copy(source, target, batch)
                for number, name in left:
                    self._write_instead(batch[number], [name])
                self.files_written += sum(self._held(work) for work in batch) - len(left)
                self.observer.progress("files restored", self.files_written, self._total)
        finally:
            os.close(target)
            if source >= 0:
                os.close(source)

    def _leave_out_mapped(self, works: list[Work], source: Source) -> None:
        """Have files written that a process has mapped: it can change them without a trace."""
        mapped = shared_writable_maps().inodes_on(source.path)
        for work in works:
            listing = self._known.get(id(work), _NO_FILES)
            if not mapped.isdisjoint(inodes_in(listing.signatures)):
                self._write_instead(work, listing.opened())
                del self._known[id(work)]

    def _batches(self, works: list[Work]) -> Iterator[list[Work]]:
        """Divide the folders into batches, parents first."""
        batch: list[Work] = []
        size = 0
        for work in works:
            batch.append(work)
            size += 1 + self._held(work)
            if size >= _BATCH:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _held(self, work: Work) -> int:
        return self._known.get(id(work), _NO_FILES).held

    def _copy(self, source: int, target: int, batch: list[Work]) -> list[tuple[int, str]]:
        folders: list[Known] = []
        for work in batch:
            listing = self._known.get(id(work), _NO_FILES)
            folders.append((_names_to(work), listing.names, listing.signatures))
        if c_copy.copy is None:
            return file_copy.copy(source, target, folders)
        try:
            return c_copy.copy(source, target, folders, c_copy.THREADS)
        except OSError as exc:
            self._at = os.fsdecode(exc.filename).replace("\0", "/") or "."
            raise

    # --- the rest ------------------------------------------------------------------------------------------

    def _write(self, folders: Folders, work: Work) -> None:
        for entry in work.write:
            self._at = path_of(work, entry.name)
            if entry.group in self._links:
                self._link(folders, work, entry)
                continue
            with act("tree.write"):
                write_entry(folders.fd(work), entry.name, entry, self.objects.read, self._told)
            if entry.group:
                self._links[entry.group] = (work, entry.name)
            self.files_written += 1
            self.bytes_written += entry.size
            if self.files_written % _PROGRESS_EVERY == 0:
                self.observer.progress("files restored", self.files_written, self._total)

    def _link(self, folders: Folders, work: Work, entry: Entry) -> None:
        place, name = self._links[entry.group]
        source = os.dup(folders.fd(place))  # of our own: opening the other folder may close this one
        try:
            with act("restore.link"):
                os.link(
                    name, entry.name, src_dir_fd=source, dst_dir_fd=folders.fd(work), follow_symlinks=False
                )
        finally:
            os.close(source)

    def _finish(self, folders: Folders, work: Work) -> None:
        """Give a folder its attributes, mode and mtime."""
        target = work.target
        assert target is not None  # only the folder around the tree has none
        self._at = path_of(work.parent or work, work.name)
        fd = folders.fd(work)
        with act("restore.finish"):
            if target.attributes:
                write_attributes(fd, target.attributes)
            os.fchmod(fd, target.mode)
            os.utime(fd, ns=(target.mtime_ns, target.mtime_ns))

    def _told(self, name: str, done: int, size: int) -> None:
        self.observer.progress(f"bytes of {name} restored", done, size)


def _is_left_out(exclusions: Exclusions, name: str, record: bytes) -> bool:
    return exclusions.leave_out(name, is_folder=kind_of(record) is EntryKind.FOLDER)


def _names_to(work: Work) -> bytes:
    """Return the path of a folder from the tree's own, with zero bytes between the names; empty for that one."""
    assert work.parent is not None
    path = path_of(work.parent, work.name)
    return b"" if work.parent.parent is None else os.fsencode(path).replace(b"/", b"\0")
