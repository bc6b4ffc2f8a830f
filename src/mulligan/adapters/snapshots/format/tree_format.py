"""Trees: one object per folder, one record per entry, sorted by the bytes of the names.

A record is identity first, then what is kept beside it:

    kind, flags, mode, length of the name, size, id      fixed; id: content of a file, identity of a folder
    name; target of a symlink; hard-link group; user.* attributes
    -- up to here identity, from here on not
    mtime (seconds, nanoseconds), sparse; address of a folder

The identity of a folder is the hash over the identities of its records, so equal contents have equal ids on
any machine; its address is the hash of all of it, by which the store keeps and proves it. A snapshot's root
is a folder with the single entry "." and so keeps mode, attributes and mtime of the tree's own folder too.
"""

import os
import stat
import struct
import sys
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from mulligan import errors
from mulligan.adapters.snapshots.format.pack_format import ID_LENGTH, hash_of
from mulligan.adapters.snapshots.format.signatures import fields_of
from mulligan.domain.checkpoints.snapshot import Root

ROOT_NAME = "."  # the one entry of a snapshot's root; no folder can hold it otherwise
NO_ID = bytes(ID_LENGTH)
_MAGIC = b"mulligan tree 1\n"
_IDENTITY_MAGIC = b"mulligan identity 1\n"
_FIXED = struct.Struct(f"<BBHHQ{ID_LENGTH}s")
_TAIL = struct.Struct("<qIB")
_GROUP = struct.Struct("<I")
_COUNT = struct.Struct("<H")
_ATTRIBUTE = struct.Struct("<HI")
_HAS_GROUP = 1
_HAS_ATTRIBUTES = 2
_NANO = 1_000_000_000
_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()

Attributes: TypeAlias = tuple[tuple[bytes, bytes], ...]  # user.* names and values, sorted


class EntryKind(IntEnum):
    """The kind of an entry."""

    FILE = 1
    FOLDER = 2
    SYMLINK = 3
    # Something that cannot be held: only its name is kept, so that a restore leaves the place alone.
    UNHELD = 4


_KINDS = {kind.value: kind for kind in EntryKind}  # calling the class takes ten times as long
_TAIL_SIZES = {kind.value: _TAIL.size + (ID_LENGTH if kind is EntryKind.FOLDER else 0) for kind in EntryKind}


# A named tuple: a hundred thousand are made in a first capture, at a third of the cost.
class Entry(NamedTuple):
    """The entry of one name in a folder of a snapshot."""

    name: str  # bytes that are not UTF-8 as surrogates, like os.fsdecode
    kind: EntryKind
    mode: int = 0  # the lower twelve bits
    size: int = 0  # of a file's content or a link's target; 0 for a folder
    id: bytes = NO_ID  # content of a file, identity of a folder
    target: bytes = b""  # of a symlink
    group: bytes = b""  # the first path of the names that share this inode; empty: not shared
    attributes: Attributes = ()
    mtime_ns: int = 0
    sparse: bool = False  # has holes: written with holes again
    address: bytes = b""  # of a folder


def encode(entry: Entry) -> bytes:
    """The record of an entry."""
    name = os.fsencode(entry.name)
    flags = (_HAS_GROUP if entry.group else 0) | (_HAS_ATTRIBUTES if entry.attributes else 0)
    parts = [_FIXED.pack(entry.kind, flags, entry.mode, len(name), entry.size, entry.id), name, entry.target]
    if entry.group:
        parts += [_GROUP.pack(len(entry.group)), entry.group]
    if entry.attributes:
        parts.append(_COUNT.pack(len(entry.attributes)))
        for key, value in entry.attributes:
            parts += [_ATTRIBUTE.pack(len(key), len(value)), key, value]
    seconds, nanos = divmod(entry.mtime_ns, _NANO)
    parts += [_TAIL.pack(seconds, nanos, entry.sparse), entry.address]
    return b"".join(parts)


def plain_record(name: str, signature: bytes, object_id: bytes) -> bytes:
    """Return the record of a file without attributes, holes or other names, at half of what encoding costs."""
    mode, _, _, size, mtime_ns, _, _ = fields_of(signature)
    raw = os.fsencode(name)
    seconds, nanos = divmod(mtime_ns, _NANO)
    head = _FIXED.pack(EntryKind.FILE, 0, stat.S_IMODE(mode), len(raw), size, object_id)
    return head + raw + _TAIL.pack(seconds, nanos, 0)


def unheld_record(name: str) -> bytes:
    """The record of something that cannot be held."""
    return encode(Entry(name, EntryKind.UNHELD))


def kind_of(record: bytes) -> EntryKind:
    """The kind of an entry, without decoding the rest."""
    return _KINDS[record[0]]


def is_plain_file(record: bytes) -> bool:
    """Return whether an entry is a file without attributes, holes or other names."""
    return record[0] == EntryKind.FILE and not record[1] and not record[-1]


def stored_at(record: bytes) -> tuple[EntryKind, int, bytes]:
    """Return the object that a record refers to: kind, size, and the content id of a file or address of a folder."""
    kind, _, _, _, size, object_id = _FIXED.unpack_from(record)
    kind = EntryKind(kind)
    return kind, size, record[-ID_LENGTH:] if kind is EntryKind.FOLDER else object_id


def identity_part(record: bytes) -> bytes:
    """A record without what is kept beside identity."""
    return record[: -_TAIL.size - ID_LENGTH] if record[0] == EntryKind.FOLDER else record[: -_TAIL.size]


def own_part(record: bytes) -> bytes:
    """A folder's identity without that of its children: mode, name and attributes."""
    return record[: _FIXED.size - ID_LENGTH] + identity_part(record)[_FIXED.size :]


class Facts(NamedTuple):
    """The stat of a stored entry."""

    kind: EntryKind
    mode: int
    size: int
    mtime_ns: int
    shared: bool  # has a hard-link group


def facts_of(record: bytes) -> Facts:
    """The facts of a record, at a quarter of what decoding all of it costs."""
    kind, flags, mode, _, size, _ = _FIXED.unpack_from(record)
    end = len(record) - (ID_LENGTH if kind == EntryKind.FOLDER else 0)
    seconds, nanos, _ = _TAIL.unpack_from(record, end - _TAIL.size)
    return Facts(_KINDS[kind], mode, size, seconds * _NANO + nanos, bool(flags & _HAS_GROUP))


def decode(record: bytes) -> Entry:
    """The entry of a record."""
    entry, _ = _decode_at(record, 0)
    return entry


def folder_object(records: dict[str, bytes]) -> tuple[bytes, bytes]:
    """The object of a folder, and its identity."""
    ordered = [records[name] for name in sorted(records, key=os.fsencode)]
    return _MAGIC + b"".join(ordered), identity_of(ordered)


def identity_of(records: Iterable[bytes]) -> bytes:
    """The identity of a folder whose records are given in order."""
    return hash_of(_IDENTITY_MAGIC + b"".join(map(identity_part, records)))


def split(address: bytes, data: bytes) -> dict[str, bytes]:
    """The records of a folder's object by name; SnapshotDamaged where it is not one."""
    records = _records(address, data)
    if ROOT_NAME in records:
        raise errors.SnapshotDamaged(
            object=address.hex(), reason="it is a snapshot's root, not a folder in it"
        )
    return records


def split_root(address: bytes, data: bytes) -> dict[str, bytes]:
    """The one record of a snapshot's root; SnapshotDamaged where it is not one."""
    records = _records(address, data)
    if list(records) != [ROOT_NAME] or kind_of(records[ROOT_NAME]) is not EntryKind.FOLDER:
        raise errors.SnapshotDamaged(object=address.hex(), reason="it is not the root of a snapshot")
    return records


def _records(address: bytes, data: bytes) -> dict[str, bytes]:
    """Split without decoding, in one loop: every look at a large tree comes through here."""
    records: dict[str, bytes] = {}
    position, size_of_all = len(_MAGIC), len(data)
    if data[:position] != _MAGIC:
        raise errors.SnapshotDamaged(object=address.hex(), reason="it is not a folder")
    fixed, unpack, tails = _FIXED.size, _FIXED.unpack_from, _TAIL_SIZES
    try:
        while position < size_of_all:
            kind, flags, _, length, size, _ = unpack(data, position)
            if flags:
                entry, end = _decode_at(data, position)
                records[entry.name] = data[position:end]
            else:
                name_end = position + fixed + length
                end = name_end + tails[kind]
                if kind == EntryKind.SYMLINK:
                    end += size
                if end > size_of_all:
                    raise ValueError("cut off")
                records[_name(data[position + fixed : name_end])] = data[position:end]
            position = end
    except KeyError as exc:
        raise errors.SnapshotDamaged(object=address.hex(), reason=f"{exc} is not a kind of entry") from exc
    except (struct.error, ValueError) as exc:
        raise errors.SnapshotDamaged(
            object=address.hex(), reason=f"its entries cannot be read: {exc}"
        ) from exc
    return records


def _decode_at(data: bytes, position: int) -> tuple[Entry, int]:
    kind, flags, mode, length, size, object_id = _FIXED.unpack_from(data, position)
    kind = EntryKind(kind)
    position += _FIXED.size
    name = _name(data[position : position + length])
    position += length
    target = group = b""
    attributes: Attributes = ()
    if kind is EntryKind.SYMLINK:
        target = data[position : position + size]
        position += size
    if flags & _HAS_GROUP:
        (length,) = _GROUP.unpack_from(data, position)
        position += _GROUP.size
        group = data[position : position + length]
        position += length
    if flags & _HAS_ATTRIBUTES:
        attributes, position = _attributes_at(data, position)
    seconds, nanos, sparse = _TAIL.unpack_from(data, position)
    position += _TAIL.size
    address = b""
    if kind is EntryKind.FOLDER:
        address = data[position : position + ID_LENGTH]
        position += ID_LENGTH
    if position > len(data):
        raise ValueError("cut off")
    mtime_ns = seconds * _NANO + nanos
    entry = Entry(
        name, kind, mode, size, object_id, target, group, attributes, mtime_ns, bool(sparse), address
    )
    return entry, position


def _name(raw: bytes) -> str:
    # A name that leads elsewhere must not reach a restore, whatever process wrote the object.
    if not raw or raw == b".." or b"/" in raw or b"\0" in raw:
        raise ValueError(f"{raw!r} is not a name")
    return raw.decode(_ENCODING, _ERRORS)  # os.fsdecode, at half the cost


def _attributes_at(data: bytes, position: int) -> tuple[Attributes, int]:
    (count,) = _COUNT.unpack_from(data, position)
    position += _COUNT.size
    found: list[tuple[bytes, bytes]] = []
    for _ in range(count):
        key, value = _ATTRIBUTE.unpack_from(data, position)
        position += _ATTRIBUTE.size
        found.append((data[position : position + key], data[position + key : position + key + value]))
        position += key + value
    return tuple(found), position


def address_of(root: Root) -> bytes:
    """Return the address of a stored tree; SnapshotDamaged if it is not valid."""
    try:
        return bytes.fromhex(root.address)
    except ValueError as exc:
        raise errors.SnapshotDamaged(object=root.address, reason="this is not an address") from exc
