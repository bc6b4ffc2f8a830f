"""The area at the lower end of a terminal."""

import io
import os

import pytest

from mulligan.cli.answers.answer import Span
from mulligan.cli.terminal.glyphs import has_signs, plain_signs
from mulligan.cli.terminal.screen import Screen
from tests.support.terminal import Terminal


class Sized(Screen):
    """A screen of a size that can be changed."""

    columns = 40

    @property
    def size(self) -> os.terminal_size:
        return os.terminal_size((self.columns, 5))


@pytest.fixture
def written() -> io.BytesIO:
    return io.BytesIO()


@pytest.fixture
def screen(written: io.BytesIO, monkeypatch: pytest.MonkeyPatch) -> Sized:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    return Sized(io.TextIOWrapper(written, "utf-8", write_through=True), terminal=True)


def shown(written: io.BytesIO, columns: int = 40) -> list[str]:
    return Terminal(columns, 5).feed(written.getvalue().replace(b"\n", b"\r\n")).text.split("\n")


def rows(*texts: str) -> list[tuple[Span, ...]]:
    return [(Span(text),) for text in texts]


def test_an_area_is_drawn_over_the_one_before_whichever_is_longer(screen: Sized, written: io.BytesIO) -> None:
    for area in (rows("one"), rows("a longer one", "two", "three"), rows("1", "2"), rows("last")):
        screen.update(b"", area)
        assert shown(written) == [row[0].text for row in area]
    screen.update(b"above\n", rows("one", "two"))
    screen.update(b"more\n", rows("one"))
    assert shown(written) == ["above", "more", "one"]
    screen.update(b"", ())
    assert shown(written) == ["above", "more"]


def test_what_is_too_long_is_cut_where_most_is_left(screen: Sized, written: io.BytesIO) -> None:
    screen.update(b"", [(Span("> "), Span("a name that is much too long for this"), Span("  12 s"))])
    assert shown(written) == ["> a name that is much too lon..  12 s"]
    screen.columns = 6
    screen.update(b"", [(Span("abc"), Span("日本語日本語"))])
    assert shown(written, 6)[-1] == "abc"


def test_what_does_not_fit_on_the_screen_is_left_out(screen: Sized, written: io.BytesIO) -> None:
    screen.update(b"", rows("1", "2", "3", "4", "5", "6"))
    assert shown(written) == ["1", "2", "3", "4"]


def test_a_terminal_that_was_made_narrower_has_broken_the_rows(screen: Sized, written: io.BytesIO) -> None:
    screen.update(b"", rows("x" * 30))
    screen.columns = 20
    screen.update(b"", rows("new"))
    assert b"\r\x1b[1Anew" in written.getvalue()


def test_what_others_wrote_over_is_nobodys(screen: Sized, written: io.BytesIO) -> None:
    screen.update(b"", rows("one", "two"))
    screen.forget()
    screen.update(b"", rows("three"))
    assert written.getvalue().count(b"A") == 0


def test_colours_are_left_out_where_they_are_not_wanted(
    written: io.BytesIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = (Span("● ", "bold green"), Span("\x1b]0;title\x07", "dim"), Span(""))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    stream = io.TextIOWrapper(written, "utf-8")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert (
        Screen(stream, terminal=True).styled(spans) == "\x1b[1;32m● \x1b[0m\x1b[2m\\x1b]0;title\\x07\x1b[0m"
    )
    assert "\x1b[" not in Screen(stream, terminal=False).styled(spans)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("LC_ALL", "C")
    assert Screen(stream, terminal=True).styled(spans) == "* \\x1b]0;title\\x07"
    assert Screen(stream, terminal=True).size == (80, 24), "of something that has none"


def test_a_stream_that_can_no_longer_be_written_to_stops_nothing() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        with pytest.raises(OSError, match="No space"):
            os.write(full.fileno(), b"the fault is there")
        screen = Screen(full, terminal=False)
        screen.update(b"words", ())
        assert os.write(full.fileno(), b"from now on it leads nowhere") == 28
        screen.update(b"more\n", ())
        assert screen.at_line_start


@pytest.mark.parametrize(
    ("encoding", "environ", "signs"),
    [
        ("utf-8", {"LANG": "de_DE.UTF-8"}, True),
        ("UTF8", {"LC_ALL": "C.utf8"}, True),
        ("utf-8", {"LC_CTYPE": "de_DE.UTF-8"}, True),
        ("utf-8", {"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, False),
        ("utf-8", {"LC_CTYPE": "C.UTF-8"}, False),
        ("utf-8", {"LC_CTYPE": "C.UTF-8", "LANG": "C.UTF-8"}, True),
        ("utf-8", {}, False),
        ("iso-8859-1", {"LANG": "de_DE.UTF-8"}, False),
        (None, {}, False),
    ],
)
def test_signs_are_drawn_where_the_locale_has_them(
    encoding: str | None, environ: dict[str, str], signs: bool
) -> None:
    assert has_signs(encoding, environ) is signs


def test_every_sign_has_a_plain_one_as_wide() -> None:
    drawn = "●×▸○◆·▪◀│├└─┬╯┴"
    assert len(plain_signs(drawn)) == len(drawn)
    assert plain_signs(drawn).isascii()
