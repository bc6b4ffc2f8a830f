"""Every flipped bit, cut and loss is found, told as damage and refused before anything is touched."""

import random
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.checkpoints.snapshot import ObjectId, Root, Snapshot, SnapshotId
from mulligan.errors import SnapshotDamaged
from tests.support.snapshot_world import Watcher, new_store, pack_at, picture, take, tree_at

# Packs are the same whichever way trees are walked.
pytestmark = pytest.mark.parametrize("walker", ["in C"], indirect=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "folder").mkdir(parents=True)
    (path / "folder" / "text").write_text("compressible " * 100)
    (path / "noise").write_bytes(random.Random(1).randbytes(500))
    (path / "large").write_bytes(random.Random(2).randbytes(1_200_000))
    return path


@pytest.fixture
def snapshot(tree: Path, tmp_path: Path) -> Snapshot:
    return take(new_store(tmp_path / "store"), tree)


def _pack(tmp_path: Path) -> Path:
    (pack,) = (tmp_path / "store" / "packs").iterdir()
    return pack


def _restore_into_new_folder(store: PackedSnapshotStore, snapshot: Snapshot, path: Path) -> None:
    store.restore(snapshot, tree_at(path), Watcher())


def _assert_found(tmp_path: Path, snapshot: Snapshot) -> None:
    store = new_store(tmp_path / "store")
    found = store.verify([snapshot], quick=False, observer=Watcher())
    assert list(found) == [snapshot]
    assert all(damage.object and damage.reason for damage in found[snapshot])
    with pytest.raises(SnapshotDamaged):
        _restore_into_new_folder(store, snapshot, tmp_path / "target")
    assert not (tmp_path / "target").exists(), "a damaged snapshot touched the tree"


def test_a_flip_of_any_byte_is_found(tmp_path: Path, snapshot: Snapshot) -> None:
    pack = _pack(tmp_path)
    sound = pack.read_bytes()
    chosen = random.Random(3)
    places = {
        *range(16),
        *range(len(sound) - 700, len(sound)),
        *(chosen.randrange(len(sound)) for _ in range(60)),
    }
    for place in sorted(places):
        hurt = bytearray(sound)
        hurt[place] ^= 1 << chosen.randrange(8)
        pack.write_bytes(hurt)
        found = new_store(tmp_path / "store").verify([snapshot], quick=False, observer=Watcher())
        assert list(found) == [snapshot], f"byte {place} of {len(sound)}"
    pack.write_bytes(sound)
    assert new_store(tmp_path / "store").verify([snapshot], quick=False, observer=Watcher()) == {}


@pytest.mark.parametrize("place", [0, 9, 30, -1, -20, -60, -400])
def test_a_flip_is_refused_by_a_restore(tmp_path: Path, snapshot: Snapshot, place: int) -> None:
    pack = _pack(tmp_path)
    hurt = bytearray(pack.read_bytes())
    hurt[place] ^= 0x40
    pack.write_bytes(hurt)
    _assert_found(tmp_path, snapshot)


@pytest.mark.parametrize("length", [0, 5, 12, 70, 1000, -1, -40])
def test_a_cut_is_found(tmp_path: Path, snapshot: Snapshot, length: int) -> None:
    pack = _pack(tmp_path)
    pack.write_bytes(pack.read_bytes()[:length])
    _assert_found(tmp_path, snapshot)
    assert new_store(tmp_path / "store").verify([snapshot], quick=True, observer=Watcher())


def test_a_lost_pack_is_found(tmp_path: Path, snapshot: Snapshot) -> None:
    _pack(tmp_path).unlink()
    _assert_found(tmp_path, snapshot)


def test_a_pack_that_cannot_be_read_is_damage(tmp_path: Path, snapshot: Snapshot) -> None:
    pack = _pack(tmp_path)
    pack.unlink()
    pack.mkdir()
    _assert_found(tmp_path, snapshot)


def test_a_pack_lost_while_we_run_is_damage(tmp_path: Path, tree: Path) -> None:
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    _pack(tmp_path).unlink()
    assert store.verify([snapshot], quick=False, observer=Watcher())


def test_a_lost_pack_is_made_good_by_the_next_capture(tmp_path: Path, tree: Path) -> None:
    store = new_store(tmp_path / "store")
    (tree / "folder" / "text").touch()
    snapshot = take(store, tree)
    for again in (store, new_store(tmp_path / "store")):
        _pack(tmp_path).unlink()
        assert take(again, tree) == snapshot
        assert again.verify([snapshot], quick=False, observer=Watcher()) == {}


def test_only_the_snapshots_that_are_hurt_are_named(tmp_path: Path, tree: Path) -> None:
    store = new_store(tmp_path / "store")
    first = take(store, tree)
    known = set((tmp_path / "store" / "packs").iterdir())
    (tree / "noise").write_text("another")
    second = take(store, tree)
    (new,) = set((tmp_path / "store" / "packs").iterdir()) - known
    new.unlink()
    for quick in (True, False):
        found = new_store(tmp_path / "store").verify([first, second], quick=quick, observer=Watcher())
        assert list(found) == [second]


def test_a_tree_under_another_identity_is_damage(tmp_path: Path, tree: Path, snapshot: Snapshot) -> None:
    (root,) = snapshot.roots
    forged = Snapshot((Root(SnapshotId("ab" * 32), root.address),))
    found = new_store(tmp_path / "store").verify([forged, snapshot], quick=True, observer=Watcher())
    assert list(found) == [forged]


def test_a_file_is_no_snapshot(tmp_path: Path, tree: Path, snapshot: Snapshot) -> None:
    """An address of something else than a root is damage, not a traceback."""
    from mulligan.adapters.snapshots.format.pack_format import hash_of

    pack = pack_at(_pack(tmp_path))
    for object_id in pack.ids:
        address = ObjectId(object_id.hex())
        if address == snapshot.roots[0].address:
            continue
        wrong = Snapshot((Root(SnapshotId(hash_of(object_id).hex()), address),))
        store = new_store(tmp_path / "store")
        assert list(store.verify([wrong], quick=False, observer=Watcher())) == [wrong]
        with pytest.raises(SnapshotDamaged):
            store.compare(wrong, tree_at(tree))


def test_a_damaged_snapshot_leaves_a_changed_tree_as_it_is(
    tmp_path: Path, tree: Path, snapshot: Snapshot
) -> None:
    (tree / "large").unlink()
    (tree / "noise").unlink()
    pack = _pack(tmp_path)
    hurt = bytearray(pack.read_bytes())
    hurt[len(hurt) // 2] ^= 1
    pack.write_bytes(hurt)
    before = picture(tree)
    with pytest.raises(SnapshotDamaged):
        new_store(tmp_path / "store").compare(snapshot, tree_at(tree))
    with pytest.raises(SnapshotDamaged):
        new_store(tmp_path / "store").restore(snapshot, tree_at(tree), Watcher())
    assert picture(tree) == before
    assert list((tmp_path / "store" / "rooms").iterdir()) == []


def test_verifying_tells_how_far_it_is(tmp_path: Path) -> None:
    tree = tmp_path / "many"
    tree.mkdir()
    for number in range(600):
        (tree / str(number)).write_text(str(number))
    store = new_store(tmp_path / "store")
    watcher = Watcher()
    store.verify([store.capture(tree_at(tree), watcher).snapshot], quick=False, observer=watcher)
    _restore_into_new_folder(store, take(store, tree), tmp_path / "copy")
    assert ("files read", 500, None) in watcher.told
    assert ("objects verified", 500, None) in watcher.told
    assert watcher.told[-1] == ("objects verified", 602, 602)
