"""What scripts read is always JSON, and what people see is always harmless."""

import json
import os
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from mulligan.api.document import encode, harmless, spell


class Colour(StrEnum):
    RED = "red"


class Inner(Struct, frozen=True):
    path: Path
    colour: Colour


class Outer(Struct, frozen=True):
    at: datetime
    inner: tuple[Inner, ...]
    more: dict[str, object]


def test_answers_become_documents_with_the_names_of_their_fields() -> None:
    paris = timezone(timedelta(hours=2))
    answer = Outer(
        at=datetime(2026, 5, 1, 12, 0, tzinfo=paris), inner=(Inner(Path("/a"), Colour.RED),), more={"n": None}
    )
    assert encode(answer) == {
        "at": "2026-05-01T10:00:00Z",
        "inner": [{"path": "/a", "colour": "red"}],
        "more": {"n": None},
    }


def test_bytes_that_are_not_utf8_are_spelled() -> None:
    assert spell("caf\udce9 é") == "caf\\xe9 é"


@given(st.binary())
def test_any_file_name_can_be_written_as_utf8_json(name: bytes) -> None:
    text = os.fsdecode(name)
    written = json.dumps(encode(text), ensure_ascii=False).encode("utf-8")
    assert json.loads(written) == name.decode("utf-8", "backslashreplace")


@given(st.text())
def test_any_text_comes_back_from_its_json(text: str) -> None:
    written = json.dumps(encode(text), ensure_ascii=False).encode("utf-8")
    assert json.loads(written) == text


@pytest.mark.parametrize(
    "text", ["\x1b[31mred\x1b[0m", "bell\a", "line\nbreak", "c1 \x9b1m", "right \u202e left"]
)
def test_control_characters_are_shown_and_not_obeyed(text: str) -> None:
    shown = harmless(text)
    assert shown.isprintable()
    assert shown != text


def test_what_can_be_seen_stays_as_it_is() -> None:
    assert harmless("naïve — 漢字") == "naïve — 漢字"
    assert encode(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00Z"
