"""Signatures: the stat of a name, packed, so that a changed file shows by comparing a few bytes."""

import os
import stat
import struct
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple, TypeAlias

Fields: TypeAlias = tuple[int, int, int, int, int, int, int]  # in the order of FIELDS

FIELDS = attrgetter("st_mode", "st_nlink", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_dev")
COARSE_GRAIN_NS = 2_000_000_000  # filesystems that stamp whole seconds, or every other one
_FINE_GRAIN_NS = 20_000_000  # two ticks of the slowest kernel clock that stamps files
_SECOND_NS = 1_000_000_000
_LAYOUT = struct.Struct("<IIQqqqQ")  # _walk.c packs the same
_MASKS = (0xFFFFFFFF, 0xFFFFFFFF, (1 << 64) - 1, (1 << 63) - 1, (1 << 63) - 1, (1 << 63) - 1, (1 << 64) - 1)
_FACTS = struct.Struct("<I12xqq16x")
_SIZE = struct.Struct("<I12xq24x")
_INODE = struct.Struct("<8xQ32x")
SIGNATURE_LENGTH = _LAYOUT.size


def signature(st: os.stat_result) -> bytes:
    """Pack the facts that differ for a changed file: quick to compare and to load."""
    return packed(FIELDS(st))


def packed(fields: Fields) -> bytes:
    """Return the signature of a stat result."""
    try:
        return _LAYOUT.pack(*fields)
    except struct.error:  # times beyond the year 2262
        return _LAYOUT.pack(*(value & mask for value, mask in zip(fields, _MASKS, strict=True)))


def fields_of(signature: bytes) -> Fields:
    """Return the fields of a signature."""
    return _LAYOUT.unpack(signature)


def is_racy(ctime_ns: int, started_ns: int) -> bool:
    """Return whether a file could still change with the same times, seen from the start of a scan.

    Every change sets the ctime, and no program can set it to another value: an mtime in the future means nothing.
    """
    coarse = ctime_ns % _SECOND_NS == 0
    grain = COARSE_GRAIN_NS if coarse else _FINE_GRAIN_NS
    return ctime_ns >= started_ns - grain


def inode_and_links(signature: bytes) -> tuple[tuple[int, int], int]:
    """The inode (device, number) and the link count in a signature."""
    _, links, inode, _, _, _, device = _LAYOUT.unpack(signature)
    return (device, inode), links


def inodes_in(signatures: bytes) -> Iterator[int]:
    """Yield the inode numbers in signatures, without taking these apart."""
    return (inode for (inode,) in _INODE.iter_unpack(signatures))


def matches(signature: bytes, st_mode: int, size: int | None, mtime_ns: int) -> bool:
    """Return whether a signature has this kind and mode, size (None: any) and mtime."""
    found_mode, _, _, found_size, found_mtime, _, _ = _LAYOUT.unpack(signature)
    return found_mode == st_mode and size in (None, found_size) and found_mtime == mtime_ns


def measured(signatures: bytes) -> tuple[int, int]:
    """Return how many signatures are not of folders, and how many bytes the files among them hold."""
    count = size = 0
    for mode, length in _SIZE.iter_unpack(signatures):
        kind = mode & 0o170000
        count += kind != stat.S_IFDIR
        size += length if kind == stat.S_IFREG else 0
    return count, size


def is_alike(listing: "Listing", other: "Listing | None") -> bool:
    """Return whether two folders have the same names, with the same modes, sizes and mtimes."""
    if other is None or listing.names != other.names:
        return False
    return list(_FACTS.iter_unpack(listing.signatures)) == list(_FACTS.iter_unpack(other.signatures))


class Listing(NamedTuple):
    """The names of a folder with their signatures, in two pieces: unchanged folders are never taken apart."""

    names: bytes  # sorted by their bytes, with zero bytes between them
    signatures: bytes

    @property
    def held(self) -> int:
        """The number of names."""
        return len(self.signatures) // SIGNATURE_LENGTH

    def opened(self) -> dict[str, bytes]:
        """Signatures by name."""
        if not self.signatures:
            return {}
        parts = [
            self.signatures[at : at + SIGNATURE_LENGTH]
            for at in range(0, len(self.signatures), SIGNATURE_LENGTH)
        ]
        return dict(zip(os.fsdecode(self.names).split("\0"), parts, strict=True))


def listing_of(stats: dict[str, bytes]) -> Listing:
    """Put signatures by name together."""
    names = sorted((os.fsencode(name), name) for name in stats)
    return Listing(b"\0".join([raw for raw, _ in names]), b"".join([stats[name] for _, name in names]))
