"""JSON is read and written as the module `json` does, whichever way is taken."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.text.json_value import indented_json, read_json

TEXTS = st.text(st.characters(exclude_categories=())) | st.text('ab\x7f"\\/\n\x00é\ud800')
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


@given(VALUES)
def test_a_document_is_written_as_json_writes_it(value: Any) -> None:
    assert indented_json(value) == json.dumps(value, indent=2)


@given(VALUES)
def test_what_json_wrote_is_read_again(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert read_json(text) == value
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "-Infinity",
        "1E400",
        "-0",
        "-0.0",
        "123456789012345678901234567890",
        '"\\ud800"',
        '{"a":1,"a":2}',
        " [1] ",
    ],
)
def test_unusual_texts_are_read_as_json_reads_them(text: str) -> None:
    assert repr(read_json(text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["", "{", "[1,]", '"\t"', b"\xff", "\ufeff1", "[1] 2"])
def test_what_is_not_json_is_an_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the errors of `json` and of what it decodes
        json.loads(text)
    with pytest.raises(ValueError):  # noqa: PT011 - see above
        read_json(text)
