"""A commit that relies on packs which a sweep removed is refused; without the check its bytes would be lost."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.errors import StoreMoved
from mulligan.ports import Lease
from tests.support.shared_store import Machine
from tests.support.snapshot_world import Watcher, history, take
from tests.support.stored_packs import put

Open = Callable[..., Machine]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    (path / "file").write_bytes(os.urandom(2000))
    return path


def commit(machine: Machine) -> None:
    """Write rows as the database does, after its check."""
    connection = machine.connect()
    try:
        with connection.transaction(write=True):
            machine.check.before_rows(connection)
    finally:
        connection.close()


def sweep(machine: Machine, *live: Snapshot) -> None:
    machine.store().sweep(lambda: live, dry_run=False, observer=Watcher())


def is_sound(machine: Machine, snapshot: Snapshot) -> bool:
    return machine.store().verify([snapshot], quick=False, observer=Watcher()) == {}


def test_a_commit_is_allowed_where_nothing_was_removed(machine: Open, tree: Path) -> None:
    one = machine()
    with one.leases.shared(Lease.OBJECTS):
        snapshot = take(one.store(), tree)
        commit(one)
    assert is_sound(machine(), snapshot)


def test_what_a_sweep_removed_while_its_process_stood_still_is_not_committed(
    machine: Open, tree: Path
) -> None:
    one = machine()
    with one.leases.shared(Lease.OBJECTS):
        snapshot = take(one.store(), tree)
        sweep(machine())
        assert not is_sound(machine(), snapshot), "without the check it would be lost"
        with pytest.raises(StoreMoved):
            commit(one)
    with one.leases.shared(Lease.OBJECTS):
        again = take(one.store(), tree)
        commit(one)
    assert again == snapshot
    assert is_sound(machine(), again)


def test_what_an_earlier_capture_left_is_not_relied_on_when_it_is_gone(machine: Open, tree: Path) -> None:
    one, other = machine(), machine()
    take(one.store(), tree)
    with other.leases.shared(Lease.OBJECTS):
        take(other.store(), tree)
        sweep(machine())
        with pytest.raises(StoreMoved):
            commit(other)


def test_what_others_stored_meanwhile_is_not_relied_on_when_it_is_gone(
    machine: Open, tree: Path, tmp_path: Path
) -> None:
    one, other = machine(), machine()
    (tmp_path / "first").mkdir()
    with one.leases.shared(Lease.OBJECTS):
        take(one.store(), tmp_path / "first")
        take(other.store(), tree)
        snapshot = take(one.store(), tree)
        sweep(machine(), take(machine().store(), tmp_path / "first"))
        assert not is_sound(machine(), snapshot), "without the check it would be lost"
        with pytest.raises(StoreMoved):
            commit(one)


def test_packs_that_were_joined_lose_nothing(machine: Open, tree: Path) -> None:
    one, other = machine(), machine()
    taken = history(one.store(), tree, 30)
    with other.leases.shared(Lease.OBJECTS):
        snapshot = take(other.store(), tree)
        history(one.store(), tree, 12)
        assert len(one.packs.list()) < 42, "small packs were joined"
        commit(other)
    for each in (*taken, snapshot):
        assert is_sound(machine(), each)


def test_a_pack_about_to_go_is_stored_again(machine: Open, tree: Path) -> None:
    one, other = machine(grace=3600.0), machine(grace=3600.0)
    first = take(one.store(), tree)
    sweep(other)
    names = set(one.packs.list())
    assert set(one.packs.leaving()) == names
    assert is_sound(machine(), first), "it can be read still"
    with one.leases.shared(Lease.OBJECTS):
        again = take(one.store(), tree)
        commit(one)
    assert again == first
    assert len(one.packs.list()) == len(names) + 1


def test_rows_of_work_that_looked_at_no_pack_are_refused_when_it_is_old(machine: Open) -> None:
    young, old = machine(grace=3600.0), machine(grace=1e-9)
    for each in (young, machine()):
        with each.leases.shared(Lease.OBJECTS):
            commit(each)
    with old.leases.shared(Lease.OBJECTS), pytest.raises(StoreMoved):
        commit(old)


def test_rows_that_rely_on_no_pack_are_not_checked(machine: Open, tree: Path) -> None:
    one = machine()
    take(one.store(), tree)
    sweep(machine())
    commit(one)


def test_packs_of_work_that_goes_on_for_long_are_spared_when_it_stores_more(machine: Open) -> None:
    one = machine(grace=3600.0)
    with one.leases.shared(Lease.OBJECTS):
        put(one.packs, "a.pack", b"a")
        machine(grace=3600.0).packs.remove("a.pack")
        one.packs.list()
        assert set(one.packs.leaving()) == {"a.pack"}
        put(one.packs, "b.pack", b"b")
        assert set(one.packs.leaving()) == set()


def test_a_note_that_is_older_than_what_is_kept_of_removals_is_still_compared(
    machine: Open, tree: Path
) -> None:
    one, other = machine(), machine()
    with one.leases.shared(Lease.OBJECTS):
        take(one.store(), tree)
        kept = set(one.packs.list())
        put(other.packs, "a.pack", b"a")
        connection = one.connect()
        with connection.transaction(write=True):
            connection.execute("UPDATE store SET removals = removals + 6000")
        connection.close()
        other.packs.remove("a.pack")
        assert set(one.packs.list()) == kept
        commit(one)
        sweep(other)
        with pytest.raises(StoreMoved):
            commit(one)
