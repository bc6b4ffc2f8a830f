"""Reads the entry at a name into objects, and returns its record for the folder's object."""

import errno
import os
import stat

from msgspec import Struct, field

from mulligan.adapters.snapshots.capture import c_contents
from mulligan.adapters.snapshots.capture.file_contents import read_attributes, store_file
from mulligan.adapters.snapshots.format.chunks import CHUNKED_ABOVE
from mulligan.adapters.snapshots.format.pack_format import Kind
from mulligan.adapters.snapshots.format.signatures import is_racy, signature
from mulligan.adapters.snapshots.format.tree_format import Entry, EntryKind, decode, encode, plain_record
from mulligan.adapters.snapshots.packs.sinks import Sink
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.scan import NOT_READABLE, Gone, Moves
from mulligan.osfiles.directory_handles import Folders, path_of
from mulligan.ports import Observer

_PROGRESS_EVERY = 50  # files
_WORTH_A_CALL = 2  # names in a folder
_ENOUGH = 4 << 20  # bytes: so many are read before they are hashed
# EINVAL: no longer a symlink; ENXIO: a socket or a fifo in the place of a file.
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL, errno.ENXIO)


class Records(Struct, eq=False):
    """Makes records for one look at a tree, and counts what had to be read for them."""

    sink: Sink
    observer: Observer
    started_ns: int = 0  # when the present attempt began
    made: dict[Folder, list[str]] = {}  # names that were looked at, in this and earlier attempts
    restless: frozenset[str] = frozenset()  # paths of files that did not hold still when they were last read
    at_work: bool = False  # programs are writing, and wait for no lock of ours
    moves: Moves = field(default_factory=Moves)
    files_read: int = 0
    bytes_read: int = 0
    # Records of files by signature, for other names of an inode and a scan that starts again. Not entries:
    # the garbage collector does not look at bytes, which saves a fifth of a first capture.
    _seen: dict[bytes, bytes] = {}

    def make(self, folders: Folders, folder: Folder, name: str) -> bytes | None:
        """The record of a name that must be looked at; None where it cannot be held."""
        self.made.setdefault(folder, []).append(name)
        kind = stat.S_IFMT(int.from_bytes(folder.stats[name][:4], "little"))
        try:
            if kind == stat.S_IFDIR:
                return encode(self._folder_entry(folders, folder, name))
            if kind == stat.S_IFLNK:
                return encode(self._link_entry(folders, folder, name))
            return self._file_record(folders, folder, name)
        except PermissionError:
            folder.unheld[name] = NOT_READABLE
            del folder.stats[name]
            folder.groups.pop(name, None)
            folder.children.pop(name, None)
            return None
        except OSError as exc:
            if exc.errno not in _GONE:
                raise
            return self._gone(folder, name)
        except Gone:
            return self._gone(folder, name)

    def make_plain(self, folders: Folders, folder: Folder, names: list[str]) -> dict[str, bytes]:
        """Return the records of those of these names that are plain files and hold still, read all at once."""
        made: dict[str, bytes] = {}
        if c_contents.read is None or self.restless or len(names) < _WORTH_A_CALL:
            return made
        stats = folder.stats
        left = [name for name in names if stats[name] not in self._seen]
        while left:
            listed = b"\0".join(map(os.fsencode, left)), b"".join([stats[name] for name in left])
            try:
                found = c_contents.read(folders.fd(folder), *listed, CHUNKED_ABOVE, _ENOUGH)
            except OSError:
                break  # the folder cannot be entered: whatever reads the next name has an answer to that
            for name, data in zip(left, found, strict=False):
                if data is not None:
                    known = stats[name]
                    record = plain_record(name, known, self.sink.add(Kind.BLOB, data))
                    made[name] = self._seen[known] = record
                    self._count_read(len(data))
            left = left[len(found) :]
        self.made.setdefault(folder, []).extend(made)
        return made

    def _count_read(self, size: int) -> None:
        self.files_read += 1
        self.bytes_read += size
        if self.files_read % _PROGRESS_EVERY == 0:
            self.observer.progress("files read", self.files_read, None)

    def _gone(self, folder: Folder, name: str) -> None:
        """Have the tree looked at again: what is gone may be under another name by now."""
        path = path_of(folder, name)
        if name in folder.children:
            raise Gone(path)
        self.moves.vanished(path)
        folder.stats.pop(name, None)
        folder.groups.pop(name, None)
        folder.racy.discard(name)

    def _folder_entry(self, folders: Folders, folder: Folder, name: str) -> Entry:
        child = folder.children[name]
        fd = folders.fd(child)
        st = os.fstat(fd)
        self._learn(folder, name, st, signature(st))
        return Entry(
            name,
            EntryKind.FOLDER,
            stat.S_IMODE(st.st_mode),
            id=child.id,
            attributes=read_attributes(fd),
            mtime_ns=st.st_mtime_ns,
            address=child.address,
        )

    def _link_entry(self, folders: Folders, folder: Folder, name: str) -> Entry:
        fd = folders.fd(folder)
        st = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if not stat.S_ISLNK(st.st_mode):
            raise Gone(path_of(folder, name))
        target = os.fsencode(os.readlink(name, dir_fd=fd))
        self._learn(folder, name, st, signature(st))
        # A link's own mode means nothing.
        return Entry(name, EntryKind.SYMLINK, 0o777, len(target), target=target, mtime_ns=st.st_mtime_ns)

    def _file_record(self, folders: Folders, folder: Folder, name: str) -> bytes:
        group = folder.groups.get(name, b"")
        seen = self._seen.get(folder.stats[name])
        if seen is not None:
            return encode(decode(seen)._replace(name=name, group=group))
        path = path_of(folder, name) if self.restless else ""
        content = store_file(
            name,
            folders.fd(folder),
            folder,
            self.sink,
            self._told,
            is_restless=path in self.restless,
            locks=not self.at_work,
        )
        self._learn(folder, name, content.stat, content.signature)
        if not content.still:
            self.moves.busy.add(path_of(folder, name))
            folder.racy.add(name)  # it is read again next time, whatever its stat says
        self._count_read(content.size)
        entry = Entry(
            name,
            EntryKind.FILE,
            stat.S_IMODE(content.stat.st_mode),
            content.size,
            content.id,
            group=group,
            attributes=content.attributes,
            mtime_ns=content.stat.st_mtime_ns,
            sparse=content.sparse,
        )
        record = encode(entry)
        if content.still:
            self._seen[content.signature] = record
        return record

    def _told(self, name: str, done: int, size: int) -> None:
        self.observer.progress(f"bytes of {name} read", done, size)

    def _learn(self, folder: Folder, name: str, st: os.stat_result, seen: bytes) -> None:
        """Keep the stat that belongs to what was read, which may be newer than the scan's."""
        folder.stats[name] = seen
        if is_racy(st.st_ctime_ns, self.started_ns):
            folder.racy.add(name)
