"""The journal of a tree: what it reports, and when it admits that only a scan can find out."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.scan import filesystems
from mulligan.adapters.snapshots.watch import tree_journal, tree_journals
from mulligan.adapters.snapshots.watch.inotify import Inotify
from mulligan.adapters.snapshots.watch.tree_journal import TreeJournal, Unreported
from mulligan.adapters.snapshots.watch.tree_journals import TreeJournals
from tests.support.snapshot_world import tree_at


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "sub" / "deep").mkdir(parents=True)
    for name in ("a", "b", "sub/c", "sub/deep/d"):
        (folder / name).write_text("one")
    return folder


@pytest.fixture
def journal(tree: Path) -> Iterator[TreeJournal]:
    kept = TreeJournal(tree_at(tree))
    yield kept
    kept.close()


def test_it_reports_names_since_any_moment_that_it_gave_out(journal: TreeJournal, tree: Path) -> None:
    first = journal.report(b"")
    assert first.paths is None
    (tree / "a").write_text("two")
    second = journal.report(first.token)
    (tree / "sub" / "c").chmod(0o600)
    assert second.paths == ("a",)
    assert journal.report(second.token).paths == ("sub/c",)
    assert set(journal.report(first.token).paths or ()) == {"a", "sub/c"}
    assert journal.report(b"").paths is None
    assert journal.report(first.token[:16] + b"\xff" * 8).paths is None, "a moment that is yet to come"


def test_folders_that_came_or_moved_are_reported_whole_and_watched(journal: TreeJournal, tree: Path) -> None:
    token = journal.report(b"").token
    (tree / "new" / "inner").mkdir(parents=True)
    (tree / "sub").rename(tree / "moved")
    report = journal.report(token)
    assert {"new", "moved"} <= set(report.renewed)
    (tree / "new" / "inner" / "file").write_text("x")
    (tree / "moved" / "deep" / "d").write_text("two")
    assert set(journal.report(report.token).paths or ()) == {"new/inner/file", "moved/deep/d"}
    (tree / "moved" / "deep").rename(tree.parent / "outside")
    token = journal.report(report.token).token
    (tree.parent / "outside" / "d").write_text("three")
    assert journal.report(token).paths == ()


def test_a_file_that_came_and_went_leaves_a_doubt_for_earlier_moments_only(
    journal: TreeJournal, tree: Path
) -> None:
    before = journal.report(b"").token
    (tree / "second").hardlink_to(tree / "a")
    between = journal.report(before)
    (tree / "second").write_text("through another name")
    (tree / "second").unlink()
    assert journal.report(before).paths is None
    assert journal.report(between.token).paths == ("second",), "who looked then looks at `a` each time"
    (tree / "b").rename(tree / "b.new")
    (tree / "b.new").rename(tree / "b")
    assert journal.report(journal.report(between.token).token).paths == ()


def test_what_comes_under_a_spare_name_of_a_restore_leaves_none(journal: TreeJournal, tree: Path) -> None:
    token = journal.report(b"").token
    spare = tree / f".mulligan-{'0' * 16}"
    spare.write_text("new")
    spare.unlink()
    assert journal.report(token).paths == (spare.name,)


def test_a_full_queue_of_the_system_is_admitted(journal: TreeJournal, tree: Path) -> None:
    token = journal.report(b"").token
    for turn in range(20_000):
        os.utime(tree / ("a", "b")[turn % 2])
    report = journal.report(token)
    assert report.paths is None
    (tree / "a").write_text("two")
    assert journal.report(report.token).paths == ("a",)


def test_a_tree_that_was_moved_or_replaced_is_not_reported_on(journal: TreeJournal, tree: Path) -> None:
    token = journal.report(b"").token
    moved = tree.rename(tree.with_name("moved"))
    with pytest.raises(Unreported):
        journal.report(token)
    tree.mkdir()
    report = journal.report(token)
    assert report.paths is None
    (moved / "a").write_text("two")
    assert journal.report(report.token).paths == ()


def test_a_folder_around_the_tree_may_be_moved(journal: TreeJournal, tree: Path) -> None:
    token = journal.report(b"").token
    around = tree.parent.rename(tree.parent.with_name("around"))
    tree.mkdir(parents=True)
    assert journal.report(token).paths is None
    tree.rmdir()
    tree.parent.rmdir()
    around.rename(tree.parent)


def test_a_filesystem_that_is_mounted_in_a_tree_is_not_reported_on(
    journal: TreeJournal, tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = journal.report(b"").token
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 2 0:1 / {tree}/sub\\040x rw - tmpfs tmpfs rw\n")
    (tree / "sub x").mkdir()
    monkeypatch.setattr(filesystems, "_MOUNTS", mounts)
    with pytest.raises(Unreported, match="mounted"):
        journal.report(token)


def test_a_tree_that_other_machines_can_change_is_not_reported_on(
    journal: TreeJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_journal, "changes_unseen", lambda _: True)
    with pytest.raises(Unreported, match="other machines"):
        journal.report(b"")


def test_more_names_than_are_kept_mean_a_scan(
    journal: TreeJournal, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_journal, "_MOST_NAMES", 1)
    token = journal.report(b"").token
    for name in ("a", "b"):
        (tree / name).write_text("two")
    report = journal.report(token)
    assert report.paths is None
    (tree / "a").write_text("three")
    assert journal.report(report.token).paths == ("a",)


def test_a_tree_that_never_holds_still_means_a_scan(
    journal: TreeJournal, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = journal.report(b"").token
    monkeypatch.setattr(tree_journal, "_MOST_TURNS", 1)
    (tree / "a").write_text("two")
    assert journal.report(token).paths is None


def test_where_the_system_has_no_watches_left_the_reason_is_kept(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journals = TreeJournals()
    refused = 0

    def no_watch(*_: object) -> int:
        nonlocal refused
        refused += 1
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as limited:
        limited.setattr(Inotify, "watch", no_watch)
        assert journals.report(tree_at(tree), b"") is None
    assert (refused, str(tree) in journals.refusal) == (1, True)
    assert journals.report(tree_at(tree), b"") is None, "it is not tried again at once"
    monkeypatch.setattr(tree_journals, "_RETRY", 0.0)
    assert journals.report(tree_at(tree), b"") is not None
    assert (journals.count, journals.refusal) == (1, "")
    journals.close()
    assert journals.report(tree_at(tree), b"") is None


def test_a_watch_that_fails_for_a_new_folder_means_a_scan(
    journal: TreeJournal, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = journal.report(b"").token
    (tree / "new").mkdir()

    def no_watch(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as limited:
        limited.setattr(Inotify, "watch", no_watch)
        with pytest.raises(Unreported):
            journal.report(token)
    assert journal.report(token).paths is None


def test_only_the_trees_asked_for_last_are_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_journals, "_MOST", 2)
    journals = TreeJournals()
    tokens: list[bytes] = []
    for number in range(3):
        (tmp_path / f"{number}").mkdir()
        report = journals.report(tree_at(tmp_path / f"{number}"), b"")
        assert report is not None
        tokens.append(report.token)
    assert journals.count == 2
    first = journals.report(tree_at(tmp_path / "0"), tokens[0])
    last = journals.report(tree_at(tmp_path / "2"), tokens[2])
    assert first is not None
    assert last is not None
    assert (first.paths, last.paths) == (None, ())
    journals.close()
