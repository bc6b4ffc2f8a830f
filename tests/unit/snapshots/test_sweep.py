"""What a sweep deletes, what it never deletes, and how few packs are left."""

import os
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.packs import sweep as sweep_module
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.errors import SnapshotDamaged
from tests.support.snapshot_world import (
    Watcher,
    age,
    bring_back,
    history,
    new_store,
    pack_at,
    packs,
    picture,
    sound,
    sweep,
    take,
    tree_at,
)

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


def test_packs_without_anything_needed_are_deleted(home: Path, tree: Path) -> None:
    store = new_store(home)
    taken = history(store, tree, 5)
    before = packs(home)
    swept = sweep(store, taken[0], taken[4])
    assert (swept.packs_removed, swept.packs_rewritten) == (3, 0)
    assert swept.objects_removed == 9  # of each: the counter, its folder, the root
    assert swept.bytes_freed == sum(before.values()) - sum(packs(home).values()) > 0
    assert (swept.packs_kept, swept.bytes_kept) == (2, sum(packs(home).values()))
    assert sound(home, taken[0], taken[4])
    assert not sound(home, taken[1])


def test_a_sweep_of_what_is_all_needed_changes_nothing(home: Path, tree: Path) -> None:
    store = new_store(home)
    taken = history(store, tree, 5)
    before = packs(home)
    swept = sweep(store, *taken)
    assert (swept.objects_removed, swept.bytes_freed) == (0, 0)
    assert packs(home) == before


def test_what_is_needed_of_a_pack_is_copied_before_it_goes(home: Path, tree: Path) -> None:
    store = new_store(home)
    (tree / "large").write_bytes(os.urandom(3_000_000))
    first = take(store, tree)
    (tree / "large").write_bytes(b"small now")
    second = take(store, tree)
    swept = sweep(store, second)
    assert swept.packs_rewritten == 1
    assert swept.bytes_freed > 2_900_000
    assert sound(home, second)
    assert not sound(home, first)
    bring_back(store, second, home.parent / "copy")
    assert picture(home.parent / "copy") == picture(tree)


def test_a_pack_with_little_garbage_stays_as_it_is(home: Path, tree: Path) -> None:
    store = new_store(home)
    (tree / "large").write_bytes(os.urandom(900_000))
    take(store, tree)
    (tree / "counter").write_text("another")
    second = take(store, tree)
    before = packs(home)
    assert sweep(store, second).packs_rewritten == 0
    assert packs(home) == before


def test_a_dry_run_counts_and_deletes_nothing(home: Path, tree: Path) -> None:
    store = new_store(home)
    (tree / "large").write_bytes(os.urandom(3_000_000))
    take(store, tree)
    (tree / "large").unlink()
    taken = history(store, tree, 5)
    before = packs(home)
    preview = store.sweep(lambda: [taken[4]], dry_run=True, observer=Watcher())
    assert packs(home) == before
    assert sweep(store, taken[4]) == preview


def test_large_files_keep_all_their_chunks(home: Path, tree: Path) -> None:
    store = new_store(home)
    data = bytearray(os.urandom(2_000_000))
    (tree / "database").write_bytes(data)
    take(store, tree)
    data[1_000_000] ^= 1
    (tree / "database").write_bytes(data)
    second = take(store, tree)
    sweep(store, second)
    assert sound(home, second)
    sweep(store)
    assert packs(home) == {}


def test_files_that_hold_the_bytes_of_other_objects_hide_nothing_from_the_sweep(
    home: Path, tree: Path
) -> None:
    """A file with the bytes of a chunk list or folder is the same object, and still the others are needed."""
    store = new_store(home)
    (tree / "database").write_bytes(os.urandom(2_000_000))
    taken = take(store, tree)
    objects = [object_id for pack in _read_packs(home) for object_id in pack.values()]
    (tree / "a first").mkdir()
    for number, data in enumerate(objects):
        if len(data) < 1_000_000:
            (tree / "a first" / f"{number}").write_bytes(data)
    both = take(store, tree)
    for live in ([both], [taken, both], [both, taken]):
        sweep(store, *live)
        assert sound(home, *live)


def _read_packs(home: Path) -> list[dict[bytes, bytes]]:
    found: list[dict[bytes, bytes]] = []
    for path in (home / "packs").iterdir():
        pack = pack_at(path)
        found.append({each: pack.read(each) for each in pack.ids})
    return found


def test_what_a_capture_reused_while_others_marked_stays(home: Path, tree: Path) -> None:
    """The old object has no row when the sweep marks, and one when it deletes."""
    other = new_store(home)
    rows = history(other, tree, 3)
    forgotten = rows.pop(1)
    content = picture(tree)
    bring_back(other, forgotten, tree)
    calls: list[int] = []

    def live() -> list[Snapshot]:
        found = list(rows)
        if not calls:  # right after this look at the rows, before anything is deleted
            with other.hold():
                capture = other.capture(tree_at(tree), Watcher())
                assert capture.size_bytes == 0  # all of it was found in the store
                rows.append(capture.snapshot)
        calls.append(1)
        return found

    swept = new_store(home).sweep(live, dry_run=False, observer=Watcher())
    assert len(calls) > 1
    assert swept.packs_removed == 0
    assert sound(home, *rows)
    bring_back(new_store(home), rows[1], tree)
    assert picture(tree) == content


def test_what_was_reused_of_a_pack_that_is_rewritten_stays(home: Path, tree: Path) -> None:
    other = new_store(home)
    (tree / "large").write_bytes(os.urandom(900_000))
    forgotten = take(other, tree)
    (tree / "large").write_bytes(b"small now")
    rows = [take(other, tree)]
    calls: list[int] = []

    def live() -> list[Snapshot]:
        found = list(rows)
        calls.append(1)
        if len(calls) == 2:  # what is live was copied by now; the old pack is about to go
            bring_back(other, forgotten, tree)
            with other.hold():
                rows.append(take(other, tree))
        return found

    swept = new_store(home).sweep(live, dry_run=False, observer=Watcher())
    assert len(calls) > 2
    assert swept.packs_rewritten == 0
    assert sound(home, *rows)
    sweep(new_store(home), *rows)
    assert sound(home, *rows)


def test_damage_in_what_is_needed_stops_the_sweep(home: Path, tree: Path) -> None:
    store = new_store(home)
    taken = history(store, tree, 3)
    before = packs(home)
    unreadable = Snapshot((taken[0].roots[0].__class__(taken[0].id, "00" * 32),))
    with pytest.raises(SnapshotDamaged, match="missing"):
        sweep(store, unreadable, taken[2])
    nonsense = Snapshot((taken[0].roots[0].__class__(taken[0].id, "nonsense"),))
    with pytest.raises(SnapshotDamaged, match="not an address"):
        sweep(store, nonsense, taken[2])
    assert packs(home) == before


def test_a_pack_whose_objects_are_damaged_is_not_copied_and_not_deleted(home: Path, tree: Path) -> None:
    store = new_store(home)
    (tree / "large").write_bytes(os.urandom(900_000))
    take(store, tree)
    (tree / "large").unlink()
    second = take(store, tree)
    (path, *_) = sorted((home / "packs").iterdir(), key=lambda each: -each.stat().st_size)
    pack = pack_at(path)
    small = next(each for each in pack.ids if pack.row(each).raw == 500)
    hurt = bytearray(path.read_bytes())
    hurt[pack.row(small).offset] ^= 1
    path.write_bytes(hurt)
    swept = sweep(store, second)
    assert path.exists()
    assert swept.packs_rewritten == 0


def test_a_pack_that_nobody_can_read_stays(home: Path, tree: Path) -> None:
    store = new_store(home)
    taken = history(store, tree, 2)
    broken = home / "packs" / "broken.pack"
    broken.write_bytes(b"not a pack")
    assert sweep(store, *taken).packs_unreadable == 1
    assert broken.exists()


def test_of_an_object_that_stands_twice_the_sound_one_stays(home: Path, tree: Path) -> None:
    """Packs that share objects come from two captures at once. The larger pack's copy is the one that hurts."""
    (tree / "twice").write_bytes(os.urandom(10_000))
    alone = take(new_store(home), tree)
    second = new_store(home.parent / "second")
    (tree / "more").write_bytes(os.urandom(50_000))
    both = take(second, tree)
    (other,) = (home.parent / "second" / "packs").iterdir()
    other = other.rename(home / "packs" / other.name)
    pack = pack_at(other)
    twice = next(each for each in pack.ids if pack.row(each).raw == 10_000)
    hurt = bytearray(other.read_bytes())
    hurt[pack.row(twice).offset] ^= 1
    other.write_bytes(hurt)
    assert sound(home, alone, both)
    sweep(new_store(home), alone, both)
    assert other.exists()
    assert sound(home, alone, both)


def later_store(home: Path) -> PackedSnapshotStore:
    """A store to which no file is so young that it would be read again for that."""
    return new_store(home, ahead_ns=10**10)


def test_the_next_capture_reads_only_what_was_swept_away(
    home: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stat cache of before the sweep is still worth something, and never trusted too far."""
    for number in range(80):
        (tree / "folder" / f"more {number}").write_text(f"{number}")
    (tree / "database").write_bytes(os.urandom(2_000_000))
    age(tree)
    first = take(new_store(home), tree)
    copy = home.parent / "copy"
    bring_back(later_store(home), first, copy)
    (copy / "folder" / "3").write_text("only here")
    (copy / "only here too").mkdir()
    (copy / "database").write_bytes(os.urandom(2_000_000))
    store = later_store(home)
    unrecorded = take(store, copy)  # something went wrong before its rows were committed
    sweep(new_store(home), first)
    assert not sound(home, unrecorded)
    opened: list[str] = []
    opening = os.open

    def counting(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None and not flags & (os.O_DIRECTORY | os.O_CREAT):
            opened.append(path)
        return opening(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", counting)
    assert take(store, copy) == unrecorded
    assert sorted(opened) == ["3", "database"]
    assert sound(home, unrecorded)
    opened.clear()
    assert take(store, copy) == unrecorded
    assert opened == []  # what is needed is there again
    assert take(later_store(home), copy) == unrecorded
    assert sorted(opened) == ["3", "database"]  # so few were not written down for other processes


def test_growth_since_the_last_sweep_is_known(home: Path, tree: Path) -> None:
    store = new_store(home)
    assert not store.has_grown(1.2, 100)
    taken = history(store, tree, 2)
    assert store.has_grown(1.2, 100)
    sweep(store, *taken)
    assert not store.has_grown(1.2, 100)
    taken += history(store, tree, 10)
    assert store.has_grown(1.2, 100)
    assert not store.has_grown(10, 100)
    assert not new_store(home).has_grown(1.2, 1_000_000)
    (home / "level").write_text("nonsense")
    assert store.has_grown(10, 100)


def test_leftovers_go_and_what_is_in_use_stays(home: Path, tree: Path) -> None:
    for number in range(80):
        (tree / f"more {number}").write_text(f"{number}")
    store = new_store(home)
    take(store, tree)
    take(store, tree / "folder")
    (home / "caches" / "another").write_bytes(b"x" * 10)
    abandoned = home / "rooms" / "abandoned"
    abandoned.mkdir()
    (abandoned / "pack").write_bytes(b"x" * 1000)
    with store._rooms.room() as in_use:  # noqa: SLF001 - a process at work
        for dry_run in (True, False):
            found = new_store(home).clear_leftovers([tree_at(tree)], dry_run=dry_run)
            assert (found.work_folders, found.stat_caches, found.size_bytes) == (1, 1, 1010)
            assert in_use.is_dir()
    assert not abandoned.exists()
    assert len(list((home / "caches").iterdir())) == 1
    assert not list((home / "rooms").iterdir())


@pytest.mark.parametrize("empty", [True, False])
def test_a_store_that_does_not_exist_yet_has_nothing_to_sweep(home: Path, empty: bool) -> None:
    if empty:
        home.mkdir()
    store = new_store(home)
    assert sweep(store).packs_kept == 0
    assert store.clear_leftovers([], dry_run=False).size_bytes == 0


def test_progress_is_told(home: Path, tree: Path) -> None:
    watcher = Watcher()
    for number in range(600):
        (tree / f"folder {number}").mkdir()
        (tree / f"folder {number}" / "file").write_text(str(number))
    store = new_store(home)
    first, second = take(store, tree), history(store, tree, 1)[0]
    store.sweep(lambda: [first], dry_run=False, observer=watcher)
    assert {what for what, _, _ in watcher.told} == {"objects marked", "packs swept"}
    assert sound(home, first)
    assert not sound(home, second)


@pytest.mark.parametrize("largest", [1, 7_000])
def test_what_is_copied_goes_into_packs_of_a_good_size(
    home: Path, tree: Path, monkeypatch: pytest.MonkeyPatch, largest: int
) -> None:
    monkeypatch.setattr(sweep_module, "LARGEST_JOINED", largest)
    store = new_store(home)
    taken: list[Snapshot] = []
    for number in range(6):
        (tree / "passing").write_bytes(os.urandom(3_000))
        (tree / f"staying {number}").write_bytes(os.urandom(3_000))
        taken.append(take(store, tree))
    swept = sweep(store, taken[5])
    assert swept.packs_rewritten == 5
    assert swept.packs_kept == (6 if largest == 1 else 4)
    assert sound(home, taken[5])


def test_a_pack_that_cannot_be_read_while_it_is_copied_is_not_deleted(
    home: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(home)
    (tree / "large").write_bytes(os.urandom(900_000))
    take(store, tree)
    (tree / "large").unlink()
    second = take(store, tree)
    before = packs(home)
    copy, refused = sweep_module.copy_objects, list[int]()

    def refuse(fd: int, length: int, offset: int) -> bytes:
        refused.append(fd)
        raise PermissionError(13, "Permission denied")

    def copy_refused(*arguments: object) -> object:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pread", refuse)
            return copy(*arguments)  # pyright: ignore[reportArgumentType] - handed through

    monkeypatch.setattr(sweep_module, "copy_objects", copy_refused)
    assert sweep(store, second).packs_rewritten == 0
    assert refused
    assert packs(home) == before
