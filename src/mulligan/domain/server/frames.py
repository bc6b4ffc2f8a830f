"""Frames: a list of byte strings on a stream, in a form that a client in C writes in a few lines.

    magic   4 bytes, with the version of the protocol
    count   4 bytes, how many fields
    length  4 bytes, of all that follows
    fields  each 4 bytes of length and its bytes

All numbers are little-endian. A frame from a program that speaks another version is refused by its first bytes.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False  # that of `typing`, which takes longer to load than a short command's front end has
if TYPE_CHECKING:
    from collections.abc import Sequence

MAGIC = b"mlg1"
MOST_BYTES = 16 << 20  # of one frame
MOST_FIELDS = 64
_HEAD = struct.Struct("<4sII")
_LENGTH = struct.Struct("<I")
HEAD_LENGTH = _HEAD.size


class FrameWrong(Exception):
    """Bytes that are not a frame of this protocol."""


def encode(fields: Sequence[bytes]) -> bytes:
    """Return the frame with these fields."""
    body = b"".join(part for field in fields for part in (_LENGTH.pack(len(field)), field))
    return _HEAD.pack(MAGIC, len(fields), len(body)) + body


def body_length(head: bytes) -> int:
    """Return how many bytes follow the first ones of a frame."""
    magic, count, length = _HEAD.unpack(head)
    if magic != MAGIC:
        raise FrameWrong("it is of another protocol")
    if count > MOST_FIELDS or length > MOST_BYTES:
        raise FrameWrong("it is too large")
    return length


def decode(head: bytes, body: bytes) -> list[bytes]:
    """Return the fields of a frame."""
    _, count, length = _HEAD.unpack(head)
    if len(body) != length:
        raise FrameWrong("it is cut off")
    fields: list[bytes] = []
    at = 0
    for _ in range(count):
        if at + _LENGTH.size > length:
            raise FrameWrong("a field is missing")
        (size,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        if at + size > length:
            raise FrameWrong("a field is longer than the frame")
        fields.append(body[at : at + size])
        at += size
    if at != length:
        raise FrameWrong("it is longer than its fields")
    return fields
