"""Refreshing: bring what is known of a watched tree up to date by looking at what its watch names."""

import os
import stat
from collections.abc import Callable, Iterable

from msgspec import Struct

from mulligan.adapters.snapshots.capture.entry_reader import Records
from mulligan.adapters.snapshots.capture.full_capture import make_object, renewed
from mulligan.adapters.snapshots.format.signatures import inode_and_links, signature
from mulligan.adapters.snapshots.format.tree_format import ROOT_NAME, decode, encode
from mulligan.adapters.snapshots.scan.exclusions import (
    NOTHING,
    Exclusions,
    exclusions_in,
    exclusions_of,
    left_out_in,
)
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.scan import (
    Gone,
    Scan,
    until_steady,
)
from mulligan.adapters.snapshots.watch.tree_watch import LOST_TREE, Watch, attached
from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.osfiles.directory_handles import Folders, path_of
from mulligan.ports import WorkingTree


class Doubt(Exception):
    """The watch cannot be relied on after all: everything is to be scanned. Its reason says why."""


class Refreshing(Struct, eq=False):
    """One look at what changed. The tree is changed in place; what has no record yet is read last of all."""

    tree: WorkingTree
    top: Folder
    watch: Watch
    records: Records
    touched: dict[Folder, None] = {}  # folders whose objects were made now
    inside: dict[tuple[int, int], int] = {}  # files with several links: how many are in this tree
    _new: list[tuple[Folder, Folder | None]] = []  # folders to enter, and what was known of them
    _exclusions: Exclusions = NOTHING

    def run(self, now_ns: Callable[[], int]) -> Folder:
        """Read the tree; Doubt where only a scan can find out."""
        self._exclusions = exclusions_of(self.tree)
        with Folders(self.tree.path) as folders:
            return until_steady(lambda: self._attempt(folders, now_ns()))

    def _attempt(self, folders: Folders, started_ns: int) -> Folder:
        watch, self._new = self.watch, []
        watch.catch_up()
        self._trust()
        self.records.started_ns = started_ns
        scan = Scan(folders, self._exclusions, started_ns, watch, moves=self.records.moves)
        for folder, names in self._suspects():
            if attached(folder, self.top):  # else it went with a folder above it
                self._look_into(scan, folders, folder, names)
        self._find_other_names(scan, folders)
        self._regroup()
        self._trust()  # entering new folders may have met a limit
        for folder in watch.unstored:
            if attached(folder, self.top):
                self._touch(folder)
        self._resolve(folders)
        return self.top

    def _trust(self) -> None:
        if self.watch.reason:
            raise Doubt

    def _suspects(self) -> list[tuple[Folder, set[str]]]:
        """All that is to be looked at, parents before children."""
        watch = self.watch
        for folder, names in list(watch.shared.items()):
            watch.dirty.setdefault(folder, set()).update(names)
        for folder in list(watch.dirty):
            if folder.parent is not None:  # what happens in a folder changes the folder's own times
                watch.dirty.setdefault(folder.parent, set()).add(folder.name)
        watch.dirty.setdefault(self.top, set()).add(ROOT_NAME)
        return sorted(watch.dirty.items(), key=lambda item: _depth(item[0]))

    # --- looking ---------------------------------------------------------------------------------------------

    def _look_into(self, scan: Scan, folders: Folders, folder: Folder, names: Iterable[str]) -> None:
        excluded = exclusions_in(folder, self._exclusions)
        try:
            fd, doubtful = folders.fd(folder), False
            for name in names:
                if name == PROJECT_HOME or excluded.is_apart(name):
                    doubtful = True
                    folder.racy.discard(name)
                else:
                    # A name that is not known may be something excluded that came, or went.
                    doubtful = doubtful or (bool(excluded) and not _is_held(folder, name))
                    self._look_at(scan, folder, fd, folders.own_name(folder, name), name, excluded)
            if doubtful:
                _look_for_excluded(folder, fd, excluded)
        except (FileNotFoundError, NotADirectoryError) as exc:
            raise Gone(path_of(folder, ".")) from exc
        except OSError as exc:
            self.watch.lost(f"a folder cannot be entered: {exc.strerror}")
            raise Doubt from exc
        while self._new:
            self._enter(scan, *self._new.pop())

    def _look_at(
        self, scan: Scan, folder: Folder, fd: int, own_name: str, name: str, excluded: Exclusions
    ) -> None:
        try:
            st = os.stat(own_name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            if folder is self.top:
                self.watch.lost(LOST_TREE)
                raise Doubt from None
            self._drop(folder, name)
            return
        if excluded.is_matched(name, is_folder=stat.S_ISDIR(st.st_mode)):
            self._drop(folder, name)  # it may have been of another kind, and held
            folder.unseal()
            folder.skipped = True
            return
        old = folder.stats.get(name)
        if stat.S_ISDIR(st.st_mode) and self._is_known_folder(folder, name, old, st):
            if signature(st) != old:
                folder.stats[name] = signature(st)
                self._unknown(folder, name)
        elif stat.S_ISDIR(st.st_mode):
            before = folder.children.get(name)
            self._drop(folder, name)
            scan.note(folder, name, st)
            self._touch(folder)
            self._new.append((folder.children[name], before))
            self.watch.renewed.add((folder, name))  # and stays so should this look be cut off
        else:
            self._look_at_file(scan, folder, name, st, old)
        if name in folder.racy:
            self._unknown(folder, name)

    def _is_known_folder(self, folder: Folder, name: str, old: bytes | None, st: os.stat_result) -> bool:
        """Return whether this is the known folder, with a mode that lets us see the same."""
        if old is None or name not in folder.children or (folder, name) in self.watch.renewed:
            return False
        same = inode_and_links(old)[0] == (st.st_dev, st.st_ino)
        if not same and folder is self.top:
            self.watch.lost(LOST_TREE)
            raise Doubt
        return same and int.from_bytes(old[:4], "little") == st.st_mode

    def _look_at_file(
        self, scan: Scan, folder: Folder, name: str, st: os.stat_result, old: bytes | None
    ) -> None:
        if name in folder.children or not (stat.S_ISREG(st.st_mode) or stat.S_ISLNK(st.st_mode)):
            self._drop(folder, name)
        unheld = folder.unheld.pop(name, None)
        scan.note(folder, name, st)
        if folder.unheld.get(name) != unheld or folder.stats.get(name) != old:
            self._unknown(folder, name)
        if stat.S_ISREG(st.st_mode) and st.st_nlink > 1:
            self.watch.share(folder, name)
        else:
            self.watch.unshare(folder, name)

    def _enter(self, scan: Scan, folder: Folder, before: Folder | None) -> None:
        """Look at all of a new folder; the watch is set before it is listed."""
        scan.list_all(folder, exclusions_in(folder, self._exclusions))
        if not attached(folder, self.top):  # it may not be entered
            self.watch.leave(folder)
            return
        if before is not None:
            _recall(folder, before)
        for each in folder.walk():
            self._touch(each)
        for names in scan.links.values():
            for place, name in names:
                if name in place.stats and attached(place, self.top):
                    self.watch.share(place, name)

    def _drop(self, folder: Folder, name: str) -> None:
        child = folder.children.pop(name, None)
        if child is not None:
            self.watch.leave(child)
        known = folder.stats.pop(name, None), folder.unheld.pop(name, None)
        folder.racy.discard(name)
        folder.groups.pop(name, None)
        self.watch.unshare(folder, name)
        if folder.records.pop(name, None) is not None or known != (None, None):
            self._touch(folder)

    def _unknown(self, folder: Folder, name: str) -> None:
        folder.records.pop(name, None)
        self._touch(folder)

    def _touch(self, folder: Folder) -> None:
        """Have a folder's object made again."""
        folder.unseal()
        folder.address = b""
        self.touched[folder] = None

    # --- files with several names ----------------------------------------------------------------------------

    def _find_other_names(self, scan: Scan, folders: Folders) -> None:
        """Look for names that were the only ones of their files when they were last looked at."""
        watch = self.watch
        links: dict[tuple[int, int], int] = {}
        for folder, names in watch.shared.items():
            for name in names:
                inode, count = inode_and_links(folder.stats[name])
                links[inode] = count
        watch.searched = {inode: n for inode, n in watch.searched.items() if links.get(inode) == n}
        wanted = links.keys() - watch.searched.keys()
        if not wanted:
            return
        watch.searched.update((inode, links[inode]) for inode in wanted)
        for folder in self.top.walk():
            shared = watch.shared.get(folder, set())
            found = [
                name
                for name, packed in folder.stats.items()
                if name not in shared and inode_and_links(packed)[0] in wanted
            ]
            if found:
                watch.dirty.setdefault(folder, set()).update(found)
                self._look_into(scan, folders, folder, found)

    def _regroup(self) -> None:
        """Give names of one file their group, as a scan does."""
        names_of: dict[tuple[int, int], list[tuple[Folder, str]]] = {}
        for folder, names in self.watch.shared.items():
            for name in names:
                names_of.setdefault(inode_and_links(folder.stats[name])[0], []).append((folder, name))
        self.inside = {inode: len(names) for inode, names in names_of.items()}
        groups: dict[Folder, dict[str, bytes]] = {folder: {} for folder in self.watch.grouped}
        for names in names_of.values():
            if len(names) > 1:
                first = min(os.fsencode(path_of(folder, name)) for folder, name in names)
                for folder, name in names:
                    groups.setdefault(folder, {})[name] = first
        for folder, wanted in groups.items():
            for name in folder.groups.keys() | wanted.keys():
                if folder.groups.get(name) != wanted.get(name):
                    self._regrouped(folder, name, wanted.get(name, b""))
            folder.groups = wanted
        self.watch.grouped = {folder for folder, wanted in groups.items() if wanted}

    def _regrouped(self, folder: Folder, name: str, group: bytes) -> None:
        record = folder.records.get(name)
        if record is not None:
            folder.records[name] = encode(decode(record)._replace(group=group))
        if attached(folder, self.top):
            self._touch(folder)

    # --- making objects --------------------------------------------------------------------------------------

    def _resolve(self, folders: Folders) -> None:
        """Make the records that are missing, and the objects of all folders touched, leaves first."""
        for folder in list(self.touched):
            if not attached(folder, self.top):
                del self.touched[folder]
        for folder in list(self.touched):
            parent = folder.parent
            while parent is not None and parent not in self.touched:
                self._touch(parent)
                parent = parent.parent
        for folder in sorted(self.touched, key=_depth, reverse=True):
            for name in [name for name in folder.stats if name not in folder.records]:
                folder.racy.discard(name)  # until it turns out to be as young as before
                record = self.records.make(folders, folder, name)
                if record is not None:
                    folder.records[name] = record
            make_object(folder, self.records)
            parent = folder.parent
            if parent is not None and folder.name in parent.records:
                parent.records[folder.name] = renewed(parent.records[folder.name], folder)


def _recall(folder: Folder, before: Folder) -> None:
    """Take over the records of unchanged files when a folder is listed again."""
    pairs = [(folder, before)]
    for new, old in pairs:
        for name, packed in new.stats.items():
            if old.stats.get(name) == packed and name not in old.racy and name not in old.groups:
                if name in new.children:
                    pairs.append((new.children[name], old.children[name]))
                elif name in old.records:
                    new.records[name] = old.records[name]
                    new.racy.discard(name)


def _depth(folder: Folder) -> int:
    depth = 0
    while folder.parent is not None:
        depth += 1
        folder = folder.parent
    return depth


def _is_held(folder: Folder, name: str) -> bool:
    return name in folder.stats or name in folder.unheld


def _look_for_excluded(folder: Folder, fd: int, excluded: Exclusions) -> None:
    """Find out whether a folder has something excluded in it now."""
    names = os.listdir(fd)
    folder.unseal()
    folder.apart = any(map(excluded.is_apart, names))
    folder.skipped = folder.apart or PROJECT_HOME in names or bool(left_out_in(fd, excluded))
