"""A journal of a tree: what it must not miss, whenever it gets to read what the kernel reported."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.watch.tree_journal import TreeJournal
from tests.support.snapshot_world import tree_at


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "above" / "tree"
    (tree / "folder").mkdir(parents=True)
    (tree / "folder" / "file").write_text("old")
    return tree


@pytest.fixture
def journal(tree: Path) -> Iterator[TreeJournal]:
    journal = TreeJournal(tree_at(tree))
    yield journal
    journal.close()


@pytest.mark.parametrize("inner", [".", "inner"])
def test_a_file_written_under_a_name_in_a_folder_that_went_again_leaves_a_doubt(
    tree: Path, journal: TreeJournal, inner: str
) -> None:
    token = journal.report(b"").token
    folder = tree / "new" / inner
    folder.mkdir(parents=True)
    os.link(tree / "folder" / "file", folder / "other name")
    (folder / "other name").write_text("changed")
    (folder / "other name").unlink()
    if inner != ".":
        folder.rmdir()
    (tree / "new").rmdir()
    report = journal.report(token)
    assert report.paths is None
    assert journal.report(report.token).paths == ()


def test_a_folder_that_was_there_before_may_go_without_a_doubt(tree: Path, journal: TreeJournal) -> None:
    token = journal.report(b"").token
    (tree / "folder" / "file").unlink()
    (tree / "folder").rmdir()
    assert "folder" in (journal.report(token).paths or ())


def test_a_folder_made_while_the_tree_was_elsewhere_is_watched(tree: Path, journal: TreeJournal) -> None:
    token, above = journal.report(b"").token, tree.parent
    above.rename(above.with_name("elsewhere"))
    (above.with_name("elsewhere") / "tree" / "new").mkdir()
    journal.catch_up()
    above.with_name("elsewhere").rename(above)
    report = journal.report(token)
    (tree / "new" / "file").write_text("new")
    after = journal.report(report.token).paths
    assert after is None or "new/file" in after


def test_now_and_then_only_a_scan_can_tell_what_was_written_under_names_outside(tree: Path) -> None:
    seconds = [1000.0]
    journal = TreeJournal(tree_at(tree), seconds=lambda: seconds[0])
    token = journal.report(b"").token
    seconds[0] += 599
    assert journal.report(token).paths == ()
    seconds[0] += 2
    report = journal.report(token)
    assert report.paths is None
    seconds[0] += 599
    assert journal.report(report.token).paths == ()
    journal.close()
