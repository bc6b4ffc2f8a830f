"""Restoring: carry out a difference, touching only what differs.

First everything new is written into a place of the store's own, each object proved by its hash: damage and a full
disk show before the tree is touched. Then the tree is changed name by name, every one relative to an open folder
that was reached without following a symlink: blindly where the tree is ours (private_tree.py), and comparing
whatever is taken out where it is a user's (real_tree.py). Folders get their modes and mtimes last, children before
parents. Cut off anywhere, the next restore compares again and does the rest.
"""

import os
import stat
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from threading import Lock

from msgspec import Struct

from mulligan.adapters.snapshots.capture.file_contents import read_attributes, write_attributes, write_entry
from mulligan.adapters.snapshots.format.tree_format import Entry, EntryKind
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.adapters.snapshots.restore.asides import Asides
from mulligan.adapters.snapshots.restore.known_tree import KnownTree
from mulligan.adapters.snapshots.restore.post_restore import settled_tree
from mulligan.adapters.snapshots.restore.private_tree import PrivateTree, private_tree
from mulligan.adapters.snapshots.restore.real_tree import RealTree, real_tree
from mulligan.adapters.snapshots.restore.restore_plan import Clearing, Difference, Work
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.scan import Witness
from mulligan.boundaries import act
from mulligan.errors import RestoreFailed
from mulligan.osfiles.directory_handles import Folders, Place, path_of
from mulligan.osfiles.folders import make_private_folder
from mulligan.osfiles.tempdirs import Rooms
from mulligan.ports import Observer, WorkingTree

_PROGRESS_EVERY = 50  # files
_MANY = 500  # files
_turn = Lock()


class Restoring(Struct, eq=False):
    """One restore of one tree."""

    tree: WorkingTree
    difference: Difference
    objects: Objects
    rooms: Rooms
    asides: Asides
    # What a real tree may hold for a path to be touched; None: what the difference found.
    known: KnownTree | None
    witness: Witness
    observer: Observer
    files_written: int = 0
    bytes_written: int = 0
    _links: dict[bytes, tuple[Place, str]] = {}
    _at: str = "."  # what is being worked on, for the message of an error

    def run(self, now_ns: Callable[[], int]) -> Folder:
        works = self.difference.works
        self._links = dict(self.difference.kept_links)
        with Folders(self.tree.path) as folders:
            with (
                failing(lambda: self.tree.path / self._at),
                in_turn(sum(len(work.write) for work in works)),
                self._names(folders) as names,
            ):
                self._stage(works, names)
                names.begin(self.difference)
                self._change_tree(works, folders, names)
            self.witness.catch_up()
        with Folders(self.tree.path) as folders:
            return settled_tree(self.difference, folders, now_ns(), self.witness, sure=not self.tree.real)

    def _names(self, folders: Folders) -> AbstractContextManager[PrivateTree | RealTree]:
        if self.tree.real:
            return real_tree(self.tree.path, folders, self.asides, self.known, self._write_new)
        return private_tree(self.tree.path, folders, self.rooms, self._write_new)

    # --- into the room --------------------------------------------------------------------------------------

    def _stage(self, works: list[Work], names: PrivateTree | RealTree) -> None:
        total = sum(len(work.write) for work in works)
        groups = set(self._links)
        for work in works:
            for entry in work.write:
                self._at = path_of(work, entry.name)
                if entry.group in groups:
                    continue  # becomes a link to a name that is there by then
                if entry.group:
                    groups.add(entry.group)
                names.stage(work, entry)
                self.files_written += 1
                self.bytes_written += entry.size
                if self.files_written % _PROGRESS_EVERY == 0:
                    self.observer.progress("files restored", self.files_written, total)

    def _write_new(self, folder_fd: int, name: str, entry: Entry) -> None:
        write_entry(folder_fd, name, entry, self.objects.read, self._told)

    def _told(self, name: str, done: int, size: int) -> None:
        self.observer.progress(f"bytes of {name} restored", done, size)

    # --- into the tree --------------------------------------------------------------------------------------

    def _change_tree(self, works: list[Work], folders: Folders, names: PrivateTree | RealTree) -> None:
        make_private_folder(self.tree.path.parent)
        for number, work in enumerate(works):
            self._remove(folders, work, names)
            self.observer.progress("folders cleared", number, len(works))
        for number, work in enumerate(works):
            self._fill(folders, work, names)
            self.observer.progress("folders filled", number, len(works))
        names.end()  # while folders are open to their owner: what others wrote can still go back
        for work in reversed(works):
            with act("restore.finish"):
                self._finish(folders, work, names)
        self._at = "."
        with act("restore.sync"):
            names.sync()

    def _remove(self, folders: Folders, work: Work, names: PrivateTree | RealTree) -> None:
        for clearing in work.clear:
            self._clear(folders, clearing, names)
        for name in work.unlink:
            self._at = path_of(work, name)
            names.remove(work, name)

    def _clear(self, folders: Folders, clearing: Clearing, names: PrivateTree | RealTree) -> None:
        folder = clearing.folder
        if clearing.names:
            mode = stat.S_IMODE(os.fstat(folders.fd(folder)).st_mode)
            for name in clearing.names:
                self._at = path_of(folder, name)
                names.remove(folder, name)
            if not clearing.goes:
                os.fchmod(folders.fd(folder), mode)
        if clearing.goes and folder.parent is not None:
            self._at = path_of(folder.parent, folder.name)
            folders.close(folder)
            names.remove_folder(folder.parent, folder.name)

    def _fill(self, folders: Folders, work: Work, names: PrivateTree | RealTree) -> None:
        for child in work.children:
            if child.present is None:
                self._at = path_of(work, child.name)
                names.make_folder(work, folders.own_name(work, child.name))
        for entry in work.write:
            self._at = path_of(work, entry.name)
            self._place(work, entry, names)
        for entry in work.adjust:
            self._at = path_of(work, entry.name)
            names.check_adjusted(work, entry)
            with act("restore.adjust"):
                _adjust(folders.fd(work), entry)

    def _place(self, work: Work, entry: Entry, names: PrivateTree | RealTree) -> None:
        if not names.is_staged(work, entry):
            names.add_name(self._links[entry.group], work, entry)
            return
        names.place(work, entry)
        if entry.group:
            self._links.setdefault(entry.group, (work, entry.name))

    def _finish(self, folders: Folders, work: Work, names: PrivateTree | RealTree) -> None:
        """Give a folder its own mode, attributes and mtime."""
        target = work.target
        if target is None:
            return
        self._at = path_of(work.parent or work, work.name)
        fd = folders.fd(work)
        present = read_attributes(fd)
        mode, attributes = names.finish(work, target, os.fstat(fd), present)
        if present != attributes:
            os.fchmod(fd, 0o700)  # attributes of a folder that is read-only cannot be written
            write_attributes(fd, attributes)
        st = os.fstat(fd)
        if stat.S_IMODE(st.st_mode) != mode:
            os.fchmod(fd, mode)
        if st.st_mtime_ns != target.mtime_ns:
            os.utime(fd, ns=(target.mtime_ns, target.mtime_ns))


def in_turn(files: int) -> AbstractContextManager[object]:
    """Let many files be written by one thread at a time: two that share Python and a disk take longer together."""
    return _turn if files >= _MANY else nullcontext()


@contextmanager
def failing(place: Callable[[], Path]) -> Generator[None]:
    """Report what the system refuses, with the place that is worked on."""
    try:
        yield
    except OSError as exc:
        raise RestoreFailed(path=str(place()), reason=exc.strerror or str(exc)) from exc


def _adjust(folder_fd: int, entry: Entry) -> None:
    """Change mode, attributes and mtime of a file or symlink that is otherwise as it should be."""
    times = (entry.mtime_ns, entry.mtime_ns)
    if entry.kind is EntryKind.SYMLINK:
        os.utime(entry.name, ns=times, dir_fd=folder_fd, follow_symlinks=False)
        return
    fd = os.open(entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder_fd)
    try:
        if read_attributes(fd) != entry.attributes:
            os.fchmod(fd, 0o600)
            write_attributes(fd, entry.attributes)
        os.fchmod(fd, entry.mode)
        os.utime(fd, ns=times)
    finally:
        os.close(fd)
