"""Long texts lose their middle, and it is told how much."""

from mulligan.domain.views.excerpt import WIDEST, Excerpt, excerpt

TEXT = "\n".join(map(str, range(1, 11)))


def test_a_short_text_is_all_there() -> None:
    assert excerpt(TEXT, first=4, last=6) == Excerpt(
        head=TEXT, tail="", lines_left_out=0, characters_left_out=0
    )


def test_of_a_long_one_the_first_and_the_last_lines_are() -> None:
    shown = excerpt(TEXT, first=2, last=3)
    assert (shown.head, shown.tail, shown.lines_left_out) == ("1\n2", "8\n9\n10", 5)
    assert shown.lines == 5


def test_without_room_nothing_is() -> None:
    shown = excerpt(TEXT, first=0, last=0)
    assert (shown.head, shown.tail, shown.lines_left_out, shown.lines) == ("", "", 10, 0)


def test_wide_lines_lose_their_ends() -> None:
    shown = excerpt("x" * (WIDEST + 7) + "\nshort", first=1, last=1)
    assert shown.head == "x" * WIDEST + "\nshort"
    assert shown.characters_left_out == 7
