"""Every way in which a watch stops being relied on: all is scanned, and the reason is told."""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.snapshots.packs.pack_file import PackFile
from mulligan.adapters.snapshots.scan import c_walk as walking
from mulligan.adapters.snapshots.watch import tree_watch as watch
from mulligan.adapters.snapshots.watch.inotify import Inotify
from mulligan.errors import RestoreFailed, SystemFailed
from tests.support.raised import raises
from tests.support.snapshot_world import Watcher, tree_at
from tests.support.watched_world import World

_QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    with made.watching:
        assert made.look() == watch.FIRST_LOOK
        yield made


def test_a_full_queue_is_followed_by_a_scan(world: World) -> None:
    for number in range(int(_QUEUE.read_text()) // 2 + 10):
        os.utime(
            world.path / "top", ns=(number, number)
        )  # two files in turn: equal events are only queued once
        os.utime(world.path / "sub", ns=(number, number))
    (world.path / "sub" / "file").write_text("lost in the crowd")
    assert world.look() == watch.OVERFLOW
    (world.path / "sub" / "file").write_text("seen again")
    assert world.look() == ""


@pytest.mark.parametrize("walker", ["in Python"], indirect=True)  # what it interrupts is Python
def test_too_many_folders_are_scanned_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[int] = []

    def limited(self: Inotify, folder_fd: int) -> int:
        watched.append(folder_fd)
        if len(watched) > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return len(watched)

    monkeypatch.setattr(Inotify, "watch", limited)
    world = World(tmp_path)
    with world.watching:
        assert world.look() == watch.FIRST_LOOK
        (world.path / "sub" / "file").write_text("second")
        assert world.look().startswith(watch.TOO_MANY)
        assert world.look().startswith(watch.TOO_MANY)
    assert len(watched) == 3  # a limit of the system is not tried again and again


@pytest.mark.parametrize("walker", ["in Python"], indirect=True)  # what it interrupts is Python
def test_one_folder_too_many_is_followed_by_a_scan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(self: Inotify, folder_fd: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Inotify, "watch", refusing)
    (world.path / "new").mkdir()
    (world.path / "new" / "file").write_text("x")
    assert world.look().startswith(watch.TOO_MANY)


@pytest.mark.parametrize("walker", ["in C"], indirect=True)
def test_one_folder_too_many_in_c_is_followed_by_a_scan(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = walking.walk
    assert walk is not None

    def refused(*args: Any) -> tuple[list[Any], bytes]:
        found, watches = walk(*args)
        return [(*row[:2], -errno.ENOSPC, *row[3:]) for row in found], watches

    monkeypatch.setattr(walking, "walk", refused)
    (world.path / "new" / "deep").mkdir(parents=True)
    assert world.look() == f"{watch.TOO_MANY}: [Errno 28] No space left on device"
    assert world.look().startswith(watch.TOO_MANY)


def test_a_system_without_watches_is_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(self: Inotify) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Inotify, "__init__", refusing)
    world = World(tmp_path)
    with world.watching:
        assert world.look() == watch.FIRST_LOOK
        (world.path / "sub" / "file").write_text("second")
        assert world.look().startswith(watch.NO_WATCH)


def test_a_tree_that_was_moved_is_scanned(world: World) -> None:
    world.path.rename(world.home / "elsewhere")
    shutil.copytree(world.home / "elsewhere", world.path)
    (world.path / "top").write_text("in the copy")
    assert world.look() == watch.LOST_TREE
    (world.path / "top").write_text("seen again")
    assert world.look() == ""


def test_a_tree_whose_surroundings_were_moved_is_scanned(tmp_path: Path) -> None:
    world = World(tmp_path / "around")
    with world.watching:
        world.look()
        (tmp_path / "around").rename(tmp_path / "elsewhere")
        shutil.copytree(tmp_path / "elsewhere", tmp_path / "around")
        (world.path / "top").write_text("in the copy")
        assert world.look() == watch.LOST_TREE


def test_a_tree_that_went_cannot_be_captured_until_it_is_back(world: World) -> None:
    snapshot = world.store.capture(world.tree, Watcher()).snapshot
    shutil.rmtree(world.path)
    with raises(SystemFailed, path=str(world.path)):
        world.store.capture(world.tree, Watcher())
    world.store.restore(snapshot, world.tree, Watcher())
    world.look()
    (world.path / "top").write_text("seen")
    assert world.look() == ""


def test_a_new_process_scans(world: World) -> None:
    later = World(world.home)
    with later.watching:
        assert later.look() == watch.FIRST_LOOK


def test_a_tree_that_is_watched_no_more_is_scanned(world: World) -> None:
    later = World(world.home)
    with later.watching:
        later.look()
    (later.path / "top").write_text("unseen")
    assert later.look() != ""


@pytest.mark.parametrize("how", ["removed", "moved over", "made again", "moved out"])
def test_a_name_that_came_and_went_may_have_been_another_name_of_a_file(world: World, how: str) -> None:
    alias = world.path / "alias"
    os.link(world.path / "sub" / "file", alias)
    alias.write_text("written through it")
    if how == "moved over":
        (world.path / "top").replace(alias)
    elif how == "moved out":
        alias.rename(world.home / "outside")
        (world.home / "outside").unlink()
    else:
        alias.unlink()
    if how == "made again":
        alias.write_text("another")
    assert world.look() == watch.UNSEEN_NAME


def test_a_file_that_was_removed_but_is_still_written_may_have_another_name(world: World) -> None:
    os.link(world.path / "sub" / "file", world.path / "alias")
    assert world.look() == ""
    with (world.path / "alias").open("a") as opened:
        (world.path / "alias").unlink()
        assert world.look() == ""
        opened.write("after it was looked at")
    assert world.look() == watch.UNSEEN_NAME


def test_a_capture_that_failed_is_followed_by_a_scan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (world.path / "sub" / "file").write_text("must not be lost")
    with monkeypatch.context() as patch:

        def full(self: PackFile, name: str) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        patch.setattr(PackFile, "finish", full)
        with pytest.raises(SystemFailed, match="No space"):
            world.store.capture(world.tree, Watcher())
    assert world.look() == watch.CUT_OFF
    assert world.look() == ""


def test_a_restore_that_failed_is_followed_by_a_scan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = world.store.capture(world.tree, Watcher()).snapshot
    (world.path / "top").write_text("changed")
    (world.path / "sub" / "file").write_text("changed")
    with monkeypatch.context() as patch:
        renaming = os.rename

        def once(*args: object, **more: object) -> None:
            patch.undo()
            raise OSError(errno.EIO, "Input/output error")

        patch.setattr(os, "rename", once)
        with pytest.raises(RestoreFailed):
            world.store.restore(snapshot, world.tree, Watcher())
        assert os.rename is renaming
    assert world.look() == watch.CUT_OFF


def test_what_was_swept_from_the_store_is_read_again(world: World) -> None:
    for pack in (world.home / "store" / "packs").iterdir():
        pack.unlink()
    assert world.look() == watch.NOT_IN_STORE
    assert world.look() == ""


def test_a_look_that_leaves_out_other_paths_is_not_the_watchs(world: World) -> None:
    other = tree_at(world.path, "sub/deep")
    assert world.store.capture(other, Watcher()).files == 2
    assert not world.store.last_look.watched
    assert world.look() == watch.NOT_IN_STORE
    assert world.look() == ""


def test_a_watch_inside_another_leaves_that_as_it_was(world: World) -> None:
    with world.store.watch(world.tree, others_at_work=False):
        assert world.look() == watch.FIRST_LOOK
    (world.path / "top").write_text("changed")
    world.look()
    assert world.look() == ""
