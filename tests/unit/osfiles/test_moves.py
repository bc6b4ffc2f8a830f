"""Moves to a free name: the same promise where the kernel or the filesystem lacks the calls for it."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulligan.osfiles import moves
from mulligan.osfiles.directory_handles import FOLDER_FLAGS
from mulligan.osfiles.moves import exchange, move_to_free_name


@pytest.fixture
def handle(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, FOLDER_FLAGS)
    yield fd
    os.close(fd)


@pytest.fixture(params=["one call", "second links", "copies"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param != "one call":
        monkeypatch.setattr(moves, "_system_call", lambda: None)
    if request.param == "copies":

        def no_links(*_: object, **__: object) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", no_links)
    return request.param


def test_a_file_moves_whole(handle: int, tmp_path: Path, way: str) -> None:
    (tmp_path / "old").write_bytes(b"content" * 300_000)
    (tmp_path / "old").chmod(0o640)
    os.utime(tmp_path / "old", ns=(1_000_000_007, 2_000_000_009))
    move_to_free_name(handle, "old", handle, "new")
    found = (tmp_path / "new").lstat()
    assert (tmp_path / "new").read_bytes() == b"content" * 300_000
    assert (found.st_mode & 0o7777, found.st_mtime_ns) == (0o640, 2_000_000_009)
    assert not os.path.lexists(tmp_path / "old")


def test_a_symlink_moves_as_it_is(handle: int, tmp_path: Path, way: str) -> None:
    (tmp_path / "old").symlink_to("nowhere")
    os.utime(tmp_path / "old", ns=(1_000_000_007, 2_000_000_009), follow_symlinks=False)
    move_to_free_name(handle, "old", handle, "new")
    assert (tmp_path / "new").readlink() == Path("nowhere")
    assert (tmp_path / "new").lstat().st_mtime_ns == 2_000_000_009
    assert not os.path.lexists(tmp_path / "old")


def test_a_folder_moves_with_what_it_holds(handle: int, tmp_path: Path, way: str) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").write_text("kept")
    move_to_free_name(handle, "old", handle, "new")
    assert (tmp_path / "new" / "file").read_text() == "kept"
    assert not (tmp_path / "old").exists()


@pytest.mark.parametrize("kind", ["file", "symlink", "folder"])
def test_a_name_that_is_taken_stays_as_it_is(handle: int, tmp_path: Path, way: str, kind: str) -> None:
    old = tmp_path / "old"
    if kind == "file":
        old.write_text("mine")
    elif kind == "symlink":
        old.symlink_to("nowhere")
    else:
        old.mkdir()
    (tmp_path / "new").write_text("theirs")
    with pytest.raises(FileExistsError):
        move_to_free_name(handle, "old", handle, "new")
    assert (tmp_path / "new").read_text() == "theirs"
    assert os.path.lexists(old)


@pytest.mark.parametrize("way", ["copies"], indirect=True)
def test_a_disk_that_fails_in_the_middle_leaves_the_name_free(
    handle: int, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old").write_bytes(b"x" * 10)

    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", fail)
    with pytest.raises(OSError, match="No space left"):
        move_to_free_name(handle, "old", handle, "new")
    monkeypatch.undo()
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "old").read_bytes() == b"x" * 10


def test_two_names_change_places_or_nothing_happens(handle: int, tmp_path: Path, way: str) -> None:
    (tmp_path / "one").write_text("1")
    (tmp_path / "two").write_text("2")
    done = exchange(handle, "one", handle, "two")
    assert done is (way == "one call")
    assert (tmp_path / "one").read_text() == ("2" if done else "1")


def test_a_name_that_is_not_there_cannot_change_places(handle: int, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    with pytest.raises(FileNotFoundError):
        exchange(handle, "one", handle, "two")
