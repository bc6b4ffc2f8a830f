"""Restoring: carry out a difference, touching only what differs.

First everything new is written into a room of the store, each object proved by its hash: damage and a full
disk show before the tree is touched. Then the tree is changed by unlink, mkdir, rename and link alone, every
one relative to an open folder that was reached without following a symlink. Folders get their modes and
mtimes last, children before parents. Nothing is recorded on the way: cut off anywhere, the next restore
compares again and does the rest.
"""

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import Lock

from mulligan.adapters.snapshots.contents import read_attributes, write_attributes, write_file
from mulligan.adapters.snapshots.difference import Clearing, Difference, Work
from mulligan.adapters.snapshots.durable import make_private_folder, sync_filesystem
from mulligan.adapters.snapshots.folder import Folder
from mulligan.adapters.snapshots.objects import Objects
from mulligan.adapters.snapshots.places import FOLDER_FLAGS, Folders, Place, path_of
from mulligan.adapters.snapshots.rooms import Rooms
from mulligan.adapters.snapshots.scan import Witness
from mulligan.adapters.snapshots.settled import settled_tree
from mulligan.adapters.snapshots.trees import Entry, EntryKind
from mulligan.boundaries import act
from mulligan.domain.placement import spare_name
from mulligan.errors import RestoreFailed
from mulligan.ports import Observer, WorkingTree

_PROGRESS_EVERY = 50  # files
_MANY = 500  # files
_turn = Lock()
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPENED_UP = 0o300  # what a folder's owner needs to change what is in it


class Restoring:
    """One restore of one tree."""

    def __init__(
        self,
        tree: WorkingTree,
        difference: Difference,
        objects: Objects,
        rooms: Rooms,
        witness: Witness,
        observer: Observer,
    ) -> None:
        self._tree = tree
        self._difference = difference
        self._objects = objects
        self._rooms = rooms
        self._witness = witness
        self._observer = observer
        self._staged: dict[tuple[int, str], str] = {}  # folder and name -> name in the room
        self._links: dict[bytes, tuple[Place, str]] = dict(difference.kept_links)
        self._at = "."  # what is being worked on, for the message of an error
        self.files_written = 0
        self.bytes_written = 0

    def run(self, now_ns: Callable[[], int]) -> Folder:
        """Do it; gives the tree as it is now known."""
        works = self._difference.works
        with self._failing(), _in_turn(works), self._rooms.room() as room:
            room_fd = os.open(room, FOLDER_FLAGS)
            try:
                self._stage(works, room_fd)
                if self._tree.real and self._staged:
                    with act("restore.stage_sync"):
                        sync_filesystem(room_fd)  # what is renamed over a user's file has its bytes on disk
                self._change_tree(works, room_fd)
            finally:
                os.close(room_fd)
        self._witness.catch_up()
        with Folders(self._tree.path) as folders:
            return settled_tree(self._difference, folders, now_ns(), self._witness)

    @contextmanager
    def _failing(self) -> Generator[None]:
        try:
            yield
        except OSError as exc:
            path = str(self._tree.path / self._at)
            raise RestoreFailed(path=path, reason=exc.strerror or str(exc)) from exc

    # --- into the room --------------------------------------------------------------------------------------

    def _stage(self, works: list[Work], room_fd: int) -> None:
        total = sum(len(work.write) for work in works)
        groups = set(self._links)
        for work in works:
            for entry in work.write:
                self._at = path_of(work, entry.name)
                if entry.group in groups:
                    continue  # becomes a link to a name that is there by then
                if entry.group:
                    groups.add(entry.group)
                name = str(len(self._staged))
                with act("restore.stage"):
                    self._write_new(room_fd, name, entry)
                self._staged[id(work), entry.name] = name
                self.files_written += 1
                self.bytes_written += entry.size
                if self.files_written % _PROGRESS_EVERY == 0:
                    self._observer.progress("files restored", self.files_written, total)

    def _write_new(self, folder_fd: int, name: str, entry: Entry) -> None:
        """Write a file or symlink under a name that is free, exactly as the entry says."""
        times = (entry.mtime_ns, entry.mtime_ns)
        if entry.kind is EntryKind.SYMLINK:
            os.symlink(os.fsdecode(entry.target), name, dir_fd=folder_fd)
            os.utime(name, ns=times, dir_fd=folder_fd, follow_symlinks=False)
            return
        fd = os.open(name, _NEW_FILE, 0o600, dir_fd=folder_fd)
        try:
            write_file(fd, entry, self._objects.read, self._told)
            if entry.attributes:
                write_attributes(fd, entry.attributes)
            os.fchmod(fd, entry.mode)  # after writing, which would take setuid away
            os.utime(fd, ns=times)
        finally:
            os.close(fd)

    def _told(self, name: str, done: int, size: int) -> None:
        self._observer.progress(f"bytes of {name} restored", done, size)

    # --- into the tree --------------------------------------------------------------------------------------

    def _change_tree(self, works: list[Work], room_fd: int) -> None:
        make_private_folder(self._tree.path.parent)
        with Folders(self._tree.path) as folders:
            for number, work in enumerate(works):
                self._remove(folders, work)
                self._observer.progress("folders cleared", number, len(works))
            for number, work in enumerate(works):
                self._fill(folders, work, room_fd)
                self._observer.progress("folders filled", number, len(works))
            for work in reversed(works):
                with act("restore.finish"):
                    self._finish(folders, work)
            self._at = "."
            with act("restore.sync"):
                sync_filesystem(folders.fd(works[0]))

    def _remove(self, folders: Folders, work: Work) -> None:
        for clearing in work.clear:
            self._clear(folders, clearing)
        if work.unlink:
            fd = _open_up(folders, work)
            for name in work.unlink:
                self._at = path_of(work, name)
                with act("restore.remove"):
                    os.unlink(name, dir_fd=fd)

    def _clear(self, folders: Folders, clearing: Clearing) -> None:
        folder = clearing.folder
        if clearing.names:
            fd = folders.fd(folder)
            mode = stat.S_IMODE(os.fstat(fd).st_mode)
            _open_up(folders, folder)
            for name in clearing.names:
                self._at = path_of(folder, name)
                with act("restore.remove"):
                    os.unlink(name, dir_fd=fd)
            if not clearing.goes:
                os.fchmod(fd, mode)
        if clearing.goes and folder.parent is not None:
            self._at = path_of(folder.parent, folder.name)
            folders.close(folder)
            with act("restore.remove"):
                os.rmdir(folder.name, dir_fd=_open_up(folders, folder.parent))

    def _fill(self, folders: Folders, work: Work, room_fd: int) -> None:
        for child in work.children:
            if child.present is None:
                self._at = path_of(work, child.name)
                name = folders.own_name(work, child.name)
                fd = _open_up(folders, work)
                with act("restore.make_folder"):
                    os.mkdir(name, 0o700, dir_fd=fd)
                if self._tree.real:
                    _hand_over(fd, name, os.fstat(fd))
        for entry in work.write:
            self._at = path_of(work, entry.name)
            self._place(folders, work, entry, room_fd)
        for entry in work.adjust:
            self._at = path_of(work, entry.name)
            with act("restore.adjust"):
                _adjust(folders.fd(work), entry)

    def _place(self, folders: Folders, work: Work, entry: Entry, room_fd: int) -> None:
        """Put a file or symlink where it belongs, in one move over what is there."""
        fd = _open_up(folders, work)
        staged = self._staged.get((id(work), entry.name))
        if staged is not None and self._tree.real:
            _hand_over(room_fd, staged, _owner(fd, entry.name))
        if staged is None:
            self._link(folders, work, entry)
            return
        try:
            with act("restore.place"):
                os.rename(staged, entry.name, src_dir_fd=room_fd, dst_dir_fd=fd)
        except OSError as exc:
            if exc.errno != errno.EXDEV:
                raise
            with _spare_name(fd) as spare:  # the tree is on another filesystem than the store
                self._write_new(fd, spare, entry)
                with act("restore.place"):
                    if self._tree.real:
                        sync_filesystem(fd)
                    os.rename(spare, entry.name, src_dir_fd=fd, dst_dir_fd=fd)
        if entry.group:
            self._links.setdefault(entry.group, (work, entry.name))

    def _link(self, folders: Folders, work: Work, entry: Entry) -> None:
        place, name = self._links[entry.group]
        source = os.dup(folders.fd(place))  # of our own: opening the other folder may close this one
        try:
            target = _open_up(folders, work)
            with _spare_name(target) as spare, act("restore.link"):
                os.link(name, spare, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
                os.rename(spare, entry.name, src_dir_fd=target, dst_dir_fd=target)
        finally:
            os.close(source)

    def _finish(self, folders: Folders, work: Work) -> None:
        """Give a folder its own mode, attributes and mtime."""
        target = work.target
        if target is None:
            return
        self._at = path_of(work.parent or work, work.name)
        fd = folders.fd(work)
        if read_attributes(fd) != target.attributes:
            os.fchmod(fd, 0o700)  # attributes of a folder that is read-only cannot be written
            write_attributes(fd, target.attributes)
        st = os.fstat(fd)
        if stat.S_IMODE(st.st_mode) != target.mode:
            os.fchmod(fd, target.mode)
        if st.st_mtime_ns != target.mtime_ns:
            os.utime(fd, ns=(target.mtime_ns, target.mtime_ns))


def _in_turn(works: list[Work]) -> AbstractContextManager[object]:
    """Let many files be written by one thread at a time: two that share Python and a disk take longer together."""
    return _turn if sum(len(work.write) for work in works) >= _MANY else nullcontext()


def _open_up(folders: Folders, place: Place) -> int:
    """The descriptor of a folder whose entries can be changed now; its own mode comes back at the end."""
    fd = folders.fd(place)
    if place.parent is not None:  # the folder around the tree is not ours to change
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if mode & _OPENED_UP != _OPENED_UP:
            os.fchmod(fd, mode | 0o700)
    return fd


def _owner(folder_fd: int, name: str) -> os.stat_result:
    """Who owns what stands under a name, or the folder where nothing does."""
    try:
        return os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return os.fstat(folder_fd)


def _hand_over(folder_fd: int, name: str, owner: os.stat_result) -> None:
    """Give something new to the owner of what it replaces: root may be restoring what others own."""
    new = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    if (new.st_uid, new.st_gid) == (owner.st_uid, owner.st_gid) or os.geteuid() != 0:
        return
    os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder_fd, follow_symlinks=False)
    if not stat.S_ISLNK(new.st_mode):
        os.chmod(name, stat.S_IMODE(new.st_mode), dir_fd=folder_fd)  # setuid goes with a change of owner


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


@contextmanager
def _spare_name(folder_fd: int) -> Generator[str]:
    """A name for a moment; the next restore removes it should this process be killed."""
    name = spare_name(os.urandom(8))
    try:
        yield name
    finally:
        with suppress(FileNotFoundError):  # it was moved to its place
            os.unlink(name, dir_fd=folder_fd)
