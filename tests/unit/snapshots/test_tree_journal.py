"""A journal of a tree: what it must not miss, whenever it gets to read what the kernel reported."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.snapshots.watch.tree_journal import TreeJournal
from mulligan.adapters.snapshots.watch.tree_journals import TreeJournals
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


def test_a_file_that_was_the_only_name_when_it_was_looked_at_may_go_without_a_doubt(
    tree: Path, journal: TreeJournal
) -> None:
    token = journal.report(b"").token
    (tree / "folder" / "temporary").write_text("new")
    journal.catch_up()
    (tree / "folder" / "temporary").unlink()
    assert "folder/temporary" in (journal.report(token).paths or ())


@pytest.mark.parametrize("moved", [False, True])
def test_another_name_that_was_looked_at_leaves_a_doubt(
    tree: Path, journal: TreeJournal, moved: bool
) -> None:
    token, name = journal.report(b"").token, tree / "folder" / "other name"
    os.link(tree / "folder" / "file", name)
    journal.catch_up()
    if moved:
        name.rename(tree / "moved")
        name = tree / "moved"
        journal.catch_up()
    name.write_text("changed")
    name.unlink()
    assert journal.report(token).paths is None


@pytest.mark.parametrize("by_move", [False, True])
def test_a_name_at_which_something_happened_after_it_was_looked_at_leaves_a_doubt(
    tree: Path, journal: TreeJournal, by_move: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, name = journal.report(b"").token, tree / "folder" / "temporary"
    name.write_text("new")
    real, looked = os.stat, list[str]()

    def then_replaced(path: str, **options: Any) -> os.stat_result:
        found = real(path, **options)
        if path == "folder/temporary" and not looked:
            looked.append(path)
            if by_move:
                os.link(tree / "folder" / "file", tree / "draft")
                (tree / "draft").rename(name)
            else:
                name.unlink()
                os.link(tree / "folder" / "file", name)
        return found

    monkeypatch.setattr(os, "stat", then_replaced)
    journal.catch_up()
    monkeypatch.undo()
    assert looked
    name.write_text("changed")
    name.unlink()
    assert journal.report(token).paths is None


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


@pytest.fixture
def journals() -> Iterator[TreeJournals]:
    journals = TreeJournals()
    yield journals
    journals.close()


def test_a_journal_follows_its_tree_to_another_place(tree: Path, journals: TreeJournals) -> None:
    first = journals.report(tree_at(tree), b"")
    assert first is not None
    (tree / "folder" / "file").write_text("before")
    place = tree.with_name("elsewhere")
    tree.rename(place)
    (place / "folder" / "new").write_text("after")
    assert journals.moment(tree_at(tree)) == b""
    assert journals.moment(tree_at(place))
    found = journals.report(tree_at(place), first.token)
    assert found is not None
    assert {"folder/file", "folder/new"} <= set(found.paths or ())
    assert journals.count == 1
    (place / "more").mkdir()
    (place / "more" / "file").write_text("in a folder that came after the move")
    again = journals.report(tree_at(place), found.token)
    assert again is not None
    assert "more" in again.renewed


def test_a_folder_that_comes_while_the_place_is_unknown_leaves_a_doubt(
    tree: Path, journals: TreeJournals
) -> None:
    first = journals.report(tree_at(tree), b"")
    assert first is not None
    place = tree.with_name("elsewhere")
    tree.rename(place)
    (place / "more").mkdir()
    found = journals.report(tree_at(place), first.token)
    assert found is None or found.paths is None or "more" in found.renewed


@pytest.mark.parametrize("other", ["another folder", "other exclusions"])
def test_what_is_another_tree_has_no_journal(tree: Path, journals: TreeJournals, other: str) -> None:
    first = journals.report(tree_at(tree), b"")
    assert first is not None
    excluded: tuple[str, ...] = ()
    if other == "another folder":
        tree.rename(tree.with_name("elsewhere"))
        (tree / "folder").mkdir(parents=True)
    else:
        excluded = ("folder",)
    assert journals.moment(tree_at(tree, *excluded)) == b""
    found = journals.report(tree_at(tree, *excluded), first.token)
    assert found is not None
    assert found.paths is None
