"""Pack files: immutable files that hold many objects and, at the end, the index over them.

    header    magic, version
    records   the objects' bytes back to back, each as it is or compressed
    index     all ids, sorted; then for each in that order: offset, stored length, raw length, coding, kind
    trailer   offset and count of the index, checksum over header, index and these two numbers, end mark

Every byte is covered: records by the ids (BLAKE3 of the raw bytes), all else by the checksum. A pack has no
name until it is written and durable, so one that can be seen is complete.
"""

import struct
import threading
from bisect import bisect_left
from enum import IntEnum
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from blake3 import blake3

from mulligan import errors

if TYPE_CHECKING:
    from mulligan.ports import PackStorage

ID_LENGTH = 32
HEADER = b"MLGNPACK" + struct.pack("<I", 1)
_END = b"KCAPNGLM"
ROW = struct.Struct("<QIIBB")
_TRAILER = struct.Struct("<QI32s8s")
_threads = threading.local()
_FEW = 4_096  # objects: a set of them is made in less than a millisecond


class Kind(IntEnum):
    """The kind of an object, for code that walks packs without trees."""

    BLOB = 0
    CHUNK_LIST = 1
    TREE = 2


class Coding(IntEnum):
    """The encoding of an object's bytes in the pack."""

    RAW = 0
    ZSTD = 1


class Row(NamedTuple):
    """The position of one object in its pack."""

    offset: int
    stored: int
    raw: int
    coding: int
    kind: int


def hash_of(data: bytes | memoryview) -> bytes:
    """The id of an object."""
    return blake3(data).digest()


def size_of_pack(stored_bytes: int, count: int) -> int:
    """Return the size of a pack with so many objects."""
    return len(HEADER) + stored_bytes + count * (ID_LENGTH + ROW.size) + _TRAILER.size


def trailer_of(offset: int, count: int, index: bytes) -> bytes:
    """Return the trailer at the end of a pack."""
    checksum = blake3(HEADER + struct.pack("<QI", offset, count)).update(index).digest()
    return _TRAILER.pack(offset, count, checksum, _END)


class Pack:
    """A finished pack in its storage, the index in memory."""

    def __init__(self, storage: "PackStorage", name: str, size: int, index: bytes) -> None:
        """`index` is the pack's own, as it was written or checked."""
        self._storage = storage
        self.name = name
        self.size = size
        self._count = count = len(index) // (ID_LENGTH + ROW.size)
        self._ids = index[: ID_LENGTH * count]
        self._rows = index[ID_LENGTH * count :]

    @classmethod
    def open(cls, storage: "PackStorage", name: str) -> "Pack":
        """Read and check the index; SnapshotDamaged where it is not what was written."""
        size = storage.size(name)
        header = storage.read(name, 0, len(HEADER))
        trailer = storage.read(name, max(0, size - _TRAILER.size), _TRAILER.size)
        if header != HEADER or len(trailer) != _TRAILER.size or trailer[-len(_END) :] != _END:
            raise errors.SnapshotDamaged(object=name, reason="it is cut off or not a pack")
        offset, count, _, _ = _TRAILER.unpack(trailer)
        if offset + count * (ID_LENGTH + ROW.size) + _TRAILER.size != size:
            raise errors.SnapshotDamaged(object=name, reason="its length is not what its trailer says")
        index = storage.read(name, offset, size - offset - _TRAILER.size)
        if trailer_of(offset, count, index) != trailer:
            raise errors.SnapshotDamaged(object=name, reason="its index is not what was written")
        return cls(storage, name, size, index)

    @cached_property
    def ids(self) -> tuple[bytes, ...]:
        """The ids of all objects, sorted. Few who open a pack ask for them all."""
        return struct.unpack(f"{ID_LENGTH}s" * self._count, self._ids)

    @cached_property
    def _few(self) -> frozenset[bytes]:
        return frozenset(self.ids)

    def __contains__(self, object_id: bytes) -> bool:
        if self._count <= _FEW:
            return object_id in self._few
        return self._id_at(self._position(object_id)) == object_id

    def row(self, object_id: bytes) -> Row:
        return Row(*ROW.unpack_from(self._rows, self._position(object_id) * ROW.size))

    def places(self) -> "dict[bytes, Pack]":
        """Every id of the pack, with the pack."""
        return dict(zip(self.ids, repeat(self)))

    def read(self, object_id: bytes) -> bytes:
        """An object's raw bytes, proved by their hash."""
        row = self.row(object_id)
        return self._proved(object_id, row, self._storage.read(self.name, row.offset, row.stored))

    def stored(self, object_id: bytes) -> tuple[Row, bytes]:
        """Return an object's encoded bytes, verified, to be copied into another pack."""
        row = self.row(object_id)
        stored = self._storage.read(self.name, row.offset, row.stored)
        self._proved(object_id, row, stored)
        return row, stored

    def _position(self, object_id: bytes) -> int:
        return bisect_left(range(self._count), object_id, key=self._id_at)

    def _id_at(self, position: int) -> bytes:
        return self._ids[position * ID_LENGTH : (position + 1) * ID_LENGTH]

    def _proved(self, object_id: bytes, row: Row, stored: bytes) -> bytes:
        data = stored if row.coding == Coding.RAW else _expand(stored, row.raw)
        if data is None or hash_of(data) != object_id:
            raise errors.SnapshotDamaged(
                object=object_id.hex(), reason=f"its bytes in pack {self.name} are not what was stored"
            )
        return data


def _expand(stored: bytes, raw: int) -> bytes | None:
    """Decompress to the length that is known; None for what cannot be decompressed to it."""
    import zstandard  # here: the trees of small folders are stored as they are

    try:
        claimed = zstandard.frame_content_size(stored)
        # Frames are written without a size: one that names another was changed, and may name terabytes.
        if claimed not in (-1, raw):
            return None
        if not hasattr(
            _threads, "decompressor"
        ):  # one that is made for each object takes as long as the work
            _threads.decompressor = zstandard.ZstdDecompressor()
        return _threads.decompressor.decompress(stored, max_output_size=raw)
    except (zstandard.ZstdError, MemoryError):
        return None
