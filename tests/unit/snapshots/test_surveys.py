"""A tree whose changes are reported is counted from what is known of it, and the count is that of a scan."""

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.cache import stat_cache
from mulligan.adapters.snapshots.watch import tree_journals
from mulligan.adapters.snapshots.watch.tree_journal import Unreported
from mulligan.adapters.snapshots.watch.tree_journals import TreeJournals
from mulligan.ports import TreeChanges, WorkingTree
from tests.support.snapshot_world import Watcher, age, new_store, take, tree_at


class Reports:
    """The reports of a server in this process."""

    def __init__(self) -> None:
        self.journals = TreeJournals()

    def since(self, tree: WorkingTree, token: bytes) -> TreeChanges | None:
        return self.journals.report(tree, token)

    def moment(self, tree: WorkingTree) -> bytes:
        return self.journals.moment(tree)


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reports]:
    monkeypatch.setattr(stat_cache, "_WORTH_SAVING_FILES", 0)
    found = Reports()
    yield found
    found.journals.close()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "folder" / "inner").mkdir(parents=True)
    for number in range(80):
        (path / "folder" / f"{number}").write_text(str(number))
    (path / "folder" / "inner" / "file").write_text("inner")
    (path / "link").symlink_to("folder")
    age(path)
    return path


def nothing(tree: Path) -> None:
    """Leave it as it is."""


def edit(tree: Path) -> None:
    (tree / "folder" / "1").write_text("longer than before")
    (tree / "folder" / "inner").chmod(0o750)


def add(tree: Path) -> None:
    (tree / "added").write_text("added")


def remove(tree: Path) -> None:
    (tree / "folder" / "2").unlink()


def replace_by_link(tree: Path) -> None:
    (tree / "folder" / "3").unlink()
    (tree / "folder" / "3").symlink_to("4")


def replace_by_folder(tree: Path) -> None:
    (tree / "folder" / "3").unlink()
    (tree / "folder" / "3").mkdir()
    (tree / "folder" / "3" / "in it").write_text("in it")


def remove_folder(tree: Path) -> None:
    shutil.rmtree(tree / "folder" / "inner")


def add_folders(tree: Path) -> None:
    (tree / "new" / "newer").mkdir(parents=True)
    (tree / "new" / "newer" / "file").write_text("new")


def replace_by_socket(tree: Path) -> None:
    (tree / "folder" / "5").unlink()
    here = os.getcwd()
    os.chdir(tree / "folder")  # its path may be too long for a socket
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("5")
    finally:
        os.chdir(here)


def add_left_out(tree: Path) -> None:
    (tree / "left out").write_text("nobody counts it")


CHANGES = (
    nothing,
    edit,
    add,
    remove,
    replace_by_link,
    replace_by_folder,
    remove_folder,
    add_folders,
    replace_by_socket,
    add_left_out,
)


@pytest.mark.parametrize("change", CHANGES)
def test_the_count_is_that_of_a_scan(
    tmp_path: Path, tree: Path, reports: Reports, change: Callable[[Path], None]
) -> None:
    known = tree_at(tree, "left out") if change is add_left_out else tree_at(tree)
    for _ in range(2):  # the first one begins the journal
        new_store(tmp_path / "store", ahead_ns=10**12, reports=reports).capture(known, Watcher())
    change(tree)
    found = new_store(tmp_path / "another").survey(known, Watcher())
    store = new_store(tmp_path / "store", ahead_ns=10**12, reports=reports)
    with store.surveys_kept():
        assert store.survey(known, Watcher()) == found
        captured = store.capture(known, Watcher()).snapshot
    assert captured.same_as(new_store(tmp_path / "another").capture(known, Watcher()).snapshot)


def test_a_tree_that_cannot_be_watched_is_refused_and_asked_about_later(
    tmp_path: Path, tree: Path, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreported(_journal: object, _token: bytes) -> TreeChanges:
        raise Unreported("there is no room for watches")

    with monkeypatch.context() as patch:
        patch.setattr(tree_journals.TreeJournal, "report", unreported)
        assert reports.since(tree_at(tree), b"") is None
    assert "there is no room for watches" in reports.journals.refusal
    assert reports.since(tree_at(tree), b"") is None  # not so soon
    monkeypatch.setattr(tree_journals, "_RETRY", 0)
    assert reports.since(tree_at(tree), b"") is not None
    assert reports.journals.refusal == ""


def test_few_trees_are_watched_and_the_one_asked_for_longest_ago_goes(
    tmp_path: Path, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_journals, "_MOST", 2)
    trees = [tmp_path / name for name in ("one", "two", "three")]
    for each in trees:
        each.mkdir()
        assert reports.since(tree_at(each), b"") is not None
    assert reports.journals.count == 2
    assert reports.moment(tree_at(trees[0])) == b""
    assert reports.moment(tree_at(trees[1])) != b""


def test_a_journal_that_lost_its_tree_has_no_moment(
    tmp_path: Path, tree: Path, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reports.since(tree_at(tree), b"") is not None

    def unreported(_journal: object, _token: bytes) -> TreeChanges:
        raise Unreported("it is gone")

    with monkeypatch.context() as patch:
        patch.setattr(tree_journals.TreeJournal, "report", unreported)
        assert reports.moment(tree_at(tree)) == b""
    tree.rename(tmp_path / "elsewhere")
    assert reports.moment(tree_at(tree)) == b""


def test_watches_that_are_kept_serve_the_next_work_that_asks_for_the_same(tmp_path: Path, tree: Path) -> None:
    store = new_store(tmp_path / "store", ahead_ns=10**12)
    store.keep_watches(1)
    one, other = tree_at(tree), tree_at(tmp_path / "other")
    (tmp_path / "other").mkdir()
    with store.watch(one, others_at_work=False):
        take(store, tree)
    assert store.kept_watches == 1
    with store.watch(one, others_at_work=True):  # another kind of watch
        take(store, tree)
        with store.watch(one, others_at_work=True):  # work inside work
            take(store, tree)
    with store.watch(other, others_at_work=False):
        take(store, tmp_path / "other")
    assert store.kept_watches == 1
    store.close_watches()
    assert store.kept_watches == 0
