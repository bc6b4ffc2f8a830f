"""What is too large or too much is not read, and said so."""

import pytest

from mulligan.application.queries.tree_diff import DiffOptions, diff_trees
from mulligan.domain.checkpoints.snapshot import ObjectId
from mulligan.domain.trees import renames
from mulligan.domain.trees.diff import TreeDiff
from mulligan.domain.trees.line_diff import LARGEST_TEXT
from mulligan.domain.trees.tree_difference import EntryType, StoredContent, TreeDifference, TreeEntry

LARGE = 100_000_000  # bytes


def _file(id: str, *, size: int = 0, mode: int = 0o644) -> TreeEntry:
    """A file whose content is its id, or is only said to be large."""
    return TreeEntry(
        type=EntryType.FILE,
        mode=mode,
        content=StoredContent(ObjectId(id), size or len(id)),
        target=b"",
        shared_with=b"",
        attributes=(),
        empty=False,
    )


def _diff(*differences: TreeDifference, binary: bool = False) -> tuple[TreeDiff, list[str]]:
    """The difference, and what was read for it."""
    read: list[str] = []

    def contents(content: StoredContent) -> bytes:
        read.append(content.id)
        return content.id.encode()

    options = DiffOptions(resource="r", prefix="", binary=binary, largest_text=LARGEST_TEXT)
    return diff_trees(differences, contents, options), read


def test_a_large_file_is_named_and_not_read() -> None:
    diff, read = _diff(TreeDifference("x", _file("old", size=LARGE), _file("new")))
    (file,) = diff.files
    assert (file.binary, file.insertions, file.not_in_patch) == (True, None, ("content",))
    assert diff.patch == b"diff --git a/x b/x\nBinary files a/x and b/x differ\n"
    assert "old" not in read


def test_it_is_read_where_the_patch_shall_carry_everything() -> None:
    diff, read = _diff(TreeDifference("x", _file("a\0", size=LARGE), _file("b")), binary=True)
    assert diff.files[0].not_in_patch == ()
    assert b"GIT binary patch\n" in diff.patch
    assert sorted(read) == ["a\0", "b"]


def test_equal_contents_are_not_read() -> None:
    diff, read = _diff(
        TreeDifference("mode", _file("same", size=LARGE), _file("same", size=LARGE, mode=0o755)),
        TreeDifference("new", None, _file("moved", size=LARGE)),
        TreeDifference("old", _file("moved", size=LARGE), None),
    )
    assert [(file.path, file.status.value, file.not_in_patch) for file in diff.files] == [
        ("mode", "modified", ()),
        ("new", "renamed", ()),
    ]
    assert read == []


def test_files_are_not_looked_at_for_likeness_when_they_are_too_many_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = TreeDifference("old", _file("a\nb\nc\n"), None)
    come = TreeDifference("new", None, _file("a\nb\nd\n"))
    diff, _ = _diff(come, gone)
    assert [(file.path, file.old_path, file.similarity) for file in diff.files] == [("new", "old", 66)]
    monkeypatch.setattr(renames, "MOST_READ", 11)
    diff, _ = _diff(come, gone)
    assert [file.status.value for file in diff.files] == ["added", "deleted"]
    assert diff.pairs_left_out == 1


def test_binary_files_are_renamed_only_when_they_are_equal() -> None:
    diff, _ = _diff(
        TreeDifference("new", None, _file("a\nb\nc\0d")), TreeDifference("old", _file("a\nb\nc\0"), None)
    )
    assert [file.status.value for file in diff.files] == ["added", "deleted"]


def test_a_difference_that_git_does_not_know_is_told_beside_the_patch() -> None:
    diff, read = _diff(TreeDifference("x", _file("same", mode=0o644), _file("same", mode=0o640)))
    (file,) = diff.files
    assert (file.status.value, file.insertions, file.deletions) == ("modified", 0, 0)
    assert file.not_in_patch == ("mode 0644 to 0640",)
    assert (diff.patch, read) == (b"", [])


def test_what_is_inside_a_git_folder_is_named_but_not_in_the_patch() -> None:
    """Git refuses a patch that touches one, with all else that is in it."""
    diff, _ = _diff(
        TreeDifference("sub/.git/index", _file("old"), _file("new")),
        TreeDifference("text", _file("old\n"), _file("new\n")),
    )
    assert [(file.path, file.not_in_patch) for file in diff.files] == [
        ("sub/.git/index", ("content",)),
        ("text", ()),
    ]
    assert b".git" not in diff.patch.replace(b"diff --git", b"")
    assert b"+new\n" in diff.patch
