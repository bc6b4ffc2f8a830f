"""Moving a user's branch and index to what was composed: all of it or nothing, repeatable, and taken back."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.resource import Sandbox
from mulligan.errors import ChangedMeanwhile, RestoreFailed, SystemFailed
from tests.support.applying_world import Applied, Checkout, lines, write
from tests.support.git_checkouts import CHECKOUTS
from tests.support.git_world import run_git
from tests.support.snapshot_world import Watcher

SAME, PLANNED = lines(), lines("9 plan")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout.made(tmp_path, {"text": SAME, "other": "other\n"})


def _composed(checkout: Checkout) -> tuple[Sandbox, Applied]:
    write(checkout.start(), {"text": PLANNED})
    order = checkout.apply_order({"text": PLANNED}, "plan")
    composed = checkout.in_place.compose(order)
    return order.real, Applied(checkout.top, composed, checkout.in_place, order.real, order.ours)


def test_nothing_is_moved_before_the_snapshot_is_restored(checkout: Checkout) -> None:
    before = run_git(checkout.top, "rev-parse", "HEAD")
    _, applied = _composed(checkout)
    assert run_git(checkout.top, "rev-parse", "HEAD") == before
    assert applied.status() == []
    assert applied.head("text") == SAME


def test_restoring_is_repeatable(checkout: Checkout) -> None:
    real, applied = _composed(checkout)
    checkout.in_place.restore(real, applied.composed.snapshot, Watcher())
    checkout.in_place.restore(real, applied.composed.snapshot, Watcher())
    assert applied.status() == []
    logged = run_git(checkout.top, "reflog", "--format=%gs").splitlines()
    assert logged == ["mulligan: plan", "commit (initial): first"]


def test_a_commit_that_was_pruned_meanwhile_moves_nothing(checkout: Checkout) -> None:
    before = run_git(checkout.top, "rev-parse", "HEAD")
    real, applied = _composed(checkout)
    run_git(checkout.top, "gc", "-q", "--prune=now")
    with pytest.raises(RestoreFailed, match="no longer in the repository"):
        checkout.in_place.restore(real, applied.composed.snapshot, Watcher())
    assert run_git(checkout.top, "rev-parse", "HEAD") == before
    applied.take_back()
    assert applied.status() == []


def test_what_no_mulligan_holds_any_more_is_released(checkout: Checkout) -> None:
    real, applied = _composed(checkout)
    lock = checkout.top / ".git" / "index.lock"
    draft = lock.with_name("index.mulligan")
    draft.write_bytes(b"held by mulligan\n")  # as a killed process leaves it
    lock.hardlink_to(draft)
    checkout.in_place.restore(real, applied.composed.snapshot, Watcher())
    assert applied.head("text") == PLANNED
    assert not lock.exists()
    assert not draft.exists()


def test_before_the_first_commit(tmp_path: Path) -> None:
    top = CHECKOUTS["without commit"](tmp_path)
    checkout = Checkout(tmp_path, top)
    write(checkout.start(), {"new": "new\n", "staged": None})
    applied = checkout.apply({"new": "new\n", "staged": None})
    assert run_git(top, "log", "--format=%s|%P").strip() == "what the plan did|"
    assert applied.status() == ["?? untracked"]
    applied.take_back()
    assert run_git(top, "status", "--porcelain").splitlines()[0] == "A  staged"
    assert run_git(top, "rev-parse", "-q", "--verify", "HEAD", check=False) == ""


def _restore_and_die(checkout: Checkout, real: Sandbox, snapshot: Snapshot, number: int, when: str) -> bool:
    """Restore in a process that is killed at one of its git commands; tells whether it came that far."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status)
    attempt = Git.attempt
    left = number

    def dying(git: Git, *words: str, stdin: bytes = b"") -> Any:
        nonlocal left
        left -= 1
        if left < 0 and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        done = attempt(git, *words, stdin=stdin)
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    setattr(Git, "attempt", dying)  # noqa: B010 - the process ends with it
    try:
        checkout.in_place.restore(real, snapshot, Watcher())
    finally:
        os._exit(0)


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_git_command_it_is_completed_or_taken_back(checkout: Checkout, when: str) -> None:
    write(checkout.top, {"other": "staged\n"})
    run_git(checkout.top, "add", "other")
    head = run_git(checkout.top, "rev-parse", "HEAD")
    real, applied = _composed(checkout)
    kills = 0
    for number in range(99):
        if not _restore_and_die(checkout, real, applied.composed.snapshot, number, when):
            break
        kills += 1
        if number % 2:
            checkout.in_place.restore(real, applied.composed.snapshot, Watcher())
            assert applied.status() == ["M  other"]
            assert applied.head("text") == PLANNED
        applied.take_back()
        assert applied.status() == ["M  other"]
        assert run_git(checkout.top, "rev-parse", "HEAD") == head
    assert kills > 5
    assert sorted(path.name for path in (checkout.top / ".git").glob("index*")) == ["index"]


def test_a_branch_that_someone_else_moves_meanwhile_stays_where_it_is(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, applied = _composed(checkout)
    attempt = Git.attempt

    def other_commits(git: Git, *words: str, stdin: bytes = b"") -> Any:
        if "cat-file" in words:  # the last thing before the lock is taken
            run_git(checkout.top, "commit", "-q", "--allow-empty", "-m", "meanwhile")
            monkeypatch.undo()
        return attempt(git, *words, stdin=stdin)

    monkeypatch.setattr(Git, "attempt", other_commits)
    with pytest.raises(ChangedMeanwhile, match="the branch refs/heads/"):
        checkout.in_place.restore(real, applied.composed.snapshot, Watcher())
    assert run_git(checkout.top, "log", "-1", "--format=%s").strip() == "meanwhile"


def test_a_repository_that_takes_no_objects_is_told(checkout: Checkout) -> None:
    write(checkout.start(), {"text": PLANNED})
    order = checkout.apply_order({"text": PLANNED}, "plan")
    pack = checkout.top / ".git" / "objects" / "pack"
    for file in pack.iterdir():
        file.unlink()
    pack.rmdir()
    pack.write_text("no folder")
    with pytest.raises(SystemFailed, match="objects/pack"):
        checkout.in_place.compose(order)


def test_what_changed_within_the_same_second_is_still_seen(checkout: Checkout) -> None:
    """Equal in size and second, told only by the time of the index."""
    write(checkout.top, {"other": "OTHER\n"})
    run_git(checkout.top, "add", "other")
    (checkout.top / "other").write_text("again\n")
    write(checkout.start(), {"text": PLANNED})
    applied = checkout.apply({"text": PLANNED})
    assert applied.status() == ["MM other"]
    applied.take_back()
    assert applied.status() == ["MM other"]


def test_an_apply_is_taken_back_by_a_commit_of_its_own(checkout: Checkout) -> None:
    write(checkout.top, {"text": lines("2 mine"), "untracked": SAME})
    write(checkout.start(), {"text": lines("2 mine", "9 plan"), "new": "new\n", "untracked": PLANNED})
    applied = checkout.apply({"text": lines("2 mine", "9 plan"), "new": "new\n", "untracked": PLANNED})
    write(checkout.top, {"other": "later\n"})
    run_git(checkout.top, "commit", "-q", "-m", "later", "other")
    base, theirs = applied.composed.snapshot, applied.before
    changed = checkout.store.difference(base.roots[0], theirs.roots[0])
    back = checkout.apply(
        {"text": lines("2 mine"), "new": None, "untracked": SAME},
        "back",
        base=base,
        theirs=theirs,
        changed=changed,
    )
    assert (back.head("text"), back.head("new"), back.head("other")) == (SAME, None, "later\n")
    assert back.status() == [" M text", "?? untracked"]
    assert back.composed.uncommitted == ("untracked: you had it untracked",)
    assert run_git(checkout.top, "log", "--format=%s").splitlines() == [
        "back",
        "later",
        "what the plan did",
        "first",
    ]


def test_a_git_command_that_begins_meanwhile_stops_it(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, applied = _composed(checkout)
    lock = checkout.top / ".git" / "index.lock"
    attempt = Git.attempt

    def other_begins(git: Git, *words: str, stdin: bytes = b"") -> Any:
        if "cat-file" in words:
            lock.touch()
        return attempt(git, *words, stdin=stdin)

    monkeypatch.setattr(Git, "attempt", other_begins)
    with pytest.raises(RestoreFailed, match=lock.name):
        checkout.in_place.restore(real, applied.composed.snapshot, Watcher())
    monkeypatch.undo()
    assert lock.read_bytes() == b""
    lock.unlink()
    applied.take_back()
    assert applied.status() == []


def test_an_index_that_cannot_be_written_is_told(checkout: Checkout) -> None:
    real, applied = _composed(checkout)
    (checkout.top / ".git" / "index.mulligan").mkdir()
    with pytest.raises(RestoreFailed, match="at work, or died"):
        checkout.in_place.restore(real, applied.composed.snapshot, Watcher())
    assert not (checkout.top / ".git" / "index.lock").exists()


def test_an_object_that_the_repository_lost_is_named(checkout: Checkout) -> None:
    blob = run_git(checkout.top, "rev-parse", "HEAD:text").strip()
    write(checkout.top, {"text": lines("2 mine")})
    write(checkout.start(), {"text": lines("2 mine", "9 plan")})
    order = checkout.apply_order({"text": lines("2 mine", "9 plan")}, "plan")
    (checkout.top / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(SystemFailed, match=f"{blob} is missing"):
        checkout.in_place.compose(order)
