"""A journal of a tree and names that move: what changed is named as it is called now, or a scan is asked for."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.watch import tree_journal
from mulligan.adapters.snapshots.watch.inotify import Inotify
from mulligan.adapters.snapshots.watch.tree_journal import TreeJournal, Unreported
from mulligan.osfiles.moves import exchange
from tests.support.snapshot_world import tree_at


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "one" / "deep").mkdir(parents=True)
    (tree / "two").mkdir()
    (tree / "one" / "file").write_text("old")
    (tree / "one" / "deep" / "file").write_text("old")
    return tree


@pytest.fixture
def journal(tree: Path) -> Iterator[TreeJournal]:
    journal = TreeJournal(tree_at(tree))
    yield journal
    journal.close()


def test_a_file_that_moves_is_named_under_both_names(tree: Path, journal: TreeJournal) -> None:
    token = journal.report(b"").token
    (tree / "one" / "file").rename(tree / "two" / "file")
    assert set(journal.report(token).paths or ()) >= {"one/file", "two/file"}


def test_a_new_file_that_takes_the_place_of_another_is_named(tree: Path, journal: TreeJournal) -> None:
    token = journal.report(b"").token
    (tree / "one" / "draft").write_text("new")
    (tree / "one" / "draft").rename(tree / "one" / "file")
    report = journal.report(token)
    assert report.paths is None or "one/file" in report.paths
    assert journal.report(report.token).paths == ()


def test_what_a_folder_that_moved_holds_is_followed_there(tree: Path, journal: TreeJournal) -> None:
    token = journal.report(b"").token
    (tree / "one").rename(tree / "two" / "one")
    report = journal.report(token)
    assert report.paths is None or {"one", "two/one"} <= {*report.paths}
    (tree / "two" / "one" / "deep" / "file").write_text("changed")
    assert "two/one/deep/file" in (journal.report(report.token).paths or ())


@pytest.mark.parametrize("names", ["one two", "two one", "one ../outside", "../outside one"])
def test_folders_that_changed_places_are_followed_in_their_new_ones(
    tree: Path, journal: TreeJournal, tmp_path: Path, names: str
) -> None:
    (tree / "two" / "deep").mkdir()
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    token = journal.report(b"").token
    fd = os.open(tree, os.O_RDONLY)
    one, other = names.split()
    assert exchange(fd, one, fd, other)
    os.close(fd)
    token = journal.report(token).token
    for place in ("one/new", "one/deep/new", "two/new", "two/deep/new"):
        (tree / place).write_text("new")
    report = journal.report(token)
    assert report.paths is None or {*report.paths} >= {"one/new", "one/deep/new", "two/new", "two/deep/new"}
    (tmp_path / "outside" / "deep" / "new").write_text("new")
    assert journal.report(report.token).paths == ()


def test_what_left_the_tree_is_followed_no_longer(tree: Path, journal: TreeJournal, tmp_path: Path) -> None:
    watched = (journal.report(b""), journal.folders)
    (tree / "one").rename(tmp_path / "outside")
    report = journal.report(watched[0].token)
    assert report.paths is None or "one" in report.paths
    assert journal.folders == watched[1] - 2
    (tmp_path / "outside" / "deep" / "file").write_text("changed")
    assert journal.report(report.token).paths == ()


def test_a_file_from_outside_leaves_a_doubt_at_most_once(
    tree: Path, journal: TreeJournal, tmp_path: Path
) -> None:
    token = journal.report(b"").token
    (tmp_path / "outside").write_text("new")
    (tmp_path / "outside").rename(tree / "two" / "inside")
    report = journal.report(token)
    assert report.paths is None or "two/inside" in report.paths
    assert journal.report(report.token).paths == ()


def test_more_names_than_are_worth_keeping_ask_for_a_scan(
    tree: Path, journal: TreeJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_journal, "_MOST_NAMES", 5)
    token = journal.report(b"").token
    for number in range(9):
        (tree / "two" / str(number)).touch()
    report = journal.report(token)
    assert report.paths is None
    (tree / "two" / "0").write_text("changed")
    assert journal.report(report.token).paths == ("two/0",)


def test_a_tree_that_never_rests_asks_for_a_scan(
    tree: Path, journal: TreeJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_journal, "_MOST_TURNS", 1)
    token = journal.report(b"").token
    (tree / "two" / "new").touch()
    assert journal.report(token).paths is None


def test_a_limit_of_the_system_asks_for_a_scan(
    tree: Path, journal: TreeJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = journal.report(b"").token
    refused: list[int] = []

    def refuse(_: Inotify, fd: int) -> int:
        refused.append(fd)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Inotify, "watch", refuse)
        (tree / "new").mkdir()
        journal.catch_up()
        assert refused
        journal.catch_up()
        with pytest.raises(Unreported, match="No space left"):
            journal.report(token)
    assert journal.queue == -1
    assert journal.report(token).paths is None
    assert journal.folders == 5


def test_a_folder_that_nobody_may_enter_is_left_alone(
    tree: Path, journal: TreeJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, opened = journal.report(b"").token, os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "closed":
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    (tree / "closed").mkdir()
    report = journal.report(token)
    assert report.paths is None or "closed" in report.paths


def test_a_tree_that_is_gone_is_unreported(tree: Path, journal: TreeJournal, tmp_path: Path) -> None:
    token = journal.report(b"").token
    tree.rename(tmp_path / "elsewhere")
    with pytest.raises(Unreported):
        journal.report(token)
    (tmp_path / "elsewhere").rename(tree)
    assert journal.report(token).paths is None
