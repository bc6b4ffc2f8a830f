"""What is not read again, and what is, though its times say nothing changed."""

import os
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.snapshots.cache import stat_cache as cache
from mulligan.adapters.snapshots.cache.stat_cache import forget_missing
from mulligan.adapters.snapshots.capture import c_contents
from mulligan.adapters.snapshots.capture import full_capture as capture
from mulligan.adapters.snapshots.capture.entry_reader import Records
from mulligan.adapters.snapshots.capture.full_capture import make_object
from mulligan.adapters.snapshots.format.signatures import is_racy
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.adapters.snapshots.packs.repack import ENOUGH_TO_JOIN
from mulligan.adapters.snapshots.scan.found_folder import Folder
from tests.support.snapshot_world import Watcher, age, bring_back, history, new_store, take, tree_at


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    for number in range(100):
        (path / f"folder {number % 5}").mkdir(parents=True, exist_ok=True)
        (path / f"folder {number % 5}" / f"{number}").write_text(f"content {number}")
    return path


class Reads:
    """Counts the files of a tree that are opened to be read."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        opening = os.open

        def counting(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            if dir_fd is not None and not flags & (os.O_DIRECTORY | os.O_CREAT):
                self.names.append(path)
            return opening(path, flags, mode, dir_fd=dir_fd)

        patch.setattr(os, "open", counting)
        in_c = c_contents.read

        def noted(folder: int, names: bytes, *others: Any) -> list[bytes | None]:
            assert in_c is not None
            found = in_c(folder, names, *others)
            listed = os.fsdecode(names).split("\0")
            self.names += [name for name, data in zip(listed, found, strict=False) if data is not None]
            return found

        if in_c is not None:
            patch.setattr(c_contents, "read", noted)

    def take(self) -> list[str]:
        names, self.names = sorted(self.names), []
        return names


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def test_an_mtime_in_the_future_costs_nothing(tmp_path: Path, tree: Path, reads: Reads) -> None:
    os.utime(tree / "folder 1" / "1", (4_000_000_000, 4_000_000_000))
    age(tree)
    store = new_store(tmp_path / "store")
    take(store, tree)
    assert len(reads.take()) == 100
    take(store, tree)
    assert reads.take() == []


def test_only_what_changed_is_read(tmp_path: Path, tree: Path, reads: Reads) -> None:
    age(tree)
    store = new_store(tmp_path / "store")
    take(store, tree)
    assert len(reads.take()) == 100
    for number in count():
        (tree / "folder 1" / "1").write_text(f"changed {number}")
        written = time.monotonic()
        take(store, tree)
        young = time.monotonic() - written < 0.01
        assert reads.take() == ["1"]
        if young:  # a busy machine takes longer
            break
    age(tree)
    take(store, tree)
    assert reads.take() == ["1"]  # it was too young to be trusted
    take(store, tree)
    assert reads.take() == []


def test_what_each_later_process_would_read_again_is_written_down_once(
    tmp_path: Path, tree: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_SAVING_COSTS", 1)  # a process that goes on waits for more
    age(tree)
    take(new_store(tmp_path / "store"), tree)
    for path in [path for path in sorted(tree.rglob("*")) if path.is_file()][:70]:
        path.write_text("changed")
    age(tree)
    reads.take()
    take(new_store(tmp_path / "store"), tree)
    assert len(reads.take()) == 70
    take(new_store(tmp_path / "store"), tree)
    assert reads.take() == []


def test_a_new_process_reads_only_what_changed(tmp_path: Path, tree: Path, reads: Reads) -> None:
    age(tree)
    first = take(new_store(tmp_path / "store"), tree)
    reads.take()
    assert take(new_store(tmp_path / "store"), tree) == first
    assert reads.take() == []
    (tree / "folder 2" / "2").rename(tree / "folder 2" / "two")
    take(new_store(tmp_path / "store"), tree)
    assert reads.take() == ["two"]


def test_the_first_capture_after_a_restore_reads_next_to_nothing(
    tmp_path: Path, tree: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(tree)
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    later = new_store(tmp_path / "store", ahead_ns=10**10)
    bring_back(later, snapshot, tmp_path / "copy")
    reads.take()
    assert take(new_store(tmp_path / "store"), tmp_path / "copy") == snapshot
    assert reads.take() == []


def test_the_cache_of_another_boot_is_not_trusted(tmp_path: Path, tree: Path, reads: Reads) -> None:
    age(tree)
    first = take(new_store(tmp_path / "store"), tree)
    reads.take()
    assert take(new_store(tmp_path / "store", boot_id="another"), tree) == first
    assert len(reads.take()) == 100


@pytest.mark.parametrize("place", [0, 30, 60, -5])
def test_a_damaged_cache_is_not_trusted(tmp_path: Path, tree: Path, reads: Reads, place: int) -> None:
    age(tree)
    first = take(new_store(tmp_path / "store"), tree)
    (cache,) = (tmp_path / "store" / "caches").iterdir()
    hurt = bytearray(cache.read_bytes())
    hurt[place] ^= 1
    cache.write_bytes(hurt)
    reads.take()
    assert take(new_store(tmp_path / "store"), tree) == first
    assert len(reads.take()) == 100


def test_a_forgotten_tree_leaves_no_cache(tmp_path: Path, tree: Path, reads: Reads) -> None:
    age(tree)
    store = new_store(tmp_path / "store")
    take(store, tree)
    store.forget_tree(tree_at(tree))
    assert list((tmp_path / "store" / "caches").iterdir()) == []
    reads.take()
    take(store, tree)
    assert len(reads.take()) == 100


def test_a_change_within_the_grain_of_the_clock_is_seen(tmp_path: Path, tree: Path) -> None:
    """Same size, same times: only because it was young when it was read is it read again."""
    file = tree / "folder 1" / "1"
    store = new_store(tmp_path / "store")
    for number in range(30):
        file.write_text(f"first {number:03d}")
        first = take(store, tree)
        file.write_text(f"other {number:03d}")
        assert take(store, tree).id != first.id


def test_whole_second_stamps_mean_a_coarse_clock() -> None:
    """On a filesystem that stamps whole seconds a file is young for two of them."""
    second = 1_700_000_000_000_000_000
    assert is_racy(second, second + 1_900_000_000)
    assert not is_racy(second, second + 2_100_000_000)
    assert is_racy(second + 1, second + 10_000_000)
    assert not is_racy(second + 1, second + 30_000_000)


def test_what_a_comparison_reads_is_not_taken_for_stored(tmp_path: Path, tree: Path) -> None:
    age(tree)
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    (tree / "folder 1" / "1").write_text("never stored yet")
    age(tree)
    assert store.compare(snapshot, tree_at(tree))
    second = take(store, tree)
    assert store.verify([second], quick=False, observer=Watcher()) == {}


@pytest.mark.parametrize("noted", [True, False])
def test_after_packs_were_joined_one_process_looks_for_all_objects_unless_that_is_noted(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch, *, noted: bool
) -> None:
    age(tree)
    take(new_store(tmp_path / "store"), tree)
    history(new_store(tmp_path / "store"), tree, ENOUGH_TO_JOIN + 1)  # joins them, and saves nothing
    if not noted:
        (tmp_path / "store" / "joined").write_text("one that is not there\nand what is not a note\n")
    looks: list[Folder] = []

    def counting(top: Folder, objects: Objects) -> bool:
        looks.append(top)
        return forget_missing(top, objects)

    monkeypatch.setattr(cache, "forget_missing", counting)
    first = take(new_store(tmp_path / "store"), tree)
    assert len(looks) == (0 if noted else 1)
    assert take(new_store(tmp_path / "store"), tree) == first
    assert len(looks) == (0 if noted else 1)


def test_notes_of_joined_packs_begin_again_when_they_are_many(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_JOINED", 3)
    store = new_store(tmp_path / "store")
    history(store, tree, 2 * ENOUGH_TO_JOIN + 2)
    notes = (tmp_path / "store" / "joined").read_text().splitlines()
    assert len(notes) <= ENOUGH_TO_JOIN
    assert {line.split()[1] for line in notes} <= {
        path.name for path in (tmp_path / "store" / "packs").iterdir()
    }


def test_a_restore_of_a_few_files_in_a_large_tree_is_not_written_down(tmp_path: Path) -> None:
    """To write down all that is known of the tree takes longer than to read those files again."""
    tree, store = tmp_path / "tree", new_store(tmp_path / "store")
    for number in range(70 * 32):
        (tree / f"{number % 50}").mkdir(parents=True, exist_ok=True)
        (tree / f"{number % 50}" / f"{number}").write_text(f"{number}")
    snapshot = take(store, tree)
    (cached,) = (tmp_path / "store").rglob("caches/*")
    written = cached.stat().st_ino
    for number in range(65):
        (tree / f"{number % 50}" / f"{number}").write_text("changed")
    bring_back(store, snapshot, tree)
    assert cached.stat().st_ino == written
    assert take(new_store(tmp_path / "store"), tree) == snapshot


def test_folders_that_a_restore_made_are_known_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    for number in range(100):
        (tree / f"{number}").mkdir(parents=True)
        (tree / f"{number}" / "file").write_text(f"{number}")
    snapshot = take(new_store(tmp_path / "store", ahead_ns=10**12), tree)
    copy = tmp_path / "copy"
    bring_back(new_store(tmp_path / "store", ahead_ns=10**12), snapshot, copy)
    made: list[str] = []

    def counting(folder: Folder, records: Records) -> None:
        made.append(folder.name)
        make_object(folder, records)

    monkeypatch.setattr(capture, "make_object", counting)
    assert take(new_store(tmp_path / "store", ahead_ns=10**12), copy) == snapshot
    assert made == [""]  # the one around the tree, which has a single entry


def test_what_is_counted_from_the_cache_is_what_is_there(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for number in range(100):
        (tree / f"{number % 9}").mkdir(parents=True, exist_ok=True)
        (tree / f"{number % 9}" / f"{number}").write_text("x" * number)
    (tree / "1" / "link").symlink_to("anywhere")
    take(new_store(tmp_path / "store", ahead_ns=10**12), tree)
    (tree / "2" / "2").write_text("longer by far")
    (tree / "3" / "3").unlink()
    known = new_store(tmp_path / "store", ahead_ns=10**12).survey(tree_at(tree), Watcher())
    counted = new_store(tmp_path / "another", ahead_ns=10**12).survey(tree_at(tree), Watcher())
    assert known == counted
    assert (known.files, known.size_bytes) == (100, sum(range(100)) - 5 + 13)
