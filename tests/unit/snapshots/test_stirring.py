"""What a watch hears between two looks: whether something was written, and never less at the next look."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.watch import inotify
from mulligan.adapters.snapshots.watch import tree_watch as watch
from mulligan.adapters.snapshots.watch.inotify import Inotify
from tests.support.snapshot_world import Watcher, tree_at
from tests.support.watched_world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, "apart")
    with made.watching:
        made.look()
        yield made


def test_a_write_is_heard_once_and_seen_by_the_next_look(world: World) -> None:
    assert not world.store.stirred(world.tree)
    (world.path / "sub" / "file").write_text("second")
    assert world.store.stirred(world.tree)
    assert not world.store.stirred(world.tree)
    assert world.look() == "", "the watch lost nothing"
    assert not world.store.stirred(world.tree), "a look does not write"


@pytest.mark.parametrize("how", ["made", "removed", "renamed", "mode", "link"])
def test_every_kind_of_change_counts(world: World, how: str) -> None:
    match how:
        case "made":
            (world.path / "new").touch()
        case "removed":
            (world.path / "top").unlink()
        case "renamed":
            (world.path / "top").rename(world.path / "sub" / "top")
        case "mode":
            (world.path / "top").chmod(0o600)
        case _:
            os.symlink("top", world.path / "link")
    assert world.store.stirred(world.tree)
    world.look()


def test_what_is_excluded_does_not_count(world: World) -> None:
    (world.path / "apart").write_text("of another resource")
    assert not world.store.stirred(world.tree)
    (world.path / "apart").write_text("again")
    assert world.look() == ""


def test_new_folders_are_heard_before_a_look_enters_them(world: World) -> None:
    (world.path / "new" / "deep").mkdir(parents=True)
    assert world.store.stirred(world.tree)
    (world.path / "new" / "deep" / "file").write_text("x")
    assert world.store.stirred(world.tree)
    (world.path / "new" / "deep" / "deeper").mkdir()
    assert world.store.stirred(world.tree)
    (world.path / "new" / "deep" / "deeper" / "file").write_text("y")
    assert world.store.stirred(world.tree)
    world.look()
    (world.path / "new" / "deep" / "deeper" / "file").write_text("z")
    assert world.store.stirred(world.tree)
    assert world.look() == ""


def test_a_new_folder_that_is_gone_again_is_no_trouble(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (world.path / "new").mkdir()
    (world.path / "new").rmdir()
    assert world.store.stirred(world.tree)
    (world.path / "full").mkdir()

    def full(self: Inotify, folder_fd: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Inotify, "watch", full)
    assert world.store.stirred(world.tree)
    monkeypatch.undo()
    world.look()


def test_more_than_can_be_kept_means_a_scan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inotify, "_MOST_KEPT", 100)
    for number in range(20):
        (world.path / f"new{number}").touch()
    assert world.store.stirred(world.tree)
    assert world.look() == watch.OVERFLOW
    assert world.look() == ""


def test_without_a_watch_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    assert world.store.unseen(world.tree) == "nothing watches this tree"
    assert not world.store.stirred(world.tree)
    assert world.store.unwatchable() == ""

    def none(self: Inotify) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Inotify, "__init__", none)
    with world.watching:
        assert world.store.unseen(world.tree) == "", "nobody looked yet"
        world.store.capture(world.tree, Watcher())
        assert world.store.unseen(world.tree).startswith(watch.NO_WATCH)
        assert not world.store.stirred(world.tree)
    assert world.store.unwatchable().startswith(watch.NO_WATCH)
    monkeypatch.setattr(watch, "changes_unseen", lambda _path: True)
    assert world.store.unwatchable() == watch.ON_A_NETWORK


def test_where_the_system_has_no_watches_left_it_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_watch(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Inotify, "watch", no_watch)
    assert world.store.unwatchable().startswith(watch.TOO_MANY)


def test_a_tree_that_is_watched_with_other_exclusions_is_not_watched(world: World) -> None:
    assert world.store.unseen(tree_at(world.path)) == "nothing watches this tree"
