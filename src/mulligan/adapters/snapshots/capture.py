"""Capturing: a scan, then reading what the stat cache does not know; folders become objects, leaves first."""

import errno
import os
import stat
from collections.abc import Callable

from mulligan.adapters.snapshots.contents import read_attributes, store_file
from mulligan.adapters.snapshots.objects import Sink
from mulligan.adapters.snapshots.packs import Kind
from mulligan.adapters.snapshots.places import Folders, path_of
from mulligan.adapters.snapshots.scan import (
    NOT_READABLE,
    Folder,
    Gone,
    Scan,
    exclusions_of,
    is_racy,
    signature,
    until_steady,
)
from mulligan.adapters.snapshots.trees import (
    NO_ID,
    Attributes,
    Entry,
    EntryKind,
    decode,
    encode,
    folder_object,
)
from mulligan.domain.snapshot import Unheld
from mulligan.ports import Observer, WorkingTree

_PROGRESS_EVERY = 500  # files


class Reading:
    """One reading of a tree: what was found, and how much of it had to be read."""

    def __init__(self, tree: WorkingTree, known: Folder | None, sink: Sink, observer: Observer) -> None:
        """`known` is the tree as it was read before; what has not changed since is taken from there."""
        self._tree = tree
        self._known = known
        self._sink = sink
        self._observer = observer
        # Records of files by signature, for other names of an inode and a scan that starts anew. Not entries:
        # the garbage collector does not look at bytes, which saves a fifth of a first capture.
        self._seen: dict[bytes, bytes] = {}
        self._started_ns = 0
        self.inside: dict[tuple[int, int], int] = {}
        self.files_read = 0
        self.bytes_read = 0

    def run(self, now_ns: Callable[[], int]) -> Folder:
        """Read the tree; gives its topmost folder, whose one entry is the tree itself."""
        with Folders(self._tree.path) as folders:
            return until_steady(lambda: self._attempt(folders, now_ns()))

    def _attempt(self, folders: Folders, started_ns: int) -> Folder:
        self._started_ns = started_ns
        scan = Scan(folders, exclusions_of(self._tree), started_ns)
        top = scan.run()
        self.inside = scan.inside
        before: dict[int, Folder | None] = {id(top): self._known}
        order = top.walk()
        for folder in order:
            old = before[id(folder)]
            for name, child in folder.children.items():
                before[id(child)] = old.children.get(name) if old else None
        for folder in reversed(order):
            self._resolve(folders, folder, before[id(folder)])
        return top

    def _resolve(self, folders: Folders, folder: Folder, old: Folder | None) -> None:
        """Learn a folder's records, identity and address; its children are resolved already."""
        folder.files = len(folder.stats) - len(folder.children)
        folder.files += sum(child.files for child in folder.children.values())
        if old is not None and self._unchanged(folder, old):
            # Sharing the dictionaries halves the memory of a tree that hardly changes.
            folder.stats, folder.records, folder.id, folder.address = (
                old.stats,
                old.records,
                old.id,
                old.address,
            )
            return
        for name in list(folder.stats):
            record = self._kept_record(folder, old, name) if old else None
            if record is None:
                record = self._new_record(folders, folder, name)
            if record is not None:
                folder.records[name] = record
        data, folder.id = folder_object(folder.records)
        folder.address = self._sink.add(Kind.TREE, data)

    @staticmethod
    def _unchanged(folder: Folder, old: Folder) -> bool:
        return (
            old.address != b""
            and not old.racy
            and folder.stats == old.stats
            and folder.groups == old.groups
            and len(old.records) == len(folder.stats)
            and all(child.address == old.children[name].address for name, child in folder.children.items())
        )

    @staticmethod
    def _kept_record(folder: Folder, old: Folder, name: str) -> bytes | None:
        """The record of a name that did not change, with what its neighbours changed; None: look at it."""
        record = old.records.get(name)
        if record is None or name in old.racy or folder.stats[name] != old.stats.get(name):
            return None
        child = folder.children.get(name)
        if child is not None:
            entry = decode(record)
            if (entry.id, entry.address) != (child.id, child.address):
                record = encode(entry._replace(id=child.id, address=child.address))
        elif folder.groups.get(name, b"") != old.groups.get(name, b""):
            record = encode(decode(record)._replace(group=folder.groups.get(name, b"")))
        return record

    def _new_record(self, folders: Folders, folder: Folder, name: str) -> bytes | None:
        """The record of a name that must be looked at; None where it cannot be held."""
        kind = stat.S_IFMT(int.from_bytes(folder.stats[name][:4], "little"))
        try:
            if kind == stat.S_IFDIR:
                return encode(self._folder_entry(folders, folder, name))
            if kind == stat.S_IFLNK:
                return encode(self._link_entry(folders, folder, name))
            return self._file_record(folders, folder, name)
        except PermissionError:
            folder.unheld[name] = NOT_READABLE
            folder.files -= 1
            del folder.stats[name]
            folder.groups.pop(name, None)
            return None
        except OSError as exc:
            if exc.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL):
                raise Gone(path_of(folder, name)) from exc  # EINVAL: no symlink any more
            raise

    def _folder_entry(self, folders: Folders, folder: Folder, name: str) -> Entry:
        child = folder.children[name]
        fd = folders.fd(child)
        st = os.fstat(fd)
        self._learn(folder, name, st, signature(st))
        return _entry(
            name,
            EntryKind.FOLDER,
            st,
            object_id=child.id,
            address=child.address,
            attributes=read_attributes(fd),
        )

    def _link_entry(self, folders: Folders, folder: Folder, name: str) -> Entry:
        fd = folders.fd(folder)
        st = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if not stat.S_ISLNK(st.st_mode):
            raise Gone(path_of(folder, name))
        target = os.fsencode(os.readlink(name, dir_fd=fd))
        self._learn(folder, name, st, signature(st))
        return _entry(name, EntryKind.SYMLINK, st, target=target)

    def _file_record(self, folders: Folders, folder: Folder, name: str) -> bytes:
        group = folder.groups.get(name, b"")
        seen = self._seen.get(folder.stats[name])
        if seen is not None:
            return encode(decode(seen)._replace(name=name, group=group))
        content = store_file(name, folders.fd(folder), folder, self._sink)
        self._learn(folder, name, content.stat, content.signature)
        self.files_read += 1
        self.bytes_read += content.stat.st_size
        if self.files_read % _PROGRESS_EVERY == 0:
            self._observer.progress("files read", self.files_read, None)
        entry = _entry(
            name,
            EntryKind.FILE,
            content.stat,
            object_id=content.id,
            group=group,
            attributes=content.attributes,
            sparse=content.sparse,
        )
        record = encode(entry)
        self._seen[content.signature] = record
        return record

    def _learn(self, folder: Folder, name: str, st: os.stat_result, seen: bytes) -> None:
        """Keep the stat that belongs to what was read, which may be newer than the scan's."""
        folder.stats[name] = seen
        if is_racy(st, self._started_ns):
            folder.racy.add(name)


def _entry(
    name: str,
    kind: EntryKind,
    st: os.stat_result,
    *,
    object_id: bytes = NO_ID,
    target: bytes = b"",
    group: bytes = b"",
    attributes: Attributes = (),
    sparse: bool = False,
    address: bytes = b"",
) -> Entry:
    size = {EntryKind.FILE: st.st_size, EntryKind.SYMLINK: len(target), EntryKind.FOLDER: 0}[kind]
    mode = 0o777 if kind is EntryKind.SYMLINK else stat.S_IMODE(st.st_mode)  # a link's own mode means nothing
    return Entry(
        name, kind, mode, size, object_id, target, group, attributes, st.st_mtime_ns, sparse, address
    )


def unheld_in(top: Folder) -> tuple[Unheld, ...]:
    """All that was found but cannot be held, sorted by path."""
    found = [
        Unheld(path_of(folder, name), reason)
        for folder in top.walk()
        if folder.unheld
        for name, reason in folder.unheld.items()
    ]
    return tuple(sorted(found, key=lambda unheld: os.fsencode(unheld.path)))
