"""A process that dies around a push: the next claim puts the branch back, or leaves what others built on it."""

import signal

import pytest

from tests.remotes.remote_world import RemoteWorld


@pytest.mark.parametrize("strike", ["before:ref.push", "after:ref.push"])
def test_an_apply_that_was_killed_is_repeated(world: RemoteWorld, strike: str) -> None:
    world.executed("echo four >> notes.txt")
    killed = world.run("apply", "--yes", "edit", MULLIGAN_FAULT=f"{strike}:1:SIGKILL")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert all(each["repaired"] for each in world.data("doctor")["findings"])
    world.data("apply", "--yes", "edit")
    assert world.data("status", "edit")["state"] == "applied"
    assert world.commits() == ["edit", "of others"]
    assert world.text() == "one\ntwo\nthree\nfour\n"
    world.data("unapply", "--yes", "edit")
    assert world.text() == "one\ntwo\nthree\n"


def test_what_others_built_on_it_stays_and_nothing_comes_twice(world: RemoteWorld) -> None:
    world.executed("echo four >> notes.txt")
    killed = world.run("apply", "--yes", "edit", MULLIGAN_FAULT="after:ref.push:1:SIGKILL")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert world.commits() == ["edit", "of others"]
    tip = world.push({"theirs.txt": "theirs\n"})
    world.data("apply", "--yes", "edit")
    assert world.tip() == tip
    assert world.commits() == ["of others", "edit", "of others"]
    assert world.text() == "one\ntwo\nthree\nfour\n"


def test_an_unapply_that_was_killed_is_repeated(world: RemoteWorld) -> None:
    world.executed("echo four >> notes.txt")
    world.data("apply", "--yes", "edit")
    killed = world.run("unapply", "--yes", "edit", MULLIGAN_FAULT="after:ref.push:1:SIGKILL")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    world.data("unapply", "--yes", "edit")
    assert world.commits() == ['Revert "edit"', "edit", "of others"]
    assert world.text() == "one\ntwo\nthree\n"


def test_a_push_whose_answer_is_lost_counts(world: RemoteWorld) -> None:
    """The server takes the commit, and its end of the connection dies before it says so."""
    world.executed("echo four >> notes.txt")
    world.hook("post-update", 'kill -9 "$PPID"')
    world.data("apply", "--yes", "edit")
    assert world.commits() == ["edit", "of others"]


def test_a_clone_that_was_killed_is_made_whole(world: RemoteWorld) -> None:
    world.plan("echo four >> notes.txt")
    killed = world.run("plan", "execute", "plan.yaml", MULLIGAN_FAULT="before:clone.make:1:SIGKILL")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert [each.name[-5:] for each in world.clones()] == [".part"]
    [part] = world.clones()
    world.executed("echo four >> notes.txt")
    assert not part.exists()
    (world.clones()[0] / ".git" / "index.lock").touch()
    (world.clones()[0] / "left.txt").touch()
    world.data("apply", "--yes", "edit")
    assert world.commits() == ["edit", "of others"]
