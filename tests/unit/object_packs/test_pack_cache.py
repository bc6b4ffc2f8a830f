"""The cache of packs on a machine: limited, shared, and never needed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.s3_server import SmallStore
from tests.support.shared_store import Machine, SharedStore
from tests.support.snapshot_world import Watcher, take, tree_at
from tests.support.stored_packs import content, put

Open = Callable[..., Machine]


def reads(server: SmallStore) -> int:
    return len([key for method, key in server.requests if method == "GET" and "/packs/" in key])


def kept(machine: Machine) -> set[str]:
    folder = machine.work / "bucket-cache"
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def test_what_was_stored_here_is_not_fetched(machine: Open, server: SmallStore) -> None:
    one = machine()
    put(one.packs, "a.pack", b"a" * 100_000)
    assert content(one.packs, "a.pack") == b"a" * 100_000
    assert reads(server) == 0


def test_processes_of_a_machine_share_what_was_fetched(
    shared: SharedStore, server: SmallStore, tmp_path: Path
) -> None:
    put(shared.open(tmp_path / "elsewhere").packs, "a.pack", b"a" * 1000)
    for _ in range(3):
        assert content(shared.open(tmp_path / "here").packs, "a.pack") == b"a" * 1000
    assert reads(server) == 1


def test_a_few_bytes_of_a_large_pack_are_read_as_ranges_and_many_whole(
    machine: Open, server: SmallStore
) -> None:
    data = os.urandom(400_000)
    put(machine().packs, "a.pack", data)
    one = machine()
    for at in range(5):
        assert one.packs.read("a.pack", at * 1000, 500) == data[at * 1000 : at * 1000 + 500]
    assert (reads(server), kept(one)) == (5, set())
    assert one.packs.read("a.pack", 0, 150_000) == data[:150_000]
    assert kept(one) == {"a.pack"}
    assert content(one.packs, "a.pack") == data
    assert reads(server) == 6


def test_an_index_is_fetched_once_for_all_processes_of_a_machine(
    shared: SharedStore, server: SmallStore, tmp_path: Path
) -> None:
    data = os.urandom(400_000)
    put(shared.open(tmp_path / "elsewhere").packs, "a.pack", data)
    for _ in range(2):
        packs = shared.open(tmp_path / "here").packs
        assert packs.read("a.pack", 399_950, 50) == data[399_950:]
        assert packs.read("a.pack", 380_000, 19_000) == data[380_000:399_000]
    assert reads(server) == 1
    packs = shared.open(tmp_path / "here").packs
    assert packs.read("a.pack", 310_000, 89_999) == data[310_000:399_999]
    assert packs.read("a.pack", 320_000, 100) == data[320_000:320_100]
    assert reads(server) == 2


def test_packs_that_were_not_used_for_longest_go_first(machine: Open) -> None:
    one = machine(limit=350_000)
    for number in range(6):
        put(one.packs, f"{number}.pack", bytes(100_000))
        os.utime(one.work / "bucket-cache" / f"{number}.pack", (number, number))
    assert content(one.packs, "3.pack") == bytes(100_000)  # it is used
    put(one.packs, "6.pack", bytes(100_000))
    assert kept(one) == {"3.pack", "5.pack", "6.pack"}
    for number in range(7):
        assert content(machine().packs, f"{number}.pack") == bytes(100_000)


def test_a_pack_that_is_larger_than_the_cache_is_read_all_the_same(machine: Open) -> None:
    one = machine(limit=1000)
    put(one.packs, "a.pack", bytes(100_000))
    assert content(one.packs, "a.pack") == bytes(100_000)
    assert kept(one) == set()


@pytest.mark.parametrize("how", ["changed", "cut off", "a link"])
def test_a_copy_that_is_not_what_was_stored_is_fetched_again(machine: Open, tmp_path: Path, how: str) -> None:
    one = machine()
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(os.urandom(200_000))
    snapshot = take(one.store(), tree)
    (path,) = (one.work / "bucket-cache").iterdir()
    if how == "changed":
        path.write_bytes(bytes(path.stat().st_size))
    elif how == "cut off":
        path.write_bytes(path.read_bytes()[:1000])
    else:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    assert one.store().verify([snapshot], quick=False, observer=Watcher()) == {}


def test_a_tail_that_is_not_what_was_stored_is_fetched_again(
    machine: Open, shared: SharedStore, tmp_path: Path
) -> None:
    first, one = machine(), machine()
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(os.urandom(400_000))
    snapshot = take(first.store(), tree)
    assert one.store().verify([snapshot], quick=True, observer=Watcher()) == {}
    (tail,) = (one.work / "bucket-cache").glob("*.tail")
    tail.write_bytes(tail.read_bytes()[:8] + bytes(tail.stat().st_size - 8))
    again = shared.open(one.work)
    assert again.store().verify([snapshot], quick=False, observer=Watcher()) == {}


def test_without_room_for_a_cache_all_goes_on(machine: Open, tmp_path: Path) -> None:
    one = machine()
    one.work.mkdir(parents=True)
    (one.work / "bucket-cache").write_text("in the way")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(os.urandom(200_000))
    snapshot = take(one.store(), tree)
    assert one.store().verify([snapshot], quick=False, observer=Watcher()) == {}


def test_drafts_of_killed_processes_are_removed(machine: Open) -> None:
    one = machine()
    put(one.packs, "a.pack", b"a")
    young, old = (one.work / "bucket-cache" / name for name in ("young.draft", "old.draft"))
    young.write_text("somebody is writing it")
    old.write_text("its process died")
    os.utime(old, (1, 1))
    one.cache.shrink()
    assert kept(one) == {"a.pack", "young.draft"}


def test_what_another_machine_removed_leaves_the_cache(machine: Open) -> None:
    one = machine()
    put(one.packs, "a.pack", b"a")
    machine().packs.remove("a.pack")
    assert kept(one) == {"a.pack"}
    one.packs.list()
    assert kept(one) == set()


def test_packs_are_cut_at_a_limit(machine: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mulligan.adapters.object_packs.bucket_packs.BucketPacks.pack_limit", 3_000_000)
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(16):
        (tree / str(number)).write_bytes(os.urandom(500_000))
    one = machine()
    capture = one.store().capture(tree_at(tree), Watcher())
    sizes = [one.packs.size(name) for name in one.packs.list()]
    assert len(sizes) >= 2
    assert max(sizes) < 5_000_000
    assert capture.size_bytes == sum(sizes)
    assert machine().store().verify([capture.snapshot], quick=False, observer=Watcher()) == {}
