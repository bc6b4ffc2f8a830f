"""Ids: ULIDs as everyone else writes and reads them, and they only grow."""

import time
from datetime import UTC, datetime

import pytest

from mulligan.domain.text.ids import as_id_prefix, time_of, ulid_text
from mulligan.wiring.system_clock import UlidSource

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def test_the_text_is_that_of_the_specification() -> None:
    # The example of the specification, and the two ends of the range.
    assert ulid_text(0x01563E3AB5D3D6764C61EFB99302BD5B) == "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    assert ulid_text(0) == "0" * 26
    assert ulid_text((1 << 128) - 1) == "7" + "Z" * 25


def test_an_id_tells_when_it_was_made_and_is_accepted_as_one() -> None:
    before = time.time_ns() // 1_000_000
    made = UlidSource().new()
    after = time.time_ns() // 1_000_000
    value = sum(CROCKFORD.index(char) << shift for char, shift in zip(made, range(125, -1, -5), strict=True))
    assert before <= value >> 80 <= after
    assert time_of(made) == datetime.fromtimestamp((value >> 80) // 1000, UTC)
    assert as_id_prefix(made) == made


def test_ids_of_one_process_only_grow_even_when_the_clock_is_set_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, now = UlidSource(), time.time_ns()
    made = [source.new() for _ in range(5000)]
    monkeypatch.setattr(time, "time_ns", lambda: now - 3_600_000_000_000)
    made += [source.new() for _ in range(10)]
    assert made == sorted(set(made))


def test_two_processes_do_not_make_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)
    assert UlidSource().new() != UlidSource().new()
