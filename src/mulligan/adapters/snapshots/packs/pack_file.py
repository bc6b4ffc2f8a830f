"""Packs on their way: objects go in, and it is seen when all of it is durable."""

from typing import NamedTuple

import zstandard

from mulligan.adapters.snapshots.format.pack_format import (
    HEADER,
    ROW,
    Coding,
    Kind,
    Pack,
    Row,
    size_of_pack,
    trailer_of,
)
from mulligan.ports import PackStorage

_PAYS_BELOW = 0.95  # compressed to more than this, an object is stored as it is: reading it back is then free
_LEVEL = 1  # measured on source text: 280 MB/s to 32 %; level 3: 220 MB/s to 31 %; level -5: 410 MB/s to 49 %


class NewObject(NamedTuple):
    """An object on its way into a pack."""

    id: bytes
    kind: Kind
    data: bytes


class PackFile:
    """A pack that is being written."""

    def __init__(self, storage: PackStorage) -> None:
        self._storage = storage
        self._draft = storage.draft()
        self._file = self._draft.file
        self._file.write(HEADER)
        self._offset = len(HEADER)
        # Packed at once: many small tuples keep the garbage collector busy.
        self._rows: dict[bytes, bytes] = {}
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, write_content_size=False)

    def append(self, batch: "list[NewObject]") -> None:
        """Add objects, each compressed where that pays."""
        for new, squeezed in zip(batch, self._squeeze([new.data for new in batch]), strict=True):
            stored, coding = new.data, Coding.RAW
            if len(squeezed) < len(new.data) * _PAYS_BELOW:
                stored, coding = squeezed, Coding.ZSTD
            self._file.write(stored)
            self._rows[new.id] = ROW.pack(self._offset, len(stored), len(new.data), coding, new.kind)
            self._offset += len(stored)

    def _squeeze(self, batch: list[bytes]) -> list[bytes]:
        """Compress a batch in one call: giving the GIL back per object costs a third of a first capture."""
        # Not in every build of zstandard.
        together = getattr(self._compressor, "multi_compress_to_buffer", None)
        if together is None or not all(batch):
            return [self._compressor.compress(data) for data in batch]
        return [segment.tobytes() for segment in together(batch, threads=1)]

    def take(self, object_id: bytes, row: Row, stored: bytes) -> None:
        """Add an object as it is encoded in another pack."""
        self._file.write(stored)
        self._rows[object_id] = ROW.pack(self._offset, len(stored), row.raw, row.coding, row.kind)
        self._offset += len(stored)

    @property
    def is_full(self) -> bool:
        """Return whether the next objects belong into another pack."""
        return size_of_pack(self._offset, len(self._rows)) >= self._storage.pack_limit

    def finish(self, name: str) -> Pack:
        """Write the index and put the pack, durable and seen, into the storage."""
        ids = sorted(self._rows)
        index = b"".join([*ids, *(self._rows[object_id] for object_id in ids)])
        self._file.write(index)
        self._file.write(trailer_of(self._offset, len(ids), index))
        size = self._file.tell()
        self._draft.put(name)
        # Not read back: from now on another process may join it with others at any moment.
        return Pack(self._storage, name, size, index)

    def close(self) -> None:
        """Be done with it: one that is not in the storage is gone."""
        self._draft.close()
