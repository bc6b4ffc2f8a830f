"""Sweeps of packs in a bucket: what nothing needs goes after a grace, in rows first."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from mulligan.boundaries import watch
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.errors import StoreForbidden, StoreMoved, StoreUnreachable
from mulligan.ports import Lease
from tests.support.s3_server import Failure, SmallStore
from tests.support.shared_store import Machine
from tests.support.snapshot_world import Watcher, history, sweep, take
from tests.support.stored_packs import content, put

Open = Callable[..., Machine]
DAY = 86_400.0


def stored(server: SmallStore) -> set[str]:
    return {key.rpartition("/")[2] for key in server.objects if "/packs/" in key}


def test_a_pack_that_nothing_needs_can_be_read_until_its_grace_is_over(
    machine: Open, server: SmallStore
) -> None:
    one, other = machine(grace=3600.0), machine(grace=3600.0)
    put(one.packs, "a.pack", b"a")
    for _ in range(3):
        assert set(other.packs.remove("a.pack")) == set()
    assert content(machine().packs, "a.pack") == b"a"
    _let_time_pass(one, 1900)
    assert set(other.packs.remove("a.pack")) == set(), "it is unneeded still, and that is noted"
    _let_time_pass(one, 1900)
    assert set(other.packs.remove("a.pack")) == {"a.pack"}
    assert stored(server) == set()


def test_a_pack_that_is_needed_again_stays(machine: Open) -> None:
    one = machine(grace=3600.0)
    put(one.packs, "a.pack", b"a")
    one.packs.remove("a.pack")
    one.packs.list()
    one.packs.spare(["a.pack"])
    _let_time_pass(one, 7200)
    one.packs.list()
    assert set(one.packs.leaving()) == set()
    assert set(one.packs.remove("a.pack")) == set(), "its grace begins again"


def test_a_sweep_spares_what_rows_came_to_need(machine: Open, tmp_path: Path) -> None:
    one = machine(grace=3600.0)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_text("content")
    snapshot = take(one.store(), tree)
    sweep(machine(grace=3600.0).store())
    one.packs.list()
    assert one.packs.leaving()
    swept = sweep(machine(grace=3600.0).store(), snapshot)
    one.packs.list()
    assert (swept.packs_kept, set(one.packs.leaving())) == (1, set())


def test_objects_that_are_moved_by_a_sweep_can_be_read_at_every_instant(
    machine: Open, tmp_path: Path
) -> None:
    one = machine(grace=3600.0)
    tree = tmp_path / "tree"
    tree.mkdir()
    taken = history(one.store(), tree, 12)
    sweep(machine(grace=3600.0).store(), *taken)
    for again in (one, machine(grace=3600.0)):
        assert again.store().verify(taken, quick=False, observer=Watcher()) == {}
    before = len(one.packs.list())
    _let_time_pass(one, 1900)
    sweep(machine(grace=3600.0).store(), *taken)
    _let_time_pass(one, 1900)
    sweep(machine(grace=3600.0).store(), *taken)
    assert len(one.packs.list()) < before
    assert machine().store().verify(taken, quick=False, observer=Watcher()) == {}


def test_a_sweep_whose_deletes_fail_loses_nothing_and_a_later_one_completes_it(
    machine: Open, server: SmallStore
) -> None:
    one = machine()
    put(one.packs, "a.pack", b"a")
    server.failures.append(Failure(status=403, code="AccessDenied", method="POST", times=1))
    with pytest.raises(StoreForbidden):
        one.packs.remove("a.pack")
    assert server.failed == 1
    assert set(one.packs.list()) == set()
    assert stored(server) == {"a.pack"}
    assert one.packs.clear(dry_run=False) == (0, 0), "it is too young to say that nobody is storing it"
    server.ahead = DAY + 60
    assert one.packs.clear(dry_run=True) == (1, 1)
    assert stored(server) == {"a.pack"}
    assert one.packs.clear(dry_run=False) == (1, 1)
    assert stored(server) == set()


def test_an_upload_that_stood_still_for_a_day_gets_no_row(machine: Open, server: SmallStore) -> None:
    one, other = machine(), machine()

    def stand_still(when: str, name: str) -> None:
        if (when, name) == ("after", "pack.upload"):
            watch(None)
            server.ahead = DAY + 60
            assert other.packs.clear(dry_run=False) == (1, 1)

    watch(stand_still)
    try:
        with pytest.raises(StoreMoved):
            put(one.packs, "a.pack", b"a")
    finally:
        watch(None)
    assert set(one.packs.list()) == stored(server) == set()


def test_a_process_that_is_slow_to_delete_deletes_nothing_that_came_since(
    machine: Open, server: SmallStore, tmp_path: Path
) -> None:
    """Names are random: what stood still with names in its hand finds nothing else under them."""
    one, other = machine(), machine()
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_text("content")
    take(one.store(), tree)
    again: list[Snapshot] = []

    def stand_still(when: str, name: str) -> None:
        if (when, name) == ("before", "pack.remove") and not again:
            watch(None)
            again.append(take(other.store(), tree))

    watch(stand_still)
    try:
        sweep(one.store())
    finally:
        watch(None)
    assert machine().store().verify(again, quick=False, observer=Watcher()) == {}


def test_one_process_at_a_time_keeps_packs_in_order(machine: Open) -> None:
    one, other = machine(), machine()
    with (
        one.leases.exclusive_if_free(Lease.UPKEEP) as first,
        other.leases.exclusive_if_free(Lease.UPKEEP) as second,
    ):
        assert (first, second) == (True, False)
        with one.leases.exclusive_if_free(Lease.UPKEEP) as third:
            assert not third
    with other.leases.exclusive(Lease.UPKEEP):
        one.register.close()
    with one.leases.exclusive_if_free(Lease.UPKEEP) as again:
        assert again


def test_a_pack_that_rows_name_and_the_bucket_lost_is_told(
    machine: Open, server: SmallStore, tmp_path: Path
) -> None:
    one = machine()
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_text("content")
    snapshot = take(one.store(), tree)
    assert set(one.packs.missing()) == set()
    for key in [key for key in server.objects if "/packs/" in key]:
        del server.objects[key]
    assert set(one.packs.missing()) == set(one.packs.list())
    for again in (one, machine()):
        found = again.store().verify([snapshot], quick=True, observer=Watcher())
        assert "is not there" in next(iter(found.values()))[0].reason
    assert sweep(machine().store()).packs_unreadable == 1


def test_a_store_that_is_away_for_long_is_told_and_nothing_is_recorded(
    machine: Open, server: SmallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mulligan.adapters.object_packs.bucket._PATIENCE", timedelta(seconds=0.2))
    one = machine()
    server.failures.append(Failure(status=503, code="SlowDown", part="/packs/"))
    with pytest.raises(StoreUnreachable, match="503"):
        put(one.packs, "a.pack", b"a")
    server.failures.clear()
    assert set(one.packs.list()) == stored(server) == set()
    put(one.packs, "a.pack", b"a")
    assert content(machine().packs, "a.pack") == b"a"


def _let_time_pass(machine: Machine, seconds: int) -> None:
    """Let the server's clock be later, as far as packs are concerned."""
    connection = machine.connect()
    with connection.transaction(write=True):
        for column in ("doomed_at", "confirmed_at"):
            connection.execute(f"UPDATE packs SET {column} = {column} - make_interval(secs => ?)", (seconds,))
    connection.close()
