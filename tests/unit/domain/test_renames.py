"""A file that went and one that came are one file under another name when their contents say so."""

import pytest

from mulligan.domain.checkpoints.snapshot import ObjectId
from mulligan.domain.trees import renames
from mulligan.domain.trees.renames import Lines, Rename, equal_renames, similar_renames
from mulligan.domain.trees.tree_difference import EntryType, StoredContent, TreeEntry


def _file(content: str) -> TreeEntry:
    return TreeEntry(
        type=EntryType.FILE,
        mode=0o644,
        content=StoredContent(ObjectId(content), len(content)),
        target=b"",
        shared_with=b"",
        attributes=(),
        empty=False,
    )


def _link(target: bytes) -> TreeEntry:
    return TreeEntry(
        type=EntryType.SYMLINK,
        mode=0o777,
        content=None,
        target=target,
        shared_with=b"",
        attributes=(),
        empty=False,
    )


@pytest.mark.parametrize(
    ("gone", "come", "pairs"),
    [
        ({"a": _file("x")}, {"b": _file("x")}, {("a", "b")}),
        ({"a": _file("x")}, {"b": _file("y")}, set()),
        ({"a": _link(b"x")}, {"b": _link(b"x")}, {("a", "b")}),
        ({"a": _link(b"x")}, {"b": _file("x")}, set()),
        (
            {"d/a": _file("x"), "d/b": _file("x")},
            {"e/a": _file("x"), "e/b": _file("x")},
            {("d/a", "e/a"), ("d/b", "e/b")},
        ),
        ({"a": _file("x"), "b": _file("x")}, {"z/b": _file("x")}, {("b", "z/b")}),
        ({"a": _file("x")}, {"b": _file("x"), "c": _file("x")}, {("a", "b")}),
        ({"a": _file("")}, {"b": _file("")}, set()),
        ({"old/__init__.py": _file("")}, {"new/__init__.py": _file("")}, None),
    ],
)
def test_equal_contents(
    gone: dict[str, TreeEntry], come: dict[str, TreeEntry], pairs: set[tuple[str, str]] | None
) -> None:
    expected = {("old/__init__.py", "new/__init__.py")} if pairs is None else pairs
    found = equal_renames(gone, come)
    assert {(rename.old, rename.new) for rename in found} == expected
    assert {rename.similarity for rename in found} <= {100}


def _text(*numbers: int) -> Lines:
    return Lines.of(b"".join(b"%09d\n" % number for number in numbers))


def test_likeness_is_the_share_of_bytes_in_whole_lines() -> None:
    ten = _text(*range(10))
    assert ten.similarity(_text(*range(9))) == 90
    assert ten.similarity(_text(*range(9, -1, -1))) == 99, "only equal contents are alike in full"
    assert ten.similarity(_text(*range(4))) == 0, "too small to be half of it"
    assert ten.similarity(_text(*range(5), *range(50, 55))) == 50
    assert ten.similarity(Lines.of(b"")) == 0
    assert _text(1, 1, 1, 2).similarity(_text(1, 3, 4, 2)) == 50


def test_the_most_alike_go_together() -> None:
    gone = {"a": _text(*range(10)), "b": _text(*range(100, 110))}
    come = {"c": _text(*range(6), 106), "d": _text(*range(9)), "e": _text(*range(200, 210))}
    assert similar_renames(gone, come) == ([Rename("a", "d", 90)], 0)


def test_a_base_name_that_stands_once_on_both_sides_is_tried_first() -> None:
    gone = {"old/a.py": _text(*range(10))}
    come = {"new/a.py": _text(*range(8), 50, 51), "new/b.py": _text(*range(9), 50)}
    assert similar_renames(gone, come) == ([Rename("old/a.py", "new/a.py", 80)], 0)


def test_too_many_pairs_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renames, "MOST_PAIRS", 3)
    gone = {"x/same": _text(*range(10)), "a": _text(*range(10, 20)), "b": _text(*range(20, 30))}
    come = {"y/same": _text(*range(9)), "c": _text(*range(10, 19)), "d": _text(*range(20, 29))}
    assert similar_renames(gone, come) == ([Rename("x/same", "y/same", 90)], 4)
