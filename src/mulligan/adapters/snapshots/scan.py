"""Scanning: what stands in a tree now, by names and stat alone; nothing is read."""

import errno
import os
import stat
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Protocol, TypeAlias

from mulligan.adapters.snapshots.places import Folders, path_of
from mulligan.adapters.snapshots.trees import ROOT_NAME
from mulligan.domain.placement import PROJECT_HOME
from mulligan.errors import SystemFailed, TreeUnsteady
from mulligan.ports import WorkingTree

NOT_READABLE = "it may not be read"
_TRIES = 5
_FINE_GRAIN_NS = 20_000_000  # two ticks of the slowest kernel clock that stamps files
_COARSE_GRAIN_NS = 2_000_000_000  # filesystems that stamp whole seconds, or every other one
_SECOND_NS = 1_000_000_000
_LAYOUT = struct.Struct("<IIQqqqQ")
_FIELDS = attrgetter("st_mode", "st_nlink", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_dev")
_MASKS = (0xFFFFFFFF, 0xFFFFFFFF, (1 << 64) - 1, (1 << 63) - 1, (1 << 63) - 1, (1 << 63) - 1, (1 << 64) - 1)
_UNHELD_KINDS = {
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a fifo",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}

Exclusions: TypeAlias = "dict[str, Exclusions]"  # excluded paths as nested names; an empty one excludes


def signature(st: os.stat_result) -> bytes:
    """All that tells a changed file from an unchanged one, packed: quick to compare and to load."""
    try:
        return _LAYOUT.pack(*_FIELDS(st))
    except struct.error:  # times beyond the year 2262
        return _LAYOUT.pack(*(value & mask for value, mask in zip(_FIELDS(st), _MASKS, strict=True)))


def is_racy(st: os.stat_result, started_ns: int) -> bool:
    """Tell whether the file could still change without its times telling, seen from the start of a scan.

    Every change sets the ctime, and nobody can set it to another one: an mtime in the future says nothing.
    """
    coarse = st.st_ctime_ns % _SECOND_NS == 0
    grain = _COARSE_GRAIN_NS if coarse else _FINE_GRAIN_NS
    return st.st_ctime_ns >= started_ns - grain


@dataclass(slots=True, eq=False)
class Folder:
    """A folder as it was found, and what was learned of it. The topmost holds the tree itself, as "."."""

    name: str
    parent: "Folder | None"
    stats: dict[str, bytes] = field(default_factory=dict[str, bytes])  # signatures of what can be held
    racy: set[str] = field(default_factory=set[str])  # names that must be read again next time
    groups: dict[str, bytes] = field(
        default_factory=dict[str, bytes]
    )  # names that share an inode -> first path
    unheld: dict[str, str] = field(default_factory=dict[str, str])  # names that cannot be held -> why
    skipped: bool = False  # has something excluded in it
    children: "dict[str, Folder]" = field(default_factory=dict[str, "Folder"])
    records: dict[str, bytes] = field(default_factory=dict[str, bytes])  # as in trees; empty until captured
    id: bytes = b""
    address: bytes = b""  # empty: not known
    files: int = 0  # below here, folders not counted

    @property
    def guarded(self) -> bool:
        """Holds something that a restore must leave alone."""
        return self.skipped or bool(self.unheld)

    def walk(self) -> "list[Folder]":
        """This folder and all below, parents before children."""
        found: list[Folder] = [self]
        for folder in found:
            found.extend(folder.children.values())
        return found


class Gone(Exception):
    """Something that was listed is no longer there, or is another kind of thing: the scan starts again."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Witness(Protocol):
    """Someone who is told of every folder before it is listed, and so misses nothing that happens after."""

    def begin(self) -> None:
        """A scan of the whole tree starts; what was entered before counts no more."""
        ...

    def entered(self, folder: Folder, fd: int) -> None:
        """The folder is open and about to be listed."""
        ...

    def catch_up(self) -> None:
        """What is known is about to be replaced: what happened so far is judged by it."""
        ...

    def lost(self, reason: str) -> None:
        """What was listed cannot be relied on."""
        ...


class Nobody:
    """The witness of a scan that nothing is built on."""

    def begin(self) -> None:
        """Nobody looks."""

    def entered(self, folder: Folder, fd: int) -> None:
        """Nobody looks."""

    def catch_up(self) -> None:
        """Nobody looks."""

    def lost(self, reason: str) -> None:
        """Nobody minds."""


def is_left_out(name: str, excluded: Exclusions) -> bool:
    """Tell whether a name in a folder is neither captured nor touched."""
    return name == PROJECT_HOME or (name in excluded and not excluded[name])


def exclusions_of(tree: WorkingTree) -> Exclusions:
    """The tree's excluded paths by names."""
    top: Exclusions = {}
    for names in sorted((path.split("/") for path in tree.excluded), key=len):
        here = top
        for name in names:
            if name in here and not here[name]:
                break  # below something that is excluded already
            here = here.setdefault(name, {})
    return top


class Scan:
    """One look at a whole tree."""

    def __init__(self, folders: Folders, exclusions: Exclusions, started_ns: int, witness: Witness) -> None:
        self._folders = folders
        self._exclusions = exclusions
        self._witness = witness
        self._started_ns = started_ns
        self._recent_ns = started_ns - _COARSE_GRAIN_NS
        self.links: dict[tuple[int, int], list[tuple[Folder, str]]] = {}  # names of files with several links
        self.inside: dict[tuple[int, int], int] = {}  # files with several links: how many are in this tree
        self.size_bytes = 0

    def run(self) -> Folder:
        """Look at every folder; a tree that is missing is an empty topmost folder."""
        self._witness.begin()
        top = Folder(name="", parent=None)
        if self.find_tree(top):
            self.list_all(top.children[ROOT_NAME], self._exclusions)
            self._group_links()
        return top

    def find_tree(self, top: Folder) -> bool:
        """Note the tree's own folder in the one around it; False where it is missing."""
        try:
            name = self._folders.own_name(top, ROOT_NAME)
            st = os.stat(name, dir_fd=self._folders.fd(top), follow_symlinks=False)
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
            try:
                self.list_folder(folder, excluded)
            except (PermissionError, _NotSearchable):
                self._cannot_enter(folder)
                continue
            except OSError as exc:
                if exc.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                    raise Gone(_path(folder)) from exc
                raise
            pending.extend((child, excluded.get(name, {})) for name, child in folder.children.items())

    def list_folder(self, folder: Folder, excluded: Exclusions) -> None:
        """Note every entry of one folder."""
        fd = self._folders.fd(folder)
        self._witness.entered(folder, fd)
        for _ in range(_TRIES):
            folder.stats, folder.racy, folder.unheld, folder.children = {}, set(), {}, {}
            folder.skipped = False
            try:
                self._list_once(folder, fd, excluded)
                return
            except FileNotFoundError:
                continue  # an entry went between listing and looking: list again
        raise TreeUnsteady(path=_path(folder))

    def _list_once(self, folder: Folder, fd: int, excluded: Exclusions) -> None:
        stats, recent_ns, size_bytes = folder.stats, self._recent_ns, 0
        with os.scandir(fd) as entries:
            for entry in entries:
                name = entry.name
                if name == PROJECT_HOME or (excluded and is_left_out(name, excluded)):
                    folder.skipped = True
                    continue
                try:
                    st = entry.stat(follow_symlinks=False)
                except PermissionError as exc:
                    raise _NotSearchable from exc
                # Most entries are plain old files: what there is to note of those is noted here, a third faster.
                fields = mode, links, _, size, mtime_ns, ctime_ns, _ = _FIELDS(st)
                if mode & 0o170000 == stat.S_IFREG and links == 1 and mtime_ns < recent_ns > ctime_ns:
                    try:
                        stats[name] = _LAYOUT.pack(*fields)
                    except struct.error:
                        stats[name] = signature(st)
                    size_bytes += size
                else:
                    self.note(folder, name, st)
        self.size_bytes += size_bytes

    def note(self, folder: Folder, name: str, st: os.stat_result) -> None:
        """Note one entry; one that cannot be held with the reason."""
        fields = mode, links, inode, size, _, ctime_ns, device = _FIELDS(st)
        kind = mode & 0o170000
        if kind == stat.S_IFREG:
            self.size_bytes += size
            if links > 1:
                self.links.setdefault((device, inode), []).append((folder, name))
        elif kind == stat.S_IFDIR:
            folder.children[name] = Folder(name=name, parent=folder)
        elif kind != stat.S_IFLNK:
            folder.unheld[name] = f"it is {_UNHELD_KINDS.get(kind, 'of an unknown kind')}"
            return
        try:
            folder.stats[name] = _LAYOUT.pack(*fields)
        except struct.error:
            folder.stats[name] = signature(st)
        # Most files are far older than any grain: the exact question is asked of the few that are not.
        if ctime_ns >= self._recent_ns and is_racy(st, self._started_ns):
            folder.racy.add(name)

    def _cannot_enter(self, folder: Folder) -> None:
        parent = folder.parent
        if parent is None or parent.parent is None:
            raise SystemFailed(path=ROOT_NAME, reason=NOT_READABLE)
        del parent.children[folder.name]
        del parent.stats[folder.name]
        parent.unheld[folder.name] = NOT_READABLE

    def _group_links(self) -> None:
        for inode, names in self.links.items():
            # A folder that was listed twice, or turned out closed, may have left names: count what stands.
            names[:] = {
                (id(folder), name): (folder, name) for folder, name in names if name in folder.stats
            }.values()
            self.inside[inode] = len(names)
            if len(names) > 1:
                first = min(os.fsencode(path_of(folder, name)) for folder, name in names)
                for folder, name in names:
                    folder.groups[name] = first


class _NotSearchable(Exception):
    """A folder whose names can be read but not what stands under them."""


def _path(folder: Folder) -> str:
    return ROOT_NAME if folder.parent is None else path_of(folder.parent, folder.name)


def exclusions_in(folder: Folder, exclusions: Exclusions) -> Exclusions:
    """The part of a tree's exclusions that is about one of its folders."""
    if not exclusions or folder.parent is None:
        return {}
    if folder.parent.parent is None:
        return exclusions
    return exclusions_in(folder.parent, exclusions).get(folder.name, {})


def until_steady(attempt: Callable[[], Folder]) -> Folder:
    """Try until nothing goes away underneath; TreeUnsteady when that never happens."""
    path = ROOT_NAME
    for _ in range(_TRIES):
        try:
            return attempt()
        except Gone as exc:
            path = exc.path
    raise TreeUnsteady(path=path)


def inode_and_links(packed: bytes) -> tuple[tuple[int, int], int]:
    """The inode (device, number) and the link count in a signature."""
    _, links, inode, _, _, _, device = _LAYOUT.unpack(packed)
    return (device, inode), links


def matches(packed: bytes, st_mode: int, size: int | None, mtime_ns: int) -> bool:
    """Tell whether a signature has this kind and mode, size (None: any) and mtime."""
    found_mode, _, _, found_size, found_mtime, _, _ = _LAYOUT.unpack(packed)
    return found_mode == st_mode and size in (None, found_size) and found_mtime == mtime_ns
