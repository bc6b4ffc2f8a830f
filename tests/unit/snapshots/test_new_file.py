"""Packs are seen when they are complete, on filesystems with and without files that have no name."""

import errno
import os
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.packs.new_file import NewFile
from mulligan.adapters.snapshots.tempdirs import Rooms
from tests.support.snapshot_world import bring_back, new_store, picture, take


@pytest.fixture(params=["nameless", "in a room"])
def filesystem(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A filesystem that knows files without names, or one that refuses them as NFS does."""
    if request.param == "in a room":
        _refuse(monkeypatch, errno.EOPNOTSUPP)
    return str(request.param)


def _refuse(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    opening = os.open

    def open_named(path: str | Path, flags: int, mode: int = 0o777, **more: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(error, os.strerror(error))
        return opening(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", open_named)


@pytest.mark.usefixtures("filesystem")
def test_a_file_is_not_seen_before_it_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "packs"
    new = NewFile(folder, Rooms(tmp_path / "rooms"))
    new.file.write(b"all of it")
    new.sync()
    assert list(folder.iterdir()) == []
    assert new.path.read_bytes() == b"all of it"
    new.name(folder / "pack")
    new.close()
    assert (folder / "pack").read_bytes() == b"all of it"
    assert (folder / "pack").stat().st_mode & 0o777 == 0o600
    assert not [*tmp_path.glob("rooms/*")]


@pytest.mark.usefixtures("filesystem")
def test_a_file_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    new = NewFile(tmp_path / "packs", Rooms(tmp_path / "rooms"))
    new.file.write(b"some of it")
    new.close()
    assert not [*tmp_path.glob("packs/*"), *tmp_path.glob("rooms/*")]


@pytest.mark.usefixtures("filesystem")
def test_captures_come_back_on_any_filesystem(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_text("text " * 1000)
    wanted = picture(tree)
    snapshot = take(new_store(tmp_path / "store"), tree)
    (tree / "file").write_text("other")
    bring_back(new_store(tmp_path / "store"), snapshot, tree)
    assert picture(tree) == wanted


def test_another_refusal_is_not_taken_for_a_missing_feature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, errno.ENOSPC)
    with pytest.raises(OSError, match="No space left"):
        NewFile(tmp_path / "packs", Rooms(tmp_path / "rooms"))


@pytest.mark.usefixtures("filesystem")
def test_a_name_that_cannot_be_given_is_the_one_in_the_error(tmp_path: Path) -> None:
    new = NewFile(tmp_path / "packs", Rooms(tmp_path / "rooms"))
    new.sync()
    place = tmp_path / "missing" / "pack"
    with pytest.raises(FileNotFoundError) as caught:
        new.name(place)
    new.close()
    assert caught.value.filename == str(place)
    assert not [*tmp_path.glob("packs/*"), *tmp_path.glob("rooms/*")]
