"""Texts are merged as git merges them, and what overlaps is marked so that everyone knows it."""

import subprocess
from pathlib import Path

import pytest

from mulligan.domain.trees.text_merge import Labels, has_markers, merge_texts, ours_of_marked

LINES = [f"line {number}\n" for number in range(1, 21)]
SIDES = Labels("ours", "theirs")


def _with(**changes: str) -> bytes:
    lines = list(LINES)
    for name, text in changes.items():
        lines[int(name.removeprefix("at"))] = text
    return "".join(lines).encode()


CASES = {
    "far apart": (_with(at2="ours\n"), _with(at15="theirs\n")),
    "a line between": (_with(at2="ours\n"), _with(at4="theirs\n")),
    "side by side": (_with(at2="ours\n"), _with(at3="theirs\n")),
    "the same line": (_with(at2="ours\n"), _with(at2="theirs\n")),
    "the same change": (_with(at2="both\n"), _with(at2="both\n", at9="theirs\n")),
    "inserted and deleted": (_with(at2="line 3\nnew\n"), _with(at12="")),
    "both at the end": (_with(at19="line 20\nours\n"), _with(at19="line 20\ntheirs\n")),
    "all of it": (b"", _with(at2="theirs\n")),
    "no end": (_with(at19="line 20"), _with(at0="theirs\n")),
    "no end here, more there": (_with(at19="line 20"), _with(at19="line 20\nmore\n")),
}


@pytest.mark.parametrize("name", CASES)
def test_git_says_the_same(tmp_path: Path, name: str) -> None:
    ours, theirs = CASES[name]
    for file, text in (("ours", ours), ("base", _with()), ("theirs", theirs)):
        (tmp_path / file).write_bytes(text)
    words = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    told = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    merge = merge_texts(_with(), ours, theirs, SIDES)
    assert len(merge.overlaps) == told.returncode
    assert merge.text == told.stdout
    assert has_markers(merge.text) == bool(merge.overlaps)


def test_without_markers_our_text_stands_where_sides_overlap() -> None:
    merge = merge_texts(_with(), _with(at2="ours\n", at9="mine\n"), _with(at2="theirs\n", at15="new\n"), None)
    assert merge.text == _with(at2="ours\n", at9="mine\n", at15="new\n")
    assert merge.reason == "both sides changed line 3"


def test_every_overlap_is_named() -> None:
    ours, theirs = _with(at2="ours\n", at8="a\n", at9="b\n"), _with(at2="theirs\n", at8="c\n", at9="d\n")
    assert merge_texts(_with(), ours, theirs, None).reason == "both sides changed lines 3, 9-10"


def test_markers_stand_on_lines_of_their_own_and_end_as_the_text_does() -> None:
    merge = merge_texts(b"a\r\nb", b"a\r\nours", b"a\r\ntheirs", SIDES)
    assert merge.text == b"a\r\n<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n"
    merge = merge_texts(b"a\r\nb\r\n", b"a\r\nours\r\n", b"a\r\ntheirs\r\n", SIDES)
    assert merge.text == b"a\r\n<<<<<<< ours\r\nours\r\n=======\r\ntheirs\r\n>>>>>>> theirs\r\n"


def test_of_a_marked_text_our_side_can_be_taken() -> None:
    ours, theirs = _with(at2="ours\n", at9="both\n"), _with(at2="theirs\n", at9="both\n", at15="theirs\n")
    merged = merge_texts(_with(), ours, theirs, SIDES)
    assert has_markers(merged.text)
    assert ours_of_marked(merged.text) == _with(at2="ours\n", at9="both\n", at15="theirs\n")
    assert ours_of_marked(ours) == ours
    assert ours_of_marked(ours_of_marked(merged.text)) == ours_of_marked(merged.text)
