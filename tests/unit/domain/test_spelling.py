"""What programs tell a terminal is no part of what they say."""

import pytest

from mulligan.domain.spelling import without_escapes


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\a link\x1b]8;;\x1b\\", "a link"),
        ("\x1bPdevice\x1b\\text", "text"),
        ("\x1b(Bascii\x1b=\x1b7\x1b8", "ascii"),
        ("plain\n\ttext", "plain\n\ttext"),
        ("\x1b]0;without an end\nthe rest", "\x1b]0;without an end\nthe rest"),
        ("the end \x1b", "the end \x1b"),
    ],
)
def test_escape_sequences_are_taken_out(printed: str, said: str) -> None:
    assert without_escapes(printed) == said


def test_many_beginnings_without_an_end_take_no_longer_than_they_are_long() -> None:
    text = "\x1b]0;" * 200_000
    assert without_escapes(text) == text
