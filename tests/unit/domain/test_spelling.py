"""What programs tell a terminal is no part of what they say."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.text.inert_text import Inert, without_escapes


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


SGR = re.compile(r"\x1b\[[0-9;:]*m")
# What sequences are made of, more often than chance would have it, and whatever else there is.
PIECES = st.one_of(
    st.sampled_from(
        [b"\x1b", b"[", b"]", b"P", b"\\", b"m", b"0", b"8", b"31", b";", b":", b"2J", b"\x07", b"\n", b"\r"]
    ),
    st.sampled_from(
        [b"\xc2", b"\x9b", b"\x9d", b"\x9c", b"\xe2\x80\xae", b"x" * 4094, b"\x18", b" ", b"38;5;8"]
    ),
    st.binary(max_size=4),
)


def shown(encoding: str, *pieces: bytes) -> str:
    inert = Inert(encoding)
    return b"".join([*map(inert.piece, pieces), inert.rest()]).decode(encoding)


@given(
    printed=st.lists(PIECES, max_size=40).map(b"".join),
    cuts=st.lists(st.integers(0, 200), max_size=8),
    encoding=st.sampled_from(["utf-8", "latin-1", "ascii", "gb18030"]),
)
def test_whatever_is_printed_and_wherever_it_is_cut_only_colours_reach_the_terminal(
    printed: bytes, cuts: list[int], encoding: str
) -> None:
    places = [0, *sorted(min(cut, len(printed)) for cut in cuts), len(printed)]
    text = shown(encoding, *(printed[start:end] for start, end in pairwise(places)))
    said = SGR.sub("", text)
    assert not re.search("[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", said)
    assert not any("8" in re.split("[;:]", codes[2:-1])[:1] for codes in SGR.findall(text)), (
        "nothing is hidden"
    )
    assert said == SGR.sub("", shown(encoding, printed)), "where it is cut makes no difference"


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (b"plain\n\ttext", "plain\n\ttext"),
        ("Größe 10 %\r20 %".encode(), "Größe 10 %\r20 %"),
        (b"\x1b[1;31mred\x1b[0m plain", "\x1b[1;31mred\x1b[0m plain"),
        (b"\x1b[31mred\n", "\x1b[31mred\x1b[0m\n"),
        (b"\x1b[31mred \x1b[0;4mline\x1b[m.", "\x1b[31mred \x1b[0;4mline\x1b[m."),
        (b"\xc2\x9b32mgreen\x1b[m", "\x1b[32mgreen\x1b[m"),
        (b"\x1b[38;5;8mgrey\x1b[m", "\x1b[38;5;8mgrey\x1b[m"),
        (b"\x1b[38;2;8;8;8mgrey\x1b[m", "\x1b[38;2;8;8;8mgrey\x1b[m"),
        (b"\x1b[38mnone\x1b[m", "\x1b[38mnone\x1b[m"),
        (b"\x1b[1;8mhidden", "hidden"),
        (b"\x1b[>4;2mkeys", "keys"),
        (b"\x1b]52;c;ZXZpbA==\x07text", "text"),
        (b"\x1b]52;c;never ended\ntext", "\\x1b]52;c;never ended\ntext"),
        (b"\x1b]0;" + b"x" * 5000, "\\x1b]0;" + "x" * 5000),
        (b"bell\x07 \x9b2J", "bell\\x07 \\x9b2J"),
        ("\u202egnp.exe".encode(), "\\u202egnp.exe"),
        (b"the end \x1b", "the end \\x1b"),
        (b"the end \xc3", "the end \\xc3"),
    ],
)
def test_colours_and_progress_stay_and_the_rest_is_left_out_or_spelled(printed: bytes, said: str) -> None:
    assert shown("utf-8", printed) == said


def test_colours_do_not_last_beyond_a_piece_and_go_on_with_the_next() -> None:
    inert = Inert("utf-8")
    assert inert.piece(b"\x1b[31mred\n") == b"\x1b[31mred\x1b[0m\n"
    assert inert.piece(b"and on") == b"\x1b[31mand on\x1b[0m"
    assert inert.piece(b"\x1b[") == b""
    assert inert.piece(b"mplain") == b"\x1b[31m\x1b[mplain"
    assert inert.rest() == b""


def test_a_line_behind_a_name_does_not_write_over_it() -> None:
    inert = Inert("utf-8")
    assert inert.line(b"10 %\r20 %\b\b\r") == b"20 %"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (b"10 %\r\x1b[K20 %", b"10 %\r\x1b[K20 %"),
        (b"a\x1b[2K\x1b[1G\x1b[3C\x1b[D", b"a\x1b[2K\x1b[1G\x1b[3C\x1b[D"),
        ("\x9b2Kc".encode(), b"\x1b[2Kc"),
        (b"\x1b[2J\x1b[H\x1b[1A\x1b[1B\x1b[5;5Hd", b"d"),
        (b"\x1b[99999C\x1b[1;2Ke", b"e"),
        (b"\x1b]52;c;AA==\x07\x1b[?25lf", b"f"),
    ],
)
def test_a_program_with_a_line_of_its_own_moves_within_it_and_nowhere_else(
    printed: bytes, shown: bytes
) -> None:
    inert = Inert("utf-8", draws_a_line=True)
    assert inert.piece(printed) + inert.rest() == shown
    strict = Inert("utf-8")
    assert b"\x1b" not in strict.piece(printed) + strict.rest()
