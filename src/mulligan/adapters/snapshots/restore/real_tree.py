"""Changes the names of a user's tree: nothing is replaced or removed that is not what the restore expects there.

Before the first change the restore refuses paths that hold something unknown and files that are open for writing. From
then on every name is exchanged or moved into an aside and compared there (aside.py). A difference goes back to its
place, and the restore stops with `TreeChanged`.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.adapters.snapshots.capture.file_contents import store_file
from mulligan.adapters.snapshots.format.signatures import inode_and_links, signature
from mulligan.adapters.snapshots.format.tree_format import Attributes, Entry, EntryKind, decode
from mulligan.adapters.snapshots.packs.sinks import HashingSink
from mulligan.adapters.snapshots.restore.aside import Aside, Foreign, Noted, is_same_file
from mulligan.adapters.snapshots.restore.asides import Asides
from mulligan.adapters.snapshots.restore.known_tree import KnownTree, foreign_paths, replaced, touched
from mulligan.adapters.snapshots.restore.open_files import is_open_for_writing, refuse_open
from mulligan.adapters.snapshots.restore.private_tree import Write
from mulligan.adapters.snapshots.restore.restore_plan import Difference, Work
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.scan import Gone
from mulligan.boundaries import act
from mulligan.errors import TreeChanged
from mulligan.osfiles.directory_handles import FOLDER_FLAGS, Folders, Place, path_of
from mulligan.osfiles.folders import sync_filesystem

_OPENED = 0o700  # what a folder has while it is worked in
_NOWHERE = Folder("", None)


class RealTree(Struct, eq=False):
    """The names of one tree of the user's, for the time of one restore."""

    tree: Path
    folders: Folders
    aside: Aside
    known: KnownTree | None  # what may be replaced; None: what the restore itself found
    write: Write
    _places: dict[int, str] = {}  # device -> the folder of the aside for it
    _count: int = 0
    _removals: dict[tuple[int, str], Noted] = {}  # by folder and name
    _placements: dict[tuple[int, str], Noted] = {}
    _staged: set[tuple[int, str]] = set()
    _found: dict[tuple[int, str], Folder] = {}  # names that are replaced, removed or adjusted
    _works: list[Work] = []  # the folders that are worked in
    _groups: dict[bytes, str] = {}  # hard-link group -> signature of the file that they share

    # --- before the first change ----------------------------------------------------------------------------

    def stage(self, work: Work, entry: Entry) -> None:
        """Write a file or symlink into the aside."""
        noted = self._new(work, entry.name)
        fd = self.aside.folder(noted.folder)
        with act("restore.stage"):
            self.write(fd, str(noted.number), entry)
        ours = signature(os.stat(str(noted.number), dir_fd=fd, follow_symlinks=False)).hex()
        self._placements[id(work), entry.name] = replace(noted, ours=ours)
        self._staged.add((id(work), entry.name))
        if entry.group:
            self._groups.setdefault(entry.group, ours)

    def is_staged(self, work: Work, entry: Entry) -> bool:
        """Return whether this was written; otherwise it is another name of a file."""
        return (id(work), entry.name) in self._staged

    def begin(self, difference: Difference) -> None:
        """Refuse what is not as expected, write down what is about to happen, and make that durable."""
        if self.known is not None and (foreign := foreign_paths(difference, self.known)):
            raise self._changed(foreign)
        self._works = difference.works
        for place, folder, name in touched(difference):
            self._found[id(place), name] = folder
        for group, (place, name) in difference.kept_links.items():
            if isinstance(place, Folder):
                self._groups[group] = place.stats[name].hex()
        self._refuse_open(difference)
        self._note_all(difference)
        if notes := [*self._removals.values(), *self._placements.values()]:
            self.aside.note(*notes)
            with act("restore.stage_sync"):  # what is renamed over a user's file has its bytes on disk
                for folder in {"", *self._places.values()}:
                    sync_filesystem(self.aside.folder(folder))

    def _refuse_open(self, difference: Difference) -> None:
        open_ones = [
            self.tree / path_of(place, name)
            for place, folder, name in touched(difference)
            if _is_file(folder.stats[name]) and self._is_open(place, name)
        ]
        refuse_open(open_ones)

    def _is_open(self, place: Place, name: str) -> bool:
        probe = self.aside.folder(self._folder_for(place))
        return is_open_for_writing(self.folders.fd(place), name, probe)

    def _note_all(self, difference: Difference) -> None:
        for work in difference.works:
            for clearing in work.clear:
                for name in clearing.names:
                    self._removals[id(clearing.folder), name] = self._expecting(clearing.folder, name)
            for name in work.unlink:
                self._removals[id(work), name] = self._expecting(work, name)
            here = set(replaced(work))
            for entry in work.write:
                key = id(work), entry.name
                noted = self._placements.get(key)
                if noted is None:  # it becomes another name of a file
                    noted = replace(self._new(work, entry.name), ours=self._groups[entry.group])
                if entry.name in here:
                    expecting = self._expecting(work, entry.name)
                    noted = replace(noted, expected=expecting.expected, record=expecting.record)
                self._placements[key] = noted

    def _expecting(self, place: Place, name: str) -> Noted:
        folder = self._found[id(place), name]
        expected, record = folder.stats[name].hex(), folder.records[name].hex()
        return replace(self._new(place, name), expected=expected, record=record)

    def _new(self, place: Place, name: str) -> Noted:
        self._count += 1
        return Noted(number=self._count, path=path_of(place, name), folder=self._folder_for(place))

    def _folder_for(self, place: Place) -> str:
        """Return the staging folder for a folder: the aside, or the tree where that is on another filesystem."""
        step: Place = place
        while isinstance(step, Work) and step.present is None and step.parent is not None:
            step = step.parent  # it is yet to be made
        fd = self.folders.fd(step)
        device = os.fstat(fd).st_dev
        if not self._places:
            self._places[os.fstat(self.aside.folder("")).st_dev] = ""
        if device not in self._places:
            self._places[device] = self._in_tree(step)
        return self._places[device]

    def _in_tree(self, place: Place) -> str:
        inside = path_of(place.parent, place.name) if place.parent is not None else "."
        if place.parent is None:  # the tree itself is missing: beside it nothing may be made
            return ""
        return self.aside.folder_in_tree(inside, self.folders.open_up(place))

    # --- changes --------------------------------------------------------------------------------------------

    def remove(self, place: Place, name: str) -> None:
        """Take a file or symlink out of the tree."""
        noted = self._removals[id(place), name]
        with self._stopping(noted.path):
            fd = self.folders.open_up(place)
            self._look_again(fd, place, name)
            try:
                self._remove(noted, fd, place, name)
            except OSError as exc:
                self._remove(self._noted_beside(noted, place, exc), fd, place, name)

    def _remove(self, noted: Noted, fd: int, place: Place, name: str) -> None:
        with act("restore.remove"):
            self.aside.remove(noted, fd, name, holds)

    def remove_folder(self, parent: Place, name: str) -> None:
        """Remove a folder; what someone put into it meanwhile keeps it."""
        with self._stopping(path_of(parent, name)):
            try:
                with act("restore.remove"):
                    os.rmdir(name, dir_fd=self.folders.open_up(parent))
            except OSError as exc:
                if exc.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
                    raise Foreign from exc
                raise

    def make_folder(self, parent: Place, name: str) -> None:
        """Make a folder for the owner of the one around it."""
        fd = self.folders.open_up(parent)
        with self._stopping(path_of(parent, name)):
            try:
                with act("restore.make_folder"):
                    os.mkdir(name, 0o700, dir_fd=fd)
            except FileExistsError as exc:
                raise Foreign from exc
            hand_over(fd, name, os.fstat(fd))

    def place(self, work: Work, entry: Entry) -> None:
        """Put what was staged where it belongs: in the place of what is expected there, or under a free name."""
        noted = self._placements[id(work), entry.name]
        with self._stopping(noted.path):
            fd = self.folders.open_up(work)
            hand_over(self.aside.folder(noted.folder), str(noted.number), _owner(fd, entry.name))
            try:
                self._put(noted, fd, work, entry)
            except OSError as exc:
                self._put(self._staged_beside(noted, work, entry, exc), fd, work, entry)

    def add_name(self, source: tuple[Place, str], work: Work, entry: Entry) -> None:
        """Give a file of the tree another name, as `place` does."""
        noted = self._placements[id(work), entry.name]
        place, name = source
        source_fd = os.dup(self.folders.fd(place))  # of our own: opening the other folder may close this one
        try:
            with self._stopping(noted.path):
                here, number = self.aside.folder(noted.folder), str(noted.number)
                try:
                    with act("restore.link"):
                        os.link(name, number, src_dir_fd=source_fd, dst_dir_fd=here, follow_symlinks=False)
                except FileNotFoundError as exc:
                    raise Foreign from exc
                ours = signature(os.stat(number, dir_fd=here, follow_symlinks=False))
                if not is_same_file(bytes.fromhex(noted.ours), ours):
                    os.unlink(number, dir_fd=here)
                    raise Foreign  # someone changed or replaced the file that it is to be a name of
                self._put(noted, self.folders.open_up(work), work, entry)
        finally:
            os.close(source_fd)

    def _put(self, noted: Noted, fd: int, work: Work, entry: Entry) -> None:
        with act("restore.place"):
            if noted.expected:
                self._look_again(fd, work, entry.name)
                self.aside.replace(noted, fd, entry.name, holds)
            else:
                self.aside.place(noted, fd, entry.name)

    def check_adjusted(self, work: Work, entry: Entry) -> None:
        """Refuse to adjust what is not as expected."""
        with self._stopping(path_of(work, entry.name)):
            self._look_again(self.folders.fd(work), work, entry.name)

    def finish(
        self, work: Work, target: Entry, st: os.stat_result, attributes: Attributes
    ) -> tuple[int, Attributes]:
        """Return the mode and the attributes that a folder is to have, where others did not change them meanwhile."""
        if work.present is None or work.parent is None or work.parent.present is None:
            return target.mode, target.attributes
        was = decode(work.parent.present.records[work.name])
        mode, wanted = stat.S_IMODE(st.st_mode), target.attributes
        theirs = mode not in (was.mode, was.mode | _OPENED, target.mode)
        if attributes not in (was.attributes, target.attributes):
            if target.attributes != was.attributes:
                raise self._changed([path_of(work.parent, work.name)])
            wanted = attributes
        if theirs and target.mode != was.mode:
            raise self._changed([path_of(work.parent, work.name)])
        return (mode if theirs else target.mode), wanted

    def sync(self) -> None:
        """Make all that was changed durable, on every filesystem that it is on."""
        fd = os.open(self.tree, FOLDER_FLAGS)
        try:
            fds = [fd, *(self.aside.folder(folder) for folder in self._places.values())]
            for each in {os.fstat(each).st_dev: each for each in fds}.values():
                sync_filesystem(each)
        finally:
            os.close(fd)

    def end(self) -> None:
        """Compare again all that came out, before it goes: a program that had it open may have written to it."""
        changed = self.aside.changed_since()
        if changed:
            raise self._changed(self.aside.return_foreign(set(changed)))
        if moved := [path for work in self._works if (path := self._moved(work)) is not None]:
            raise self._changed(moved)

    def _moved(self, work: Work) -> str | None:
        """The path of a folder that was worked in and that someone moved away meanwhile; None: it is there."""
        if work.parent is None:
            return None
        path = path_of(work.parent, work.name)
        here = os.fstat(self.folders.fd(work))
        try:
            there = os.stat(self.tree / path, follow_symlinks=False)
        except OSError:
            return path
        return None if os.path.samestat(here, there) else path

    # --- comparisons ----------------------------------------------------------------------------------------

    def _look_again(self, fd: int, place: Place, name: str) -> None:
        """Compare a name with what was found there, right before it is changed."""
        expected = self._found[id(place), name].stats[name]
        try:
            now = signature(os.stat(name, dir_fd=fd, follow_symlinks=False))
        except FileNotFoundError as exc:
            raise Foreign from exc
        shared = inode_and_links(expected)[1] > 1  # the loss of another name changes links and ctime
        if not (is_same_file(expected, now) if shared else expected == now):
            raise Foreign

    @contextmanager
    def _stopping(self, path: str) -> Generator[None]:
        """Stop at something of others: it goes back to its name."""
        try:
            yield
        except Foreign as exc:
            raise self._changed(self.aside.return_foreign({path}) or [path]) from exc

    def _changed(self, paths: list[str]) -> TreeChanged:
        return TreeChanged(paths=", ".join(str(self.tree / path) for path in paths))

    def _noted_beside(self, noted: Noted, place: Place, failure: OSError) -> Noted:
        """Note a change again, from a folder in the tree: a mount point lies between the aside and this folder."""
        if failure.errno != errno.EXDEV:
            raise failure
        self._count += 1
        beside = replace(noted, number=self._count, folder=self._in_tree(place))
        self.aside.note(beside)
        self.aside.sync()
        return beside

    def _staged_beside(self, noted: Noted, work: Work, entry: Entry, failure: OSError) -> Noted:
        """Stage a file again."""
        beside = self._noted_beside(replace(noted, ours=""), work, failure)
        here, number = self.aside.folder(beside.folder), str(beside.number)
        with act("restore.stage"):
            self.write(here, number, entry)
        hand_over(here, number, _owner(self.folders.fd(work), entry.name))
        ours = signature(os.stat(number, dir_fd=here, follow_symlinks=False)).hex()
        beside = replace(beside, ours=ours)
        self.aside.note(beside)
        with act("restore.stage_sync"):
            sync_filesystem(here)
        self.aside.sync()
        return beside


@contextmanager
def real_tree(
    tree: Path, folders: Folders, asides: Asides, known: KnownTree | None, write: Write
) -> Generator[RealTree]:
    """Work on a tree of the user's, with an aside that is cleared when all is done and compared."""
    with asides.open(tree) as aside:
        yield RealTree(tree, folders, aside, known, write)


def holds(folder_fd: int, name: str, record: bytes) -> bool:
    """Return whether a name holds the bytes and attributes of a stored entry."""
    entry = decode(record)
    try:
        if entry.kind is EntryKind.SYMLINK:
            return os.fsencode(os.readlink(name, dir_fd=folder_fd)) == entry.target
        content = store_file(name, folder_fd, _NOWHERE, HashingSink(), _unobserved)
    except (Gone, OSError):
        return False
    return content.still and (content.id, content.attributes) == (entry.id, entry.attributes)


def _unobserved(_name: str, _done: int, _size: int) -> None:
    """Show no progress of a comparison."""


def _is_file(packed: bytes) -> bool:
    return stat.S_ISREG(int.from_bytes(packed[:4], "little"))


def _owner(folder_fd: int, name: str) -> os.stat_result:
    """Return the owner of a name, or of the folder if the name is free."""
    try:
        return os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return os.fstat(folder_fd)


def hand_over(folder_fd: int, name: str, owner: os.stat_result) -> None:
    """Give something new to the owner of what it replaces: root may be restoring what others own."""
    new = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    if (new.st_uid, new.st_gid) == (owner.st_uid, owner.st_gid) or os.geteuid() != 0:
        return
    if stat.S_ISLNK(new.st_mode):
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder_fd, follow_symlinks=False)
        return
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder_fd)
    try:
        os.fchown(fd, owner.st_uid, owner.st_gid)
        os.fchmod(fd, stat.S_IMODE(new.st_mode))  # setuid goes with a change of owner
    finally:
        os.close(fd)
