"""A real tree that was captured just now is looked at only where it is about to change."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.snapshots.capture.tree_reader import NAMED, UNWATCHED
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.errors import TreeChanged
from mulligan.ports import Unobserved, WorkingTree
from tests.support.snapshot_world import new_store, take, tree_at

_FILES = {
    "kept": "kept",
    "changed": "old",
    "gone/file": "gone",
    "folder/inner/file": "old",
    "other/file": "x",
}


class World:
    """A real tree, and two snapshots: of what it is, and of what it is to become."""

    def __init__(self, place: Path) -> None:
        self.home = place / "store"
        self.store: PackedSnapshotStore = new_store(self.home)
        self.real, wanted = place / "real", place / "wanted"
        for folder in (self.real, wanted):
            _write(folder, _FILES)
        _write(wanted, {"changed": "new", "folder/inner/file": "new", "made/new": "new"})
        (wanted / "gone" / "file").unlink()
        (wanted / "gone").rmdir()
        self.target = take(self.store, wanted)
        self.tree: WorkingTree = replace(tree_at(self.real), real=True)
        self.before: Snapshot = self.store.capture(self.tree, Unobserved()).snapshot

    def restore(self) -> None:
        self.store.restore(self.target, self.tree, Unobserved(), self.before, spare=True)


def _write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_what_others_write_elsewhere_is_not_looked_at_and_stays(world: World) -> None:
    _write(world.real, {"kept": "by others", "other/new": "by others"})
    assert world.store.changed_where(world.tree, world.before, world.target) == ()
    assert world.store.last_look.reason == NAMED
    world.restore()
    found = {str(p.relative_to(world.real)): p.read_text() for p in world.real.rglob("*") if p.is_file()}
    assert found == {
        "kept": "by others",
        "changed": "new",
        "folder/inner/file": "new",
        "made/new": "new",
        "other/file": "x",
        "other/new": "by others",
    }
    assert not (world.real / "gone").exists()
    after = world.store.capture(world.tree, Unobserved()).snapshot
    assert after == new_store(world.home).capture(world.tree, Unobserved()).snapshot


@pytest.mark.parametrize("path", ["changed", "gone/file", "folder/inner/file", "made"])
def test_what_others_wrote_where_it_is_about_to_change_is_named(world: World, path: str) -> None:
    _write(world.real, {path: "by others"})
    found = world.store.changed_where(world.tree, world.before, world.target)
    assert found == (path,)
    with pytest.raises(TreeChanged):
        world.restore()
    assert (world.real / path).read_text() == "by others"


def test_the_same_written_by_others_is_a_change_too(world: World) -> None:
    _write(world.real, {"changed": "new"})
    assert world.store.changed_where(world.tree, world.before, world.target) == ("changed",)


def test_folders_on_the_way_that_others_removed_or_replaced_are_noticed(world: World) -> None:
    (world.real / "folder" / "inner" / "file").unlink()
    (world.real / "folder" / "inner").rmdir()
    (world.real / "folder" / "inner").symlink_to(world.real / "other")
    found = world.store.changed_where(world.tree, world.before, world.target)
    assert found == ("folder/inner/file",)
    with pytest.raises(TreeChanged):
        world.restore()
    assert (world.real / "other" / "file").read_text() == "x"


def test_a_tree_that_this_store_did_not_capture_so_is_scanned(world: World) -> None:
    _write(world.real, {"kept": "by others", "changed": "by others"})
    other = new_store(world.home)
    assert other.changed_where(world.tree, world.before, world.target) == ("changed",)
    assert other.last_look.reason == UNWATCHED


def test_a_tree_that_is_gone_is_all_changed(world: World, tmp_path: Path) -> None:
    world.real.rename(tmp_path / "elsewhere")
    found = world.store.changed_where(world.tree, world.before, world.target)
    assert found == ("changed", "folder/inner/file", "gone", "gone/file")


def test_a_folder_that_others_closed_meanwhile_stays_closed(tmp_path: Path) -> None:
    world = World(tmp_path)
    for folder in (world.real / "folder", world.real):
        folder.chmod(0o700)
    assert world.store.changed_where(world.tree, world.before, world.target) == ()
    world.restore()
    assert (world.real / "folder" / "inner" / "file").read_text() == "new"
    assert [folder.stat().st_mode & 0o777 for folder in (world.real / "folder", world.real)] == [0o700] * 2
    again = world.store.capture(world.tree, Unobserved()).snapshot
    assert again == new_store(tmp_path / "fresh").capture(world.tree, Unobserved()).snapshot


def test_a_folder_whose_mode_both_change_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path)
    (tmp_path / "wanted" / "other").chmod(0o750)
    target = take(world.store, tmp_path / "wanted")
    (world.real / "other").chmod(0o700)
    assert world.store.changed_where(world.tree, world.before, target) == ("other",)


def test_what_a_look_read_and_did_not_store_is_not_taken_for_stored(tmp_path: Path) -> None:
    world = World(tmp_path)
    (world.real / "folder").chmod(0o770)
    (world.real / "folder" / "extra").write_text("of another program")
    assert world.store.changed_where(world.tree, world.before, world.target) == ()
    capture = world.store.capture(world.tree, Unobserved()).snapshot
    assert world.store.verify([capture], quick=False, observer=Unobserved()) == {}
    assert capture == new_store(tmp_path / "fresh").capture(world.tree, Unobserved()).snapshot
