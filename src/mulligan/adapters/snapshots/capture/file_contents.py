"""Contents: a file's bytes and attributes into objects, and back out of them."""

import errno
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple, TypeAlias

from mulligan.adapters.snapshots.capture.sqlite_locks import (
    in_a_transaction,
    not_written_by_sqlite,
    time_of_stamps,
)
from mulligan.adapters.snapshots.format.chunks import CHUNK, CHUNKED_ABOVE, pieces
from mulligan.adapters.snapshots.format.pack_format import Kind
from mulligan.adapters.snapshots.format.signatures import signature
from mulligan.adapters.snapshots.format.tree_format import Attributes, Entry, EntryKind
from mulligan.adapters.snapshots.packs.sinks import Sink
from mulligan.adapters.snapshots.scan.scan import Gone
from mulligan.osfiles.directory_handles import Place, path_of

_HOLE = 4096  # zeros of this length and alignment become a hole again
_PAUSES = (0.0, 0.005, 0.02, 0.08, 0.2)  # seconds before each try to read a file that kept changing
# A fifo put in its place must not block.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_ATTRIBUTES = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


Told: TypeAlias = Callable[[str, int, int], None]  # of a file: how many bytes of how many are done


class Content(NamedTuple):
    """The content of one file, and the stat that belongs to it."""

    stat: os.stat_result
    signature: bytes
    size: int
    id: bytes
    attributes: Attributes
    sparse: bool
    still: bool  # False: it changed whenever it was read, and this is what was read last


def store_file(
    name: str,
    folder_fd: int,
    folder: Place,
    sink: Sink,
    told: Told,
    *,
    is_restless: bool = False,
    locks: bool = True,
) -> Content:
    """Read a file into objects, with progress for a large one; Gone if it is no longer a file.

    A file that changes meanwhile is read again, several times; one that `is_restless` is known for it, and read
    again once. One that never holds still is read as it is: if it is a database of SQLite and may be locked, while no
    other program writes to it. So is a database that holds still in the middle of a transaction.
    """
    held_still = False
    for pause in _PAUSES[:1] if is_restless else _PAUSES:
        if pause:
            time.sleep(pause)
        opened_ns = time_of_stamps()
        with _opened_file(name, folder_fd, folder) as (fd, before):
            object_id = _store_bytes(name, fd, before.st_size, sink, told)
            halfway = in_a_transaction(name, folder_fd, fd, before, opened_ns)
            held_still = bool(object_id) and signature(os.fstat(fd)) == signature(before)
            if held_still and not halfway:
                return _content(fd, before, before.st_size, object_id, still=True)
    with (
        _opened_file(name, folder_fd, folder) as (fd, _),
        not_written_by_sqlite(fd) if locks else nullcontext(enter_result=False) as locked,
    ):
        before = os.fstat(fd)
        size, object_id = _store_so_far(name, fd, before.st_size, sink, told)
        still = held_still and locked and signature(os.fstat(fd)) == signature(before)
        return _content(fd, before, size, object_id, still=still)


@contextmanager
def _opened_file(name: str, folder_fd: int, folder: Place) -> Generator[tuple[int, os.stat_result]]:
    fd = os.open(name, _FILE_FLAGS, dir_fd=folder_fd)
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise Gone(path_of(folder, name))
        yield fd, before
    finally:
        os.close(fd)


def _content(fd: int, st: os.stat_result, size: int, object_id: bytes, *, still: bool) -> Content:
    sparse = still and _has_holes(fd, st)
    return Content(st, signature(st), size, object_id, read_attributes(fd), sparse, still)


def _store_so_far(name: str, fd: int, size: int, sink: Sink, told: Told) -> tuple[int, bytes]:
    """Store as many bytes as a file has now; return how many these are, and their id.

    A file that grows is not followed, and one that was cut meanwhile is as long as what could be read.
    """
    os.lseek(fd, 0, os.SEEK_SET)
    if size <= CHUNKED_ABOVE:
        data = _read(fd, size)
        return len(data), store_bytes(data, sink)
    ids: list[bytes] = []
    done = 0
    while done < size and (data := _read(fd, min(CHUNK, size - done))):
        ids.append(sink.add(Kind.BLOB, data))
        done += len(data)
        told(name, done, size)
        if len(data) < CHUNK:
            break
    if done <= CHUNKED_ABOVE:  # a short file has another form
        os.lseek(fd, 0, os.SEEK_SET)
        data = _read(fd, done)
        return len(data), store_bytes(data, sink)
    return done, sink.add(Kind.CHUNK_LIST, b"".join(ids))


def _store_bytes(name: str, fd: int, size: int, sink: Sink, told: Told) -> bytes:
    """The id of the content; empty when it is not as long as it was said to be."""
    if size <= CHUNKED_ABOVE:
        data = _read(fd, size + 1)
        return sink.add(Kind.BLOB, data) if len(data) == size else b""
    ids: list[bytes] = []
    for start in range(0, size, CHUNK):
        length = min(CHUNK, size - start)
        if _next_data(fd, start, size) >= start + length:
            data = bytes(length)
            os.lseek(fd, start + length, os.SEEK_SET)
        else:
            os.lseek(fd, start, os.SEEK_SET)
            data = _read(fd, length)
        if len(data) != length:
            return b""
        ids.append(sink.add(Kind.BLOB, data))
        told(name, start + length, size)
    return sink.add(Kind.CHUNK_LIST, b"".join(ids))


def store_bytes(data: bytes, sink: Sink) -> bytes:
    """The id of a content that is there as a whole; the same that a file with these bytes has."""
    if len(data) <= CHUNKED_ABOVE:
        return sink.add(Kind.BLOB, data)
    ids = [sink.add(Kind.BLOB, data[start : start + CHUNK]) for start in range(0, len(data), CHUNK)]
    return sink.add(Kind.CHUNK_LIST, b"".join(ids))


def _read(fd: int, length: int) -> bytes:
    data = os.read(fd, length)
    if len(data) in (0, length - 1, length):
        return data
    parts = [data]
    while length > (have := sum(map(len, parts))) and (data := os.read(fd, length - have)):
        parts.append(data)
    return b"".join(parts)


def _next_data(fd: int, start: int, size: int) -> int:
    """Return the position of the next byte outside of holes; a hole is not read, whatever its length."""
    try:
        return os.lseek(fd, start, os.SEEK_DATA)
    except OSError as exc:
        return size if exc.errno == errno.ENXIO else start


def _has_holes(fd: int, st: os.stat_result) -> bool:
    if st.st_blocks * 512 >= st.st_size:
        return False
    try:
        # Compressed files have few blocks too, but no holes.
        return os.lseek(fd, 0, os.SEEK_HOLE) < st.st_size
    except OSError:
        return False


def read_attributes(fd: int) -> Attributes:
    """The user.* attributes of an open file or folder; none where the filesystem or system has none."""
    if not hasattr(os, "listxattr"):
        return ()
    try:
        names = [name for name in os.listxattr(fd) if name.startswith("user.")]
    except OSError as exc:
        if exc.errno in _NO_ATTRIBUTES:
            return ()
        raise
    return tuple(sorted((os.fsencode(name), os.getxattr(fd, name)) for name in names)) if names else ()


def write_attributes(fd: int, wanted: Attributes) -> None:
    """Make the user.* attributes of an open file or folder exactly these."""
    present = dict(read_attributes(fd))
    for key in present.keys() - dict(wanted).keys():
        os.removexattr(fd, key)
    for key, value in wanted:
        if present.get(key) != value:
            os.setxattr(fd, key, value)


def write_entry(folder_fd: int, name: str, entry: Entry, read: Callable[[bytes], bytes], told: Told) -> None:
    """Write a file or symlink under a name that is free, exactly as the entry says."""
    times = (entry.mtime_ns, entry.mtime_ns)
    if entry.kind is EntryKind.SYMLINK:
        os.symlink(os.fsdecode(entry.target), name, dir_fd=folder_fd)
        os.utime(name, ns=times, dir_fd=folder_fd, follow_symlinks=False)
        return
    fd = os.open(name, _NEW_FILE, 0o600, dir_fd=folder_fd)
    try:
        _write_file(fd, entry, read, told)
        if entry.attributes:
            write_attributes(fd, entry.attributes)
        os.fchmod(fd, entry.mode)  # after writing, which would take setuid away
        os.utime(fd, ns=times)
    finally:
        os.close(fd)


def _write_file(fd: int, entry: Entry, read: Callable[[bytes], bytes], told: Told) -> None:
    """Write a stored file's bytes into an empty file, holes as holes, with progress for a large one."""
    done = 0
    for data in pieces(entry, read):
        if entry.sparse:
            _write_with_holes(fd, data)
        else:
            _write_all(fd, data)
        done += len(data)
        if entry.size > CHUNKED_ABOVE:
            told(entry.name, done, entry.size)
    if entry.sparse:
        os.ftruncate(fd, entry.size)


def _write_with_holes(fd: int, data: bytes) -> None:
    zeros = bytes(_HOLE)
    for at in range(0, len(data), _HOLE):
        block = data[at : at + _HOLE]
        if block == zeros[: len(block)]:
            os.lseek(fd, len(block), os.SEEK_CUR)
        else:
            _write_all(fd, block)


def _write_all(fd: int, data: bytes | memoryview) -> None:
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, memoryview(data)[written:])
