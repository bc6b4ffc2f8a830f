"""Files that are made without a name (`O_TMPFILE`) and get one by a link: seen by the watch and by a scan alike."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.snapshot_world import age
from tests.support.watched_world import World


@contextmanager
def unnamed(folder: Path) -> Generator[int]:
    fd = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o644)
    try:
        yield fd
    finally:
        os.close(fd)


def name_it(fd: int, path: Path) -> None:
    # Only with a descriptor Python calls linkat, and so follows the link in /proc.
    os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd, follow_symlinks=True)


@pytest.fixture
def world(tmp_path: Path) -> Generator[World]:
    world = World(tmp_path)
    with world.watching:
        settle(world)
        yield world


def settle(world: World) -> None:
    """Look, and look again when nothing is so young that it would be read whatever the watch saw."""
    world.look()
    age(world.path)
    world.look()


@pytest.mark.parametrize("place", [".", "sub/deep"])
def test_a_file_that_gets_its_name_later_is_in_the_next_snapshot(world: World, place: str) -> None:
    folder = world.path / place
    with unnamed(folder) as fd:
        os.write(fd, b"unnamed")
        settle(world)
        name_it(fd, folder / "named")
        assert world.look() == "", "the watch has seen it"
    assert (folder / "named").read_bytes() == b"unnamed"


def test_what_is_written_through_it_after_it_was_named_is_in_the_next_snapshot(world: World) -> None:
    with unnamed(world.path) as fd:
        name_it(fd, world.path / "named")
        settle(world)
        os.write(fd, b"later")
        settle(world)
        os.pwrite(fd, b"LATER", 0)
        settle(world)
        os.ftruncate(fd, 2)
        settle(world)
    world.look()


def test_one_that_was_made_in_another_folder_than_it_is_named_in(world: World) -> None:
    with unnamed(world.path / "sub") as fd:
        name_it(fd, world.path / "sub" / "deep" / "named")
        name_it(fd, world.path / "second")
        settle(world)
        os.write(fd, b"both")
        settle(world)
        os.unlink(world.path / "second")
        os.write(fd, b" and one")
        settle(world)


def test_one_that_was_made_outside_the_tree(world: World) -> None:
    with unnamed(world.home) as fd:
        name_it(fd, world.path / "named")
        os.write(fd, b"from outside")
        settle(world)


def test_one_that_takes_the_place_of_a_file(world: World) -> None:
    with unnamed(world.path) as fd:
        os.write(fd, b"new")
        name_it(fd, world.path / "new")
        os.replace(world.path / "new", world.path / "top")
        settle(world)
        os.write(fd, b"er")
        settle(world)
