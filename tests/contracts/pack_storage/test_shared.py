"""`shared`: held together with others, and never beside one that holds it alone."""

import pytest

from mulligan.ports import Lease, Leases
from tests.support.lease_holders import gets_it, held, waits


def test_processes_hold_it_together(leases: Leases, lease: Lease) -> None:
    with held(lambda: leases.shared(lease)), held(lambda: leases.shared(lease)):
        assert gets_it(lambda: leases.shared(lease))


def test_it_waits_for_one_that_holds_it_alone(leases: Leases, lease: Lease) -> None:
    with held(lambda: leases.exclusive(lease)) as holder:
        assert waits(lambda: leases.shared(lease), holder.release)


def test_a_killed_process_releases_it(leases: Leases, lease: Lease) -> None:
    with held(lambda: leases.shared(lease)) as holder:
        assert waits(lambda: leases.exclusive(lease), holder.kill)


def test_leases_do_not_touch_each_other(leases: Leases) -> None:
    with held(lambda: leases.exclusive(Lease.UPKEEP)):
        assert gets_it(lambda: leases.shared(Lease.OBJECTS))


def test_an_error_releases_it(leases: Leases, lease: Lease) -> None:
    with pytest.raises(KeyboardInterrupt), leases.shared(lease):
        raise KeyboardInterrupt
    assert gets_it(lambda: leases.exclusive(lease))
