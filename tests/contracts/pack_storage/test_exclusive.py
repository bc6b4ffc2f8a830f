"""`exclusive`: held by one, after all others have released it."""

from threading import Thread

import pytest

from mulligan.ports import Lease, Leases
from tests.support.lease_holders import gets_it, held, waits


def test_it_is_held_by_one(leases: Leases, lease: Lease) -> None:
    with held(lambda: leases.exclusive(lease)) as holder:
        assert waits(lambda: leases.exclusive(lease), holder.release)


def test_it_waits_for_all_that_share_it(leases: Leases, lease: Lease) -> None:
    with held(lambda: leases.shared(lease)) as one, held(lambda: leases.shared(lease)) as two:
        one.release()
        assert waits(lambda: leases.exclusive(lease), two.release)


def test_a_killed_process_releases_it(leases: Leases, lease: Lease) -> None:
    with held(lambda: leases.exclusive(lease)) as holder:
        assert waits(lambda: leases.exclusive(lease), holder.kill)


def test_an_error_releases_it(leases: Leases, lease: Lease) -> None:
    with pytest.raises(KeyboardInterrupt), leases.exclusive(lease):
        raise KeyboardInterrupt
    assert gets_it(lambda: leases.exclusive(lease))


def test_threads_of_one_process_exclude_each_other(leases: Leases, lease: Lease) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            with leases.exclusive(lease):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_leases_do_not_touch_each_other(leases: Leases) -> None:
    with held(lambda: leases.exclusive(Lease.UPKEEP)):
        assert gets_it(lambda: leases.exclusive(Lease.OBJECTS))
