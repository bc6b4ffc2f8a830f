"""What every snapshot store promises of its sweep."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.errors import SnapshotDamaged
from mulligan.ports import SnapshotStore
from tests.support.snapshot_world import Watcher, picture, tree_at


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "deep" / "er").mkdir(parents=True)
    (path / "deep" / "er" / "same").write_text("never changes")
    return path


def _versions(store: SnapshotStore, tree: Path) -> list[Snapshot]:
    taken: list[Snapshot] = []
    for _ in range(4):
        (tree / "data").write_bytes(os.urandom(1_200_000))
        taken.append(store.capture(tree_at(tree), Watcher()).snapshot)
    return taken


def _damaged(store: SnapshotStore, snapshots: list[Snapshot]) -> list[bool]:
    found = store.verify(snapshots, quick=False, observer=Watcher())
    return [snapshot in found for snapshot in snapshots]


def test_what_is_live_stays_and_the_rest_goes(
    make_store: Callable[[], SnapshotStore], tree: Path, tmp_path: Path
) -> None:
    taken = _versions(make_store(), tree)
    swept = make_store().sweep(lambda: [taken[1], taken[3]], dry_run=False, observer=Watcher())
    assert swept.bytes_freed > 2_000_000
    assert swept.objects_removed > 0
    assert _damaged(make_store(), taken) == [True, False, True, False]
    make_store().restore(taken[3], tree_at(tmp_path / "copy"), Watcher())
    assert picture(tmp_path / "copy") == picture(tree)


def test_a_dry_run_tells_what_a_sweep_would_do(store: SnapshotStore, tree: Path) -> None:
    taken = _versions(store, tree)
    told = store.sweep(lambda: taken[2:], dry_run=True, observer=Watcher())
    assert _damaged(store, taken) == [False] * 4
    assert store.sweep(lambda: taken[2:], dry_run=False, observer=Watcher()) == told
    again = store.sweep(lambda: taken[2:], dry_run=False, observer=Watcher())
    assert (again.objects_removed, again.bytes_freed) == (0, 0)


def test_a_snapshot_that_is_recorded_while_a_sweep_goes_on_stays(
    make_store: Callable[[], SnapshotStore], tree: Path
) -> None:
    other = make_store()
    taken = _versions(other, tree)
    rows = [taken[0]]

    def live() -> list[Snapshot]:
        found = list(rows)
        if len(rows) == 1:
            with other.hold():
                rows.append(other.capture(tree_at(tree), Watcher()).snapshot)
        return found

    make_store().sweep(live, dry_run=False, observer=Watcher())
    assert rows[1] == taken[3]
    assert _damaged(make_store(), taken) == [False, True, True, False]


def test_what_was_swept_can_be_captured_again(store: SnapshotStore, tree: Path) -> None:
    taken = _versions(store, tree)
    store.sweep(list, dry_run=False, observer=Watcher())
    assert _damaged(store, taken) == [True] * 4
    assert store.capture(tree_at(tree), Watcher()).snapshot == taken[3]
    assert _damaged(store, taken[3:]) == [False]


def test_a_damaged_snapshot_stops_the_sweep(store: SnapshotStore, tree: Path) -> None:
    taken = _versions(store, tree)
    store.sweep(lambda: taken[1:], dry_run=False, observer=Watcher())
    for dry_run in (True, False):
        with pytest.raises(SnapshotDamaged):
            store.sweep(lambda: taken[:2], dry_run=dry_run, observer=Watcher())
    assert _damaged(store, taken) == [True, False, False, False]


def test_a_store_has_grown_when_it_is_larger_than_the_last_sweep_left_it(
    make_store: Callable[[], SnapshotStore], tree: Path
) -> None:
    taken = _versions(make_store(), tree)
    assert make_store().has_grown(1.2, 1000)
    make_store().sweep(lambda: taken, dry_run=True, observer=Watcher())
    assert make_store().has_grown(1.2, 1000)
    make_store().sweep(lambda: taken, dry_run=False, observer=Watcher())
    assert not make_store().has_grown(1.2, 1000)


def _in_a_thread(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=act, daemon=True)  # one that waits for ever fails its test, and no more
    thread.start()
    return thread


def test_holding_is_shared(make_store: Callable[[], SnapshotStore]) -> None:
    held = threading.Event()

    def hold() -> None:
        with make_store().hold():
            held.set()

    with make_store().hold():
        another = _in_a_thread(hold)
        assert held.wait(30), "the second one waits for the first"
    another.join(30)


def test_a_sweep_deletes_nothing_while_the_store_is_held(
    make_waiting_store: Callable[[], SnapshotStore], tree: Path
) -> None:
    taken = _versions(make_waiting_store(), tree)
    with make_waiting_store().hold():
        sweep = _in_a_thread(lambda: make_waiting_store().sweep(list, dry_run=False, observer=Watcher()))
        sweep.join(0.5)
        assert sweep.is_alive()
        assert _damaged(make_waiting_store(), taken) == [False] * 4
    sweep.join(30)
    assert not sweep.is_alive()
    assert _damaged(make_waiting_store(), taken) == [True] * 4


def test_a_thorough_sweep_leaves_no_garbage_in_any_pack(
    make_store: Callable[[], SnapshotStore], tree: Path
) -> None:
    (tree / "large").write_bytes(os.urandom(400_000))
    (tree / "secret").write_bytes(os.urandom(1000))
    store = make_store()
    whole = store.capture(tree_at(tree), Watcher()).snapshot
    entry = store.item(whole.roots[0], "secret")
    assert entry is not None
    assert entry.content is not None
    (root,) = store.without(whole.roots, ["secret"]).values()
    live = Snapshot((root,))
    store.sweep(lambda: [live], dry_run=False, observer=Watcher())
    assert store.kept_contents([entry.content])  # a small part of its pack
    swept = store.sweep(lambda: [live], dry_run=False, observer=Watcher(), thorough=True)
    assert swept.packs_rewritten == 1
    assert not store.kept_contents([entry.content])
    assert _damaged(store, [live]) == [False]
    again = store.sweep(lambda: [live], dry_run=False, observer=Watcher(), thorough=True)
    assert (again.packs_rewritten, again.bytes_freed) == (0, 0)
