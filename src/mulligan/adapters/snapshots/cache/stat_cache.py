"""The stat cache: what was learned of a tree, so that the next process reads only what changed.

A cache is a hint: anything odd about it (another format, Python or boot, a wrong checksum) and it is not
used, and every file is read again. It needs no fsync either: after a power cut the boot is another one.
"""

import mmap
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.snapshots.cache.marks import SUFFIX, Mark, read_mark, write_mark
from mulligan.adapters.snapshots.cache.tree_archive import Archive, pack
from mulligan.adapters.snapshots.format.chunks import CHUNKED_ABOVE, chunk_ids
from mulligan.adapters.snapshots.format.pack_format import hash_of
from mulligan.adapters.snapshots.format.tree_format import EntryKind, decode, stored_at
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.boundaries import act
from mulligan.errors import SnapshotDamaged
from mulligan.osfiles.folders import make_private_folder
from mulligan.osfiles.tempdirs import Rooms
from mulligan.ports import ChangeReports, WorkingTree

_MAGIC = b"mulligan stat cache 6\n"
# Fewer files than this are read again by the next process faster than all is written down.
_WORTH_SAVING_FILES = 64
_WORTH_SAVING_BYTES = 4 << 20
_LINEAGE = "joined"  # packs that are gone, each with the one that holds what it held
_JOINED = 10_000  # of those: then it begins again
_ONCE = 1_024  # as _SAVING_COSTS, for a process that ends: each later one would read the same files again
_SAVING_COSTS = 32  # reading one file again takes as long as writing down what is known of so many


class Remembered(Struct, frozen=True, eq=False):
    """A tree as it was last read, and the packs that its objects are in."""

    top: Folder
    packs: frozenset[str]


class Recalled(Struct, frozen=True, kw_only=True):
    """Return what is known of a tree; None if nothing is."""

    top: Folder | None
    forgotten: bool  # some of it was forgotten since the last look, because its objects are gone


class StatCache:
    """Remembers trees by key: in memory, and on disk for the next process."""

    def __init__(self, work: Path, rooms: Rooms, boot_id: str) -> None:
        self._folder = work / "caches"
        self._rooms = rooms
        version = ".".join(map(str, sys.version_info[:3]))
        self._head = _MAGIC + hash_of(f"{version} {boot_id}".encode())
        self._trees: dict[str, Remembered] = {}
        # Files and bytes read since the tree was last written down.
        self._unsaved: dict[str, tuple[int, int]] = {}
        self._written: dict[str, bytes] = {}  # the hash of the file that is known, or was written
        self._marks: dict[str, Mark] = {}  # of trees in memory, seen from those files
        self._forgotten: set[str] = set()  # trees that lost something, and were not looked at since

    def recall(self, key: str, objects: Objects) -> Recalled:
        """The tree as it was last read, as far as its objects are in the store."""
        known = self._trees.get(key) or self._load(key)
        if known is None:
            return Recalled(top=None, forgotten=False)
        packs = objects.pack_names()
        if not known.packs <= packs:  # packs are joined and swept: what they held may be elsewhere, or gone
            is_whole = self._are_joined(known.packs - packs, packs)
            if not is_whole and forget_missing(known.top, objects):
                self._forgotten.add(key)
            known = Remembered(known.top, packs)
            if (
                not is_whole and key not in self._trees
            ):  # saved again, so that the next process need not check again
                self._unsaved[key] = (known.top.files, 0)
        self._trees[key] = known
        return Recalled(top=known.top, forgotten=self.lacks(key))

    def remember(
        self, key: str, top: Folder, packs: frozenset[str], *, files_read: int, bytes_read: int
    ) -> None:
        """Keep what was learned; written down when reading it again would cost more."""
        self.hold(key, top, packs)
        files, size = self._unsaved.get(key, (0, 0))
        files, size = files + files_read, size + bytes_read
        self._unsaved[key] = (files, size)
        if files >= top.files // _SAVING_COSTS:  # a few changes to a large tree wait until there are more
            self.flush(key)

    def top_of(self, key: str) -> Folder | None:
        """Return the tree that is in memory."""
        known = self._trees.get(key)
        return None if known is None else known.top

    def lacks(self, key: str) -> bool:
        """Return whether some of a tree was forgotten since the last look."""
        return key in self._forgotten

    def take_mark(self, key: str) -> Mark | None:
        """Return the moment that a tree in memory describes, until it is noted again; None where that is unclear.

        A mark without a token says that the tree is as it is on disk.
        """
        return self._marks.pop(key, None)

    def mark_of(self, key: str) -> Mark | None:
        """Return the same, which stays noted."""
        return self._marks.get(key)

    def file_of(self, key: str) -> bytes:
        """Return the hash of the file that the tree in memory was read from, or written to last; empty for none."""
        return self._written.get(key, b"")

    def note_mark(self, key: str, mark: Mark) -> None:
        """Take note of the moment that the tree in memory describes, for the next process too."""
        self._marks[key] = mark
        if mark.is_worth_keeping and (written := self._written.get(key)):
            with suppress(OSError):  # the next process scans
                write_mark(self._mark_path(key), written, mark, self._rooms)

    def forget_mark(self, key: str) -> None:
        """Drop the moment that a tree is known at: something may have changed since that is in no report."""
        self._marks.pop(key, None)
        self._mark_path(key).unlink(missing_ok=True)

    def renew_mark(self, tree: WorkingTree, file: bytes, looked: Mark, reports: ChangeReports | None) -> None:
        """Take a later moment after a restore: what it brought back may go again before the next look.

        A name that comes and goes between two looks means a scan. Nothing is looked at here: what is reported is noted,
        for the next process to look at. `looked` is the mark of the look before the restore, seen from `file`.
        """
        key = tree.cache_key
        known = self._marks.get(key)
        mark = looked if known is None else known
        if reports is None or not mark.token or self.file_of(key) != file:
            return
        report = reports.since(tree, mark.token)
        if report is not None and report.paths is not None:
            self.note_mark(key, mark.later(report.token, report.paths, report.renewed))
            if known is None:  # it is unclear what the tree in memory describes
                del self._marks[key]

    def note_joined(self, pack: str, sources: Iterable[str]) -> None:
        """Note that a pack holds all that was in others, which are gone: nothing known of trees is in doubt."""
        noted = self._joined()
        if len(noted) > _JOINED:
            noted = {}
        noted |= dict.fromkeys(sources, pack)
        make_private_folder(self._folder.parent)
        with self._rooms.room() as room:
            (room / _LINEAGE).write_text("".join(f"{old} {new}\n" for old, new in noted.items()))
            with act("cache.name"):
                (room / _LINEAGE).replace(self._folder.with_name(_LINEAGE))

    def _joined(self) -> dict[str, str]:
        try:
            lines = self._folder.with_name(_LINEAGE).read_text().splitlines()
        except (OSError, UnicodeError):
            return {}
        return {old: new for old, _, new in (line.partition(" ") for line in lines)}

    def _are_joined(self, missing: Iterable[str], packs: frozenset[str]) -> bool:
        """Return whether all that missing packs held is in packs that are there."""
        joined = self._joined()
        for name in missing:
            seen = set[str]()
            while name not in packs:
                if name in seen or name not in joined:
                    return False
                seen.add(name)
                name = joined[name]  # noqa: PLW2901 - it goes by that name now
        return True

    def hold(self, key: str, top: Folder, packs: frozenset[str]) -> None:
        """Keep in memory what was learned by a look, also one that stored nothing."""
        self._trees[key] = Remembered(top, packs)
        self._forgotten.discard(key)

    def let_go(self, key: str) -> None:
        """Drop what is in memory, which may name what was never stored; the file on disk is older and true."""
        self._trees.pop(key, None)
        self._marks.pop(key, None)
        self._forgotten.discard(key)

    def flush(self, key: str) -> None:
        """Write down what the next process would have to read again, where that is worth it."""
        known = self._trees.get(key)
        files, size = self._unsaved.get(key, (0, 0))
        if known is not None and (files >= _WORTH_SAVING_FILES or size >= _WORTH_SAVING_BYTES):
            self._save(key, known)
            self._unsaved[key] = (0, 0)

    def flush_for_others(self, key: str) -> None:
        """Write down what each later process would have to read again."""
        known, (files, _) = self._trees.get(key), self._unsaved.get(key, (0, 0))
        if known is not None and files >= known.top.files // _ONCE:
            self.flush(key)

    def copy(self, key: str, other: str) -> None:
        """Keep the file of a tree under another key too, if there is one."""
        self._drop(other)
        self._path(other).unlink(missing_ok=True)
        # It may not be worth a file, or the filesystem may have no hard links.
        with suppress(OSError), act("cache.name"):
            os.link(self._path(key), self._path(other))

    def move(self, key: str, other: str) -> bool:
        """Keep the file of a tree under another key instead; return False where there is none."""
        for each in (key, other):
            self._drop(each)
        try:
            with act("cache.name"):
                self._path(key).replace(self._path(other))
        except FileNotFoundError:
            self._path(other).unlink(missing_ok=True)
            return False
        return True

    def forget(self, key: str) -> None:
        self._drop(key)
        self._path(key).unlink(missing_ok=True)
        self._mark_path(key).unlink(missing_ok=True)

    def orphans(self, keys: Iterable[str]) -> list[Path]:
        """The files of all other trees than these."""
        wanted = {path for key in keys for path in (self._path(key), self._mark_path(key))}
        try:
            return sorted(path for path in self._folder.iterdir() if path not in wanted)
        except FileNotFoundError:
            return []

    def _drop(self, key: str) -> None:
        for kept in (self._trees, self._unsaved, self._written, self._marks):
            kept.pop(key, None)
        self._forgotten.discard(key)

    def _path(self, key: str) -> Path:
        return self._folder / hash_of(os.fsencode(key)).hex()

    def _mark_path(self, key: str) -> Path:
        return self._path(key).with_suffix(SUFFIX)

    def _save(self, key: str, known: Remembered) -> None:
        make_private_folder(self._folder)
        body = pack(known.top, known.packs)
        with self._rooms.room() as room:
            path = room / "cache"
            path.touch(mode=0o600)
            own = hash_of(body)
            path.write_bytes(self._head + own + body)
            with act("cache.name"):
                path.replace(self._path(key))
        self._written[key] = own

    def _load(self, key: str) -> Remembered | None:
        try:
            with self._path(key).open("rb") as file:
                data = memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
        except (OSError, ValueError):  # ValueError: it is empty
            return None
        start = len(self._head) + 32
        body = data[start:]
        own = hash_of(body)
        if bytes(data[:start]) != self._head + own:
            return None
        archive = Archive(body)
        self._written[key] = own
        self._marks[key] = read_mark(self._mark_path(key), own)
        return Remembered(archive.top(), archive.packs)


def forget_missing(top: Folder, objects: Objects) -> bool:
    """Forget files and folders whose objects are gone: the next capture reads them again, and only them.

    Return whether anything was forgotten.

    Every object is looked up separately. The presence of an object that names others says nothing about those:
    garbage is removed pack by pack.
    """
    forgotten = False
    for folder in top.walk():
        if folder.address and not objects.contains(folder.address):
            folder.address, forgotten = b"", True
        for name in [name for name, record in folder.records.items() if not _is_here(record, objects)]:
            del folder.records[name]
            forgotten = True
    if forgotten:
        for folder in top.walk():
            folder.unseal()
    return forgotten


def _is_here(record: bytes, objects: Objects) -> bool:
    kind, size, object_id = stored_at(record)
    if kind is not EntryKind.FILE:
        return True  # a link is its record; a folder is checked separately
    if not objects.contains(object_id):
        return False
    if size <= CHUNKED_ABOVE:
        return True
    try:
        return all(map(objects.contains, chunk_ids(decode(record), objects.read(object_id))))
    except SnapshotDamaged:
        return False


def key_when_new(tree: WorkingTree) -> str:
    """Name what is remembered of a tree as it was when it was new."""
    return f"new {tree.cache_key}"
