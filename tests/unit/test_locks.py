"""Locks as `flock`: what is special about files. What all locks promise is in tests/contracts/locks."""

import errno
import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mulligan.adapters.plan_locks import FilePlanLocks
from mulligan.boundaries import act
from mulligan.domain.text.ids import PlanId
from mulligan.errors import LockImpossible, PlanBusy, PlanTakenOver, SystemFailed

PLAN = PlanId("01K00000000000000000000001")
SINCE = datetime(2026, 1, 1, tzinfo=UTC)


class FixedClock:
    def now(self) -> datetime:
        return SINCE


def locks(folder: Path) -> FilePlanLocks:
    return FilePlanLocks(folder=folder / "locks", clock=FixedClock(), stop=None)


def test_a_lock_file_full_of_nonsense_does_not_hide_the_holder(tmp_path: Path) -> None:
    with locks(tmp_path).hold(PLAN):
        (tmp_path / "locks" / f"{PLAN}.lock").write_text("nonsense")
        holder = locks(tmp_path).holder(PLAN)
        assert holder is not None
        assert holder.pid == 0


def test_two_who_look_do_not_take_each_other_for_the_holder(tmp_path: Path) -> None:
    with locks(tmp_path).hold(PLAN):
        pass
    with (tmp_path / "locks" / f"{PLAN}.lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert locks(tmp_path).holder(PLAN) is None


def test_a_holder_that_did_not_say_who_it_is_is_not_asked(tmp_path: Path) -> None:
    with locks(tmp_path).hold(PLAN):
        (tmp_path / "locks" / f"{PLAN}.lock").write_text("")
        with pytest.raises(PlanBusy):
            locks(tmp_path).ask_to_stop(PLAN)


def test_a_plan_that_was_taken_over_is_lost_also_where_its_open_file_keeps_a_name(tmp_path: Path) -> None:
    """As on NFS, which renames a file that is removed while it is open."""
    with locks(tmp_path).hold(PLAN):
        file = tmp_path / "locks" / f"{PLAN}.lock"
        file.rename(file.with_name(".nfs0000000000000001"))
        file.touch()
        with pytest.raises(PlanTakenOver), act("plan.record"):
            pass


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.EBADF])
def test_a_lock_that_the_system_does_not_give_is_said_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    with locks(tmp_path).hold(PLAN):
        pass
    file = tmp_path / "locks" / f"{PLAN}.lock"

    def flock(fd: int, kind: int) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(LockImpossible) as held, locks(tmp_path).hold(PLAN):
        pass
    with pytest.raises(LockImpossible) as looked:
        locks(tmp_path).holder(PLAN)
    for caught in (held, looked):
        assert caught.value.facts == {"path": str(file), "reason": os.strerror(error)}


def test_a_lock_file_that_is_replaced_again_and_again_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, locking, turns = tmp_path / "locks" / f"{PLAN}.lock", fcntl.flock, list[int]()

    def flock(fd: int, kind: int) -> None:
        turns.append(kind)
        locking(fd, kind)
        file.unlink()

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(LockImpossible, match="kept replacing"), locks(tmp_path).hold(PLAN):
        pass
    assert 1 < len(turns) < 100


def test_a_folder_of_locks_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemFailed) as caught, locks(tmp_path / "file").hold(PLAN):
        pass
    assert caught.value.facts["path"] == str(tmp_path / "file" / "locks")
