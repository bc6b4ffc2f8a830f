"""Many captures leave few packs, at a price that hardly grows."""

import os
from pathlib import Path

import pytest

from mulligan.adapters.local_packs import pack_folder
from mulligan.adapters.snapshots.packs import repack
from mulligan.adapters.snapshots.packs.repack import LARGEST_JOINED, packs_to_join
from tests.support.snapshot_world import history, new_store, objects_of, packs, sound, sweep, take

# Packs are the same whichever way trees are walked.
pytestmark = pytest.mark.parametrize("walker", ["in C"], indirect=True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "folder").mkdir(parents=True)
    for number in range(20):
        (path / "folder" / str(number)).write_bytes(os.urandom(500))
    (path / "counter").write_text("0")
    return path


@pytest.fixture
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Durability costs most of the time of many captures, and is tested elsewhere."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.usefixtures("quick_disk")
def test_many_captures_leave_few_packs(home: Path, tree: Path) -> None:
    """Each capture is a process of its own: what one learned, the next has to open."""
    taken = [history(new_store(home), tree, 1)[0] for _ in range(300)]
    assert len(packs(home)) < 60
    assert sound(home, *taken)
    sweep(new_store(home), *taken)
    assert len(packs(home)) < 15
    assert sound(home, *taken)


@pytest.mark.usefixtures("quick_disk")
def test_joining_copies_each_byte_a_few_times_only(
    home: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[int] = []
    copy = repack.copy_objects

    def counting(*arguments: object) -> object:
        result = copy(*arguments)  # pyright: ignore[reportArgumentType] - handed through
        copied.append(result.pack.size if result.pack else 0)
        return result

    monkeypatch.setattr(repack, "copy_objects", counting)
    store = new_store(home)
    history(store, tree, 400)
    assert len(copied) > 8
    assert sum(copied) < 6 * sum(packs(home).values())


def test_only_small_packs_are_joined() -> None:
    class Sized:
        def __init__(self, size: int) -> None:
            self.size = size

    def join(*sizes: int) -> list[int]:
        found = packs_to_join([Sized(size) for size in sizes], at_least=3)  # pyright: ignore[reportArgumentType] - only the size counts
        return [each.size for each in found]

    assert join() == []
    assert join(5) == []
    assert join(1, 1) == []
    assert join(1, 2, 4, 8) == []
    assert join(1, 1, 1) == [1, 1, 1]
    assert join(100, 1, 1, 1) == [1, 1, 1]
    assert join(100, 4, 1, 1, 1) == [1, 1, 1, 4]
    assert join(*[LARGEST_JOINED] * 5) == []
    assert join(*[LARGEST_JOINED // 3] * 5) == [LARGEST_JOINED // 3] * 3


def test_a_full_disk_while_joining_does_not_cost_the_checkpoint(
    home: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fired: list[int] = []

    def full(*_: object) -> None:
        fired.append(1)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", lambda _: None)
    with monkeypatch.context() as patch:
        patch.setattr(repack, "copy_objects", full)
        taken = history(new_store(home), tree, 40)
    assert fired
    assert len(packs(home)) == 40
    taken += history(new_store(home), tree, 1)
    assert len(packs(home)) < 10
    assert sound(home, *taken)


def test_a_pack_that_is_joined_before_its_maker_looks_is_no_loss(
    home: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is seen as soon as it has its name; another process may be quicker than the one that gave it."""
    store = new_store(home)
    taken = history(store, tree, 2)
    syncing = pack_folder.sync_folder
    joined: list[int] = []

    def join_then_sync(folder: Path) -> None:
        if folder.name == "packs" and not joined:
            joined.append(1)
            other = objects_of(home)
            other.refresh()
            copied = repack.copy_objects(other, [(pack, pack.ids) for pack in other.packs()])
            other.remove(copied.sources)
        syncing(folder)

    monkeypatch.setattr(pack_folder, "sync_folder", join_then_sync)
    taken += history(store, tree, 2)
    assert joined
    assert len(packs(home)) == 2
    assert sound(home, *taken)
    assert take(store, tree) == taken[-1]
