"""Changes the names of a tree that is mulligan's own: anything in it may go."""

import errno
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.snapshots.format.tree_format import Attributes, Entry
from mulligan.adapters.snapshots.restore.restore_plan import Difference, Work
from mulligan.boundaries import act
from mulligan.domain.resources.placement import spare_name
from mulligan.osfiles.directory_handles import FOLDER_FLAGS, Folders, Place
from mulligan.osfiles.folders import sync_filesystem
from mulligan.osfiles.tempdirs import Rooms

Write = Callable[[int, str, Entry], None]  # write an entry under a name that is free in an open folder


class PrivateTree(Struct, eq=False):
    """The names of one tree of ours."""

    tree: Path
    folders: Folders
    room_fd: int  # of the folder to stage in
    write: Write
    _staged: dict[tuple[int, str], str] = {}  # folder and name -> name in the room

    def stage(self, work: Work, entry: Entry) -> None:
        name = str(len(self._staged))
        with act("restore.stage"):
            self.write(self.room_fd, name, entry)
        self._staged[id(work), entry.name] = name

    def is_staged(self, work: Work, entry: Entry) -> bool:
        """Return whether this was written; otherwise it is another name of a file."""
        return (id(work), entry.name) in self._staged

    def begin(self, difference: Difference) -> None:
        """Nothing more is needed: the next restore completes what is cut off."""

    def remove(self, place: Place, name: str) -> None:
        fd = self.folders.open_up(place)
        with act("restore.remove"):
            os.unlink(name, dir_fd=fd)

    def remove_folder(self, parent: Place, name: str) -> None:
        with act("restore.remove"):
            os.rmdir(name, dir_fd=self.folders.open_up(parent))

    def make_folder(self, parent: Place, name: str) -> None:
        fd = self.folders.open_up(parent)
        with act("restore.make_folder"):
            os.mkdir(name, 0o700, dir_fd=fd)

    def place(self, work: Work, entry: Entry) -> None:
        fd = self.folders.open_up(work)
        staged = self._staged[id(work), entry.name]
        try:
            with act("restore.place"):
                os.rename(staged, entry.name, src_dir_fd=self.room_fd, dst_dir_fd=fd)
        except OSError as exc:
            if exc.errno != errno.EXDEV:
                raise
            with _spare_name(fd) as spare:  # the tree is on another filesystem than the store
                self.write(fd, spare, entry)
                with act("restore.place"):
                    os.rename(spare, entry.name, src_dir_fd=fd, dst_dir_fd=fd)

    def add_name(self, source: tuple[Place, str], work: Work, entry: Entry) -> None:
        """Add a name to a file, over the existing one."""
        place, name = source
        source_fd = os.dup(self.folders.fd(place))  # of our own: opening the other folder may close this one
        try:
            target = self.folders.open_up(work)
            with _spare_name(target) as spare, act("restore.link"):
                os.link(name, spare, src_dir_fd=source_fd, dst_dir_fd=target, follow_symlinks=False)
                os.rename(spare, entry.name, src_dir_fd=target, dst_dir_fd=target)
        finally:
            os.close(source_fd)

    def check_adjusted(self, work: Work, entry: Entry) -> None:
        """Adjust whatever is there."""

    def finish(
        self, work: Work, target: Entry, st: os.stat_result, attributes: Attributes
    ) -> tuple[int, Attributes]:
        return target.mode, target.attributes

    def sync(self) -> None:
        fd = os.open(self.tree, FOLDER_FLAGS)
        try:
            sync_filesystem(fd)
        finally:
            os.close(fd)

    def end(self) -> None:
        """Nothing is left to compare."""


@contextmanager
def private_tree(tree: Path, folders: Folders, rooms: Rooms, write: Write) -> Generator[PrivateTree]:
    """Work on a tree of ours, with a room for what is staged."""
    with rooms.room() as room:
        room_fd = os.open(room, FOLDER_FLAGS)
        try:
            yield PrivateTree(tree, folders, room_fd, write)
        finally:
            os.close(room_fd)


@contextmanager
def _spare_name(folder_fd: int) -> Generator[str]:
    """A name for a moment; the next restore removes it should this process be killed."""
    name = spare_name(os.urandom(8))
    try:
        yield name
    finally:
        with suppress(FileNotFoundError):  # it was moved to its place
            os.unlink(name, dir_fd=folder_fd)
