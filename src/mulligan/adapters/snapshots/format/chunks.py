"""Chunks: the division of a file's bytes into objects.

A file up to CHUNKED_ABOVE is one object. A larger one is a list of the ids of its chunks, which is an object
too, so that a page changed in a large database costs one chunk and the list. Chunks of 256 KiB cost less for
a changed page than larger ones until a file has gigabytes (the list has 32 bytes each), and hashing them
apart costs nothing measurable. Size alone decides, so equal contents have equal ids.
"""

from collections.abc import Callable, Iterator

from mulligan import errors
from mulligan.adapters.snapshots.format.pack_format import ID_LENGTH
from mulligan.adapters.snapshots.format.tree_format import Entry

CHUNK = 256 * 1024
CHUNKED_ABOVE = 1024 * 1024


def pieces(entry: Entry, read: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """The bytes of a stored file in order; SnapshotDamaged where they are not as long as the entry says."""
    if entry.size <= CHUNKED_ABOVE:
        found = iter((read(entry.id),))
    else:
        found = (read(object_id) for object_id in chunk_ids(entry, read(entry.id)))
    length = 0
    for data in found:
        length += len(data)
        yield data
    if length != entry.size:
        raise errors.SnapshotDamaged(
            object=entry.id.hex(), reason=f"it holds {length} bytes, not {entry.size}"
        )


def chunk_ids(entry: Entry, listed: bytes) -> list[bytes]:
    """The ids in a chunk list; SnapshotDamaged where it is not one of this file."""
    if len(listed) != ID_LENGTH * -(-entry.size // CHUNK):
        raise errors.SnapshotDamaged(object=entry.id.hex(), reason="it is not the chunk list of its file")
    return [listed[at : at + ID_LENGTH] for at in range(0, len(listed), ID_LENGTH)]
