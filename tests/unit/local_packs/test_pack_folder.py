"""Packs in a folder are seen when they are complete, on filesystems with and without files that have no name."""

import errno
import os
from pathlib import Path

import pytest

from mulligan.adapters.local_packs.pack_folder import PackFolder
from mulligan.osfiles.tempdirs import Rooms
from tests.support.nameless_files import refuse_nameless_files
from tests.support.snapshot_world import bring_back, new_store, picture, take

NAME = "a.pack"


@pytest.fixture(params=["nameless", "in a room"], autouse=True)
def filesystem(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A filesystem that knows files without names, or one that refuses them as NFS does."""
    if request.param == "in a room":
        refuse_nameless_files(monkeypatch, errno.EOPNOTSUPP)
    return str(request.param)


@pytest.fixture
def storage(tmp_path: Path) -> PackFolder:
    return PackFolder(tmp_path / "packs", Rooms(tmp_path / "rooms"))


def left_in(tmp_path: Path) -> list[Path]:
    return [*tmp_path.glob("packs/*"), *tmp_path.glob("rooms/*")]


def test_a_file_is_not_in_the_folder_before_it_is_put(storage: PackFolder, tmp_path: Path) -> None:
    draft = storage.draft()
    draft.file.write(b"all of it")
    draft.file.flush()
    assert list((tmp_path / "packs").iterdir()) == []
    draft.put(NAME)
    draft.close()
    (pack,) = left_in(tmp_path)
    assert pack.read_bytes() == b"all of it"
    assert pack.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_given_up_leaves_nothing(storage: PackFolder, tmp_path: Path) -> None:
    draft = storage.draft()
    draft.file.write(b"some of it")
    draft.close()
    assert left_in(tmp_path) == []


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
    storage: PackFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_nameless_files(monkeypatch, errno.ENOSPC)
    with pytest.raises(OSError, match="No space left"):
        storage.draft()


def test_a_name_that_cannot_be_given_is_the_one_in_the_error(storage: PackFolder, tmp_path: Path) -> None:
    draft = storage.draft()
    (tmp_path / "packs").rmdir()
    with pytest.raises(FileNotFoundError) as caught:
        draft.put(NAME)
    draft.close()
    assert caught.value.filename == str(tmp_path / "packs" / NAME)
    assert left_in(tmp_path) == []


def test_few_files_stay_open_and_none_of_a_storage_that_is_dropped(tmp_path: Path) -> None:
    storage = PackFolder(tmp_path / "packs", Rooms(tmp_path / "rooms"))
    names = [f"{number}.pack" for number in range(50)]
    for name in names:
        draft = storage.draft()
        draft.file.write(name.encode())
        draft.put(name)
        draft.close()
    before = len(os.listdir("/proc/self/fd"))
    assert [storage.read(name, 0, 99).decode() for name in names * 2] == names * 2
    assert 1 < len(os.listdir("/proc/self/fd")) - before <= 32
    del storage
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_another_process_removed_is_closed_by_the_next_listing(
    storage: PackFolder, tmp_path: Path
) -> None:
    draft = storage.draft()
    draft.put(NAME)
    draft.close()
    before = len(os.listdir("/proc/self/fd"))
    storage.read(NAME, 0, 1)
    (tmp_path / "packs" / NAME).unlink()
    assert storage.list() == set()
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(FileNotFoundError):
        storage.size(NAME)


def test_files_that_are_not_packs_are_not_listed(storage: PackFolder, tmp_path: Path) -> None:
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "notes.txt").touch()
    assert storage.list() == set()
