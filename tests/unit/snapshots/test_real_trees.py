"""Restoring a user's own folder: durable before it replaces anything, and everyone keeps what is theirs."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.snapshots.restore import private_tree, real_tree
from tests.support.snapshot_world import Watcher, new_store, tree_at

SOMEONE = 12345


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_what_root_restores_belongs_to_whom_it_belonged(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "folder").mkdir(parents=True)
    (real / "changed").write_text("old")
    (real / "changed").chmod(0o4755)
    (real / "folder" / "removed").write_text("old")
    (real / "link").symlink_to("folder")
    for path in [real, *real.rglob("*")]:
        os.chown(path, SOMEONE, SOMEONE, follow_symlinks=False)
    (real / "changed").chmod(0o4755)
    store, tree = new_store(tmp_path / "store"), replace(tree_at(real), real=True)
    snapshot = store.capture(tree, Watcher()).snapshot
    (real / "changed").write_text("new")
    (real / "folder" / "removed").unlink()
    (real / "folder").rmdir()
    (real / "link").unlink()
    store.restore(snapshot, tree, Watcher())
    owners = {p.name: (p.lstat().st_uid, p.lstat().st_gid) for p in [real, *real.rglob("*")]}
    assert set(owners.values()) == {(SOMEONE, SOMEONE)}, owners
    assert (real / "changed").stat().st_mode & 0o7777 == 0o4755


@pytest.mark.parametrize("real", [True, False])
def test_new_bytes_are_on_disk_before_they_replace_a_users_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real: bool
) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    (folder / "file").write_text("old")
    store, tree = new_store(tmp_path / "store"), replace(tree_at(folder), real=real)
    snapshot = store.capture(tree, Watcher()).snapshot
    (folder / "file").write_text("new and longer")
    seen: list[str] = []
    sync = real_tree.sync_filesystem

    def note(fd: int) -> None:
        seen.append((folder / "file").read_text())
        sync(fd)

    for module in (private_tree, real_tree):
        monkeypatch.setattr(module, "sync_filesystem", note)
    store.restore(snapshot, tree, Watcher())
    assert seen == (["new and longer", "old"] if real else ["old"])
