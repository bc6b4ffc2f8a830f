"""Frames between the local server and its clients: what is sent arrives, and nothing else is taken for a frame."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.server import frames
from mulligan.domain.server.frames import HEAD_LENGTH, FrameWrong, body_length, decode, encode


def taken_apart(data: bytes) -> list[bytes]:
    head = data[:HEAD_LENGTH]
    assert body_length(head) == len(data) - HEAD_LENGTH
    return decode(head, data[HEAD_LENGTH:])


@given(st.lists(st.binary(max_size=300), max_size=8))
def test_the_fields_of_a_frame_arrive_as_they_were_sent(fields: list[bytes]) -> None:
    assert taken_apart(encode(fields)) == fields


@given(st.binary(min_size=HEAD_LENGTH, max_size=60))
def test_other_bytes_are_refused_by_name(data: bytes) -> None:
    with pytest.raises(FrameWrong):
        body_length(data[:HEAD_LENGTH])


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=4), st.data())
def test_a_damaged_frame_is_refused_or_has_as_many_bytes(fields: list[bytes], data: st.DataObject) -> None:
    frame = bytearray(encode(fields))
    place = data.draw(st.integers(4, len(frame) - 1))
    frame[place] ^= data.draw(st.integers(1, 255))
    head, body = bytes(frame[:HEAD_LENGTH]), bytes(frame[HEAD_LENGTH:])
    try:
        body_length(head)
        found = decode(head, body)
    except FrameWrong:
        return
    assert sum(map(len, found)) + 4 * len(found) == len(body)


def test_a_frame_that_would_fill_the_memory_is_refused_by_its_head() -> None:
    with pytest.raises(FrameWrong, match="too large"):
        body_length(encode([b"x"])[:8] + (frames.MOST_BYTES + 1).to_bytes(4, "little"))
    with pytest.raises(FrameWrong, match="too large"):
        body_length(frames.MAGIC + (frames.MOST_FIELDS + 1).to_bytes(4, "little") + bytes(4))
