"""A disk that loses what was not synced: every write and sync that SQLite makes is noted, by a VFS around its own.

From the notes the files can be built as a power cut at any moment may leave them: what was synced is there, of the
rest all, nothing, or any part; a name that was deleted may be there again until its folder was synced.
"""

import _sqlite3
import ctypes
import os
import random
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_OPEN = CFUNCTYPE(
    c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p
)  # more than a name stands behind the name
_DELETE = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)
_METHODS = 19  # functions of a file, of which the newest versions have all
_SECTOR = 512


class _Vfs(Structure):
    _fields_ = (
        ("version", c_int),
        ("file_size", c_int),
        ("longest", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", _OPEN),
        ("delete", _DELETE),
        ("rest", c_void_p * 16),
    )


class _Methods(Structure):
    _fields_ = (
        ("version", c_int),
        ("close", c_void_p),
        ("read", c_void_p),
        ("write", _WRITE),
        ("truncate", _TRUNCATE),
        ("sync", _SYNC),
        ("rest", c_void_p * (_METHODS - 5)),
    )


class _File(Structure):
    _fields_ = (("methods", POINTER(_Methods)),)


@dataclass(frozen=True)
class Note:
    """One thing that was done to a file."""

    what: str  # create, write, truncate, sync, delete; sync_folder
    path: str
    offset: int = 0
    data: bytes = b""


@dataclass
class _Content:
    """What a file is on the disk, and what of it was not synced yet."""

    durable: bytes | None  # None: no such file
    pending: list[Note] = field(default_factory=list[Note])


class RecordedDisk:
    """All that was written in a folder by SQLite, and what of it a power cut leaves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = {str(p): p.read_bytes() for p in folder.rglob("*") if ".db" in p.name and p.is_file()}
        self.notes: list[Note] = []

    def note(self, what: str, path: str, offset: int = 0, data: bytes = b"") -> None:
        """Take note, if it is about a file in the folder."""
        if path.startswith(str(self._folder)):
            self.notes.append(Note(what, path, offset, data))

    def images(self, moment: int, seeds: int) -> Iterator[dict[str, bytes]]:
        """The files as a power cut after so many notes may leave them: only what was synced, all, and some."""
        contents = self._contents(moment)
        for chance in (0.0, 1.0, *(0.5 for _ in range(seeds))):
            some = random.Random(f"{moment} {chance}")
            built = {path: _built(content, some, chance) for path, content in contents.items()}
            yield {path: data for path, data in built.items() if data is not None}

    def _contents(self, moment: int) -> dict[str, _Content]:
        contents = {path: _Content(data) for path, data in self._before.items()}
        for note in self.notes[:moment]:
            if note.what == "sync_folder":
                for path, content in contents.items():
                    if os.path.dirname(path) == note.path:
                        _keep_name(content)
                continue
            content = contents.setdefault(note.path, _Content(None))
            if note.what == "sync":
                content.durable, content.pending = _built(content, random.Random(), 1.0), []
            else:
                content.pending.append(note)
        return contents


def _keep_name(content: _Content) -> None:
    """Let a deletion that was not synced be for good; what came after it is still to be synced."""
    gone = [at for at, note in enumerate(content.pending) if note.what == "delete"]
    if gone:
        content.durable, content.pending = None, content.pending[gone[-1] + 1 :]


def _built(content: _Content, some: random.Random, chance: float) -> bytes | None:
    data = content.durable
    for note in content.pending:
        happens = some.random() < chance
        if note.what == "delete":
            data = None if happens else data
        elif note.what == "create":
            data = (b"" if happens else None) if data is None else data
        elif data is not None and note.what == "truncate" and happens:
            data = data[: note.offset].ljust(note.offset, b"\0")
        elif data is not None and note.what == "write":
            data = _written(data, note, some, chance)
    return data


def _written(data: bytes, note: Note, some: random.Random, chance: float) -> bytes:
    """Some sectors of a write."""
    for at in range(0, len(note.data), _SECTOR):
        if some.random() < chance:
            part, offset = note.data[at : at + _SECTOR], note.offset + at
            data = data.ljust(offset, b"\0")
            data = data[:offset] + part + data[offset + len(part) :]
    return data


@contextmanager
def recorded(disk: RecordedDisk, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Note all that SQLite and this process do to files of the disk; connections are to be closed inside."""
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = POINTER(_Vfs)
    original = library.sqlite3_vfs_find(None)
    vfs = _around(original, disk)
    really: Callable[[int], None] = os.fsync

    def fsync(fd: int) -> None:
        really(fd)
        path = os.readlink(f"/proc/self/fd/{fd}")
        disk.note("sync_folder" if os.path.isdir(path) else "sync", path)

    assert library.sqlite3_vfs_register(ctypes.byref(vfs), 1) == 0
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fsync)
        try:
            yield
        finally:
            library.sqlite3_vfs_register(original, 1)
            library.sqlite3_vfs_unregister(ctypes.byref(vfs))


_KEPT: list[Any] = []  # what SQLite may still point at


def _around(original: Any, disk: RecordedDisk) -> _Vfs:
    """A VFS that does as the original does, and notes it."""
    paths: dict[int, str] = {}  # by the address of an open file
    tables: dict[int, _Methods] = {}  # by the address of the original's
    new_journals: set[int] = set()

    def methods_around(theirs: Any) -> _Methods:
        own, address = _Methods(), ctypes.addressof(theirs)
        ctypes.memmove(ctypes.byref(own), address, ctypes.sizeof(_Methods))

        def write(file: int, data: int, size: int, offset: int) -> int:
            disk.note("write", paths[file], offset, ctypes.string_at(data, size))
            return theirs.write(file, data, size, offset)

        def truncate(file: int, size: int) -> int:
            disk.note("truncate", paths[file], size)
            return theirs.truncate(file, size)

        def sync(file: int, flags: int) -> int:
            code = theirs.sync(file, flags)
            disk.note("sync", paths[file])
            if file in new_journals:  # SQLite syncs their folder with them, once
                new_journals.remove(file)
                disk.note("sync_folder", os.path.dirname(paths[file]))
            return code

        own.write, own.truncate, own.sync = _WRITE(write), _TRUNCATE(truncate), _SYNC(sync)
        return own

    def open_file(_vfs: int, name: int | None, file: int, flags: int, told: int | None) -> int:
        path = os.fsdecode(ctypes.string_at(name)) if name else ""
        is_new = bool(path) and not os.path.exists(path)
        code = original.contents.open(ctypes.addressof(original.contents), name, file, flags, told)
        opened = ctypes.cast(file, POINTER(_File)).contents
        if code == 0 and path:
            theirs = opened.methods.contents
            address = ctypes.addressof(theirs)
            if address not in tables:
                tables[address] = methods_around(theirs)
            paths[file] = path
            opened.methods = ctypes.pointer(tables[address])
            new_journals.discard(file)
            if is_new:
                disk.note("create", path)
                if path.endswith(("-journal", "-wal")):
                    new_journals.add(file)
        return code

    def delete(_vfs: int, name: bytes, sync_folder: int) -> int:
        code = original.contents.delete(ctypes.addressof(original.contents), name, sync_folder)
        if code == 0:
            disk.note("delete", os.fsdecode(name))
            if sync_folder:
                disk.note("sync_folder", os.path.dirname(os.fsdecode(name)))
        return code

    vfs = _Vfs()
    ctypes.memmove(ctypes.byref(vfs), original, ctypes.sizeof(_Vfs))
    vfs.name = b"recorded"
    vfs.open, vfs.delete = _OPEN(open_file), _DELETE(delete)
    _KEPT.append((vfs, tables, open_file, delete))
    return vfs
