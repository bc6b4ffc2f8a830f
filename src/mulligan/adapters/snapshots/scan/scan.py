"""Scans of a tree by names and stat alone; no file is read."""

import errno
import os
import stat
from collections.abc import Callable

from msgspec import Struct, field

from mulligan.adapters.snapshots.cache.tree_archive import NOTHING, Archive
from mulligan.adapters.snapshots.format.signatures import (
    COARSE_GRAIN_NS,
    FIELDS,
    Fields,
    Listing,
    fields_of,
    is_racy,
    packed,
)
from mulligan.adapters.snapshots.format.tree_format import ROOT_NAME
from mulligan.adapters.snapshots.scan import c_walk as walking
from mulligan.adapters.snapshots.scan.exclusions import Exclusions, exclusions_in
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.watch import inotify
from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.errors import SystemFailed, TreeUnsteady
from mulligan.osfiles.directory_handles import Folders, path_of

NOT_READABLE = "it may not be read"
_TRIES = 5
_UNHELD_KINDS = {
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a fifo",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


class Gone(Exception):
    """A path that was listed is no longer there, or is another kind of thing: the scan starts again."""


class Moves:
    """The files of a tree that do not hold still while it is looked at."""

    def __init__(self) -> None:
        self.busy = set[str]()  # the tree is taken without them, or as they were read last
        self._vanished = set[str]()

    def vanished(self, path: str) -> None:
        """Take note that a file was gone when it was to be looked at.

        The first time all is looked at again, by Gone: it may be somewhere else by now. A file that goes again and
        again is made and removed all the time, as the journal of a database is: it is left out.
        """
        if path not in self._vanished:
            self._vanished.add(path)
            raise Gone(path)
        self.busy.add(path)


class Witness:
    """The witness of a scan: called for every folder before it is listed, and so misses no later change.

    This one keeps nothing, for a scan that nothing is built on.
    """

    def begin(self) -> None:
        """Start again: a scan of the whole tree begins, and what was entered before no longer counts."""

    @property
    def queue(self) -> int:
        """The inotify queue that folders are put on before they are listed; -1 where none is kept."""
        return -1

    def entered(self, folder: Folder, fd: int) -> None:
        """Take note of a folder that is open and about to be listed."""

    def queued(self, folder: Folder, number: int) -> None:
        """Take note of a folder that was put on the queue and then listed; a negative number is an errno."""

    def queued_below(self, folder: Folder, numbers: bytes) -> None:
        """Take note of the folders below one, all as in an archive; `numbers` has those of their watches, by row."""

    def catch_up(self) -> None:
        """Process the events so far: what is known is about to be replaced."""

    def lost(self, reason: str) -> None:
        """Take note that the listing cannot be relied on."""


class Scan(Struct, eq=False):
    """One look at a whole tree."""

    folders: Folders
    exclusions: Exclusions
    started_ns: int
    witness: Witness
    known: Folder | None = None  # the tree as it was read before
    moves: Moves = field(default_factory=Moves)
    links: dict[tuple[int, int], list[tuple[Folder, str]]] = {}  # names of files with several links
    inside: dict[tuple[int, int], int] = {}  # files with several links: how many are in this tree
    _recent_ns: int = 0

    def __post_init__(self) -> None:
        self._recent_ns = self.started_ns - COARSE_GRAIN_NS

    def run(self) -> Folder:
        """Look at every folder; a tree that is missing is an empty topmost folder."""
        self.witness.begin()
        top = Folder("", None)
        if self.find_tree(top):
            self.list_all(top.children[ROOT_NAME], self.exclusions)
            self._group_links()
        return top

    def find_tree(self, top: Folder) -> bool:
        """Note the tree's own folder in the one around it; False where it is missing."""
        try:
            name = self.folders.own_name(top, ROOT_NAME)
            st = os.stat(name, dir_fd=self.folders.fd(top), follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(st.st_mode):
            raise SystemFailed(path=ROOT_NAME, reason="it is not a folder")
        self.note(top, ROOT_NAME, st)
        return True

    def list_all(self, folder: Folder, excluded: Exclusions) -> None:
        """Look at a folder and all below."""
        pending = [(folder, excluded)]
        while pending:
            folder, excluded = pending.pop()
            for each in [folder] if excluded.has_paths else self._walk(folder, excluded):
                here = excluded if each is folder else exclusions_in(each, self.exclusions)
                if self._list_by_hand(each, here):
                    pending.extend((child, here.below(name)) for name, child in each.children.items())

    def _walk(self, top: Folder, excluded: Exclusions) -> list[Folder]:
        """Scan a folder and all below in C; return the folders that must be listed in Python."""
        if walking.walk is None:
            return [top]
        try:
            fd = self.folders.fd(top)
        except OSError:
            return [top]
        witness = self.witness
        folders: list[Folder] = []
        left: list[Folder] = []
        home, threads = os.fsencode(PROJECT_HOME), walking.THREADS
        archive, number, stale = self._known_place(top)
        known = archive.rows, archive.heap, number, stale
        patterns = excluded.for_walk, os.fsencode(excluded.prefix)
        found, watches = walking.walk(
            fd, home, self._recent_ns, witness.queue, inotify.WANTED, threads, *known, *patterns
        )
        for parent, name, watch, row, content in found:
            folder = folders[parent].children[name] if folders else top
            folders.append(folder)
            if watch:
                witness.queued(folder, watch)
            if row >= 0:
                archive.seal(row, folder)
                if watches:
                    witness.queued_below(folder, watches)
                continue
            if content is None:
                left.append(folder)
                continue
            names, signatures, marked, folder.skipped = content
            folder.list_as(Listing(names, signatures))
            for each, signature in marked:
                self._mark(folder, each, fields_of(signature))
        return left

    def _known_place(self, folder: Folder) -> tuple[Archive, int, bytes]:
        """Return the position of a folder in the stat cache, with the rows that more has happened to."""
        known = self._known_as(folder)
        if known is None or known.origin is None:
            return NOTHING, -1, b""
        shelf, row = known.origin
        return shelf, row, b"" if known.sealed else shelf.changed_since(known)

    def _known_as(self, folder: Folder) -> Folder | None:
        if folder.parent is None:
            return self.known
        around = self._known_as(folder.parent)
        return around and around.children.get(folder.name)

    def _list_by_hand(self, folder: Folder, excluded: Exclusions) -> bool:
        try:
            self.list_folder(folder, excluded)
        except (PermissionError, _NotSearchable):
            self._cannot_enter(folder)
            return False
        except OSError as exc:
            if exc.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise Gone(_path(folder)) from exc
            raise
        return True

    def list_folder(self, folder: Folder, excluded: Exclusions) -> None:
        """Note every entry of one folder."""
        fd = self.folders.fd(folder)
        self.witness.entered(folder, fd)
        for _ in range(_TRIES):
            folder.start_anew()
            try:
                self._list_once(folder, fd, excluded)
                return
            except Gone:
                continue  # an entry went between listing and looking: list again
        raise TreeUnsteady(path=_path(folder))

    def _list_once(self, folder: Folder, fd: int, excluded: Exclusions) -> None:
        stats, recent_ns = folder.stats, self._recent_ns
        with os.scandir(fd) as entries:
            for entry in entries:
                name = entry.name
                if name == PROJECT_HOME or (excluded and self._leaves_out(folder, entry, excluded)):
                    folder.skipped = True
                    continue
                try:
                    st = entry.stat(follow_symlinks=False)
                except PermissionError as exc:
                    raise _NotSearchable from exc
                except FileNotFoundError:
                    self.moves.vanished(path_of(folder, name))
                    continue
                # Most entries are plain old files: what there is to note of those is noted here, a third faster.
                fields = mode, links, _, _, mtime_ns, ctime_ns, _ = FIELDS(st)
                if mode & 0o170000 == stat.S_IFREG and links == 1 and mtime_ns < recent_ns > ctime_ns:
                    stats[name] = packed(fields)
                else:
                    self.note(folder, name, st)

    @staticmethod
    def _leaves_out(folder: Folder, entry: "os.DirEntry[str]", excluded: Exclusions) -> bool:
        if excluded.is_apart(entry.name):
            folder.apart = True
            return True
        return excluded.is_matched(entry.name, is_folder=entry.is_dir(follow_symlinks=False))

    def note(self, folder: Folder, name: str, st: os.stat_result) -> None:
        """Note one entry; one that cannot be held with the reason."""
        fields = FIELDS(st)
        if self._mark(folder, name, fields):
            folder.stats[name] = packed(fields)

    def _mark(self, folder: Folder, name: str, fields: Fields) -> bool:
        """Note the facts of an entry that its signature lacks; return False for one that cannot be held."""
        mode, links, inode, _, _, ctime_ns, device = fields
        kind = mode & 0o170000
        if kind == stat.S_IFREG:
            if links > 1:
                self.links.setdefault((device, inode), []).append((folder, name))
        elif kind == stat.S_IFDIR:
            folder.children[name] = Folder(name, folder)
        elif kind != stat.S_IFLNK:
            folder.unheld[name] = f"it is {_UNHELD_KINDS.get(kind, 'of an unknown kind')}"
            return False
        # Most files are far older than any grain: the exact question is asked of the few that are not.
        if ctime_ns >= self._recent_ns and is_racy(ctime_ns, self.started_ns):
            folder.racy.add(name)
        return True

    def _cannot_enter(self, folder: Folder) -> None:
        parent = folder.parent
        if parent is None or parent.parent is None:
            raise SystemFailed(path=ROOT_NAME, reason=NOT_READABLE)
        del parent.children[folder.name]
        del parent.stats[folder.name]
        parent.unheld[folder.name] = NOT_READABLE

    def _group_links(self) -> None:
        for inode, names in self.links.items():
            # A folder that was listed twice, or turned out closed, may have left names: count the remaining ones.
            names[:] = {
                (id(folder), name): (folder, name) for folder, name in names if name in folder.stats
            }.values()
            self.inside[inode] = len(names)
            if len(names) > 1:
                first = min(os.fsencode(path_of(folder, name)) for folder, name in names)
                for folder, name in names:
                    folder.groups[name] = first


class _NotSearchable(Exception):
    """A folder whose names can be read but not its entries."""


def _path(folder: Folder) -> str:
    return ROOT_NAME if folder.parent is None else path_of(folder.parent, folder.name)


def until_steady(attempt: Callable[[], Folder]) -> Folder:
    """Try until nothing goes away underneath; TreeUnsteady when that never happens."""
    path = ROOT_NAME
    for _ in range(_TRIES):
        try:
            return attempt()
        except Gone as exc:
            path = str(exc)
    raise TreeUnsteady(path=path)
