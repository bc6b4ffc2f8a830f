"""What is believed on which filesystem: watches not where other machines write."""

import os
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.scan import filesystems
from mulligan.adapters.snapshots.scan.filesystems import changes_unseen
from mulligan.adapters.snapshots.watch.tree_watch import ON_A_NETWORK
from tests.support.snapshot_world import Watcher, new_store, take, tree_at


def _mounted_as(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system say that a folder is on a filesystem of that type."""
    device = folder.stat().st_dev
    mounts = folder.with_name("mountinfo")
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts.write_text(
        f"1 0 0:1 / /other rw - ext4 none rw\n2 0 {number} / / rw shared:1 - {kind} server:/ rw\n"
    )
    monkeypatch.setattr(filesystems, "_MOUNTS", mounts)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    found = tmp_path / "tree"
    found.mkdir()
    (found / "file").write_text("text")
    return found


@pytest.mark.parametrize(("kind", "unseen"), [("nfs4", True), ("fuse.sshfs", True), ("ext4", False)])
def test_network_filesystems_are_known_by_their_type(
    tree: Path, monkeypatch: pytest.MonkeyPatch, kind: str, unseen: bool
) -> None:
    _mounted_as(kind, tree, monkeypatch)
    assert changes_unseen(tree) is unseen


def test_a_folder_that_is_missing_or_on_no_known_filesystem_is_none(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not changes_unseen(tree / "missing")
    monkeypatch.setattr(filesystems, "_MOUNTS", Path("/dev/null"))
    assert not changes_unseen(tree)


def test_a_tree_on_a_network_filesystem_is_scanned_every_time(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _mounted_as("nfs", tree, monkeypatch)
    store = new_store(tmp_path / "store")
    with store.watch(tree_at(tree), others_at_work=False):
        first = take(store, tree)
        (tree / "file").write_text("other")
        second = take(store, tree)
        assert (store.last_look.watched, store.last_look.reason) == (False, ON_A_NETWORK)
    assert first != second
    assert store.verify([first, second], quick=False, observer=Watcher()) == {}
