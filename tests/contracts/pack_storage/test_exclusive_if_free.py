"""`exclusive_if_free`: held alone or not at all, and never waited for."""

import errno
import fcntl

import pytest

from mulligan.errors import LockImpossible
from mulligan.ports import Lease, Leases
from tests.support.lease_holders import gets_it, held, waits


def test_a_free_lease_is_held_alone(leases: Leases, lease: Lease) -> None:
    with held(lambda: leases.exclusive_if_free(lease)) as holder:
        assert waits(lambda: leases.shared(lease), holder.release)


def test_it_is_free_once_in_one_process_too(leases: Leases, lease: Lease) -> None:
    with leases.exclusive_if_free(lease) as first, leases.exclusive_if_free(lease) as second:
        assert (first, second) == (True, False)


@pytest.mark.parametrize("how", ["shared", "exclusive"])
def test_one_that_is_held_is_not_free_until_its_holder_is_killed(
    leases: Leases, lease: Lease, how: str
) -> None:
    hold = leases.shared if how == "shared" else leases.exclusive
    with held(lambda: hold(lease)) as holder:
        with leases.exclusive_if_free(lease) as free:
            assert not free
        holder.kill()
        with leases.exclusive_if_free(lease) as free:
            assert free


def test_one_that_was_not_free_is_not_held(leases: Leases, lease: Lease) -> None:
    with held(lambda: leases.shared(lease)), held(lambda: leases.exclusive_if_free(lease)):
        assert gets_it(lambda: leases.shared(lease))


def test_where_nothing_can_be_locked_that_is_said(
    leases: Leases, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    for hold in (leases.shared, leases.exclusive, leases.exclusive_if_free):
        with pytest.raises(LockImpossible, match="No locks available"), hold(lease):
            pass
