"""What is live is told by the path of lines."""

from mulligan.domain.history.lines import Line, Segment, is_live, live_segments

FIRST = Line(line=1, parent_line=None, fork_seq=0)


def test_on_the_first_line_everything_up_to_now_is_live() -> None:
    segments = live_segments([FIRST], 1, 9)
    assert segments == (Segment(1, 9),)
    assert is_live(segments, 1, 9)
    assert not is_live(segments, 1, 10)


def test_a_return_leaves_behind_what_came_after() -> None:
    lines = [FIRST, Line(line=2, parent_line=1, fork_seq=5)]
    segments = live_segments(lines, 2, 20)
    assert is_live(segments, 1, 5)
    assert not is_live(segments, 1, 6)
    assert is_live(segments, 2, 12)


def test_a_return_to_what_was_left_behind_makes_it_live_again() -> None:
    lines = [FIRST, Line(line=2, parent_line=1, fork_seq=5), Line(line=3, parent_line=1, fork_seq=9)]
    segments = live_segments(lines, 3, 30)
    assert is_live(segments, 1, 8)
    assert not is_live(segments, 2, 12)
    assert is_live(segments, 3, 30)
