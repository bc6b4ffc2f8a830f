"""Rooms: live work is left alone, leftovers are cleared, and where no lock can be had that is said at once."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from mulligan.errors import LockImpossible
from mulligan.osfiles.tempdirs import Rooms


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "rooms"
    found.mkdir(mode=0o700)
    return found


def _refusing(monkeypatch: pytest.MonkeyPatch, *refusals: int | None) -> list[int]:
    """Let the locks that are asked for next be refused in turn, the last refusal for ever; return what was refused."""
    left, refused, locking = [*refusals], list[int](), fcntl.flock

    def flock(fd: int, kind: int) -> None:
        error = left.pop(0) if len(left) > 1 else left[0]
        if error is None:
            return locking(fd, kind)
        refused.append(error)
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(fcntl, "flock", flock)
    return refused


def test_a_room_is_private_and_goes_with_what_is_in_it(folder: Path) -> None:
    with Rooms(folder).room() as room:
        assert room.stat().st_mode & 0o777 == 0o700
        (room / "inner").mkdir()
        (room / "inner" / "file").touch()
    assert list(folder.iterdir()) == []


def test_a_room_of_a_live_process_is_left_alone(folder: Path) -> None:
    with Rooms(folder).room() as room:
        assert Rooms(folder).abandoned(clear=True) == (0, 0)
        with Rooms(folder).room() as other:
            assert room.is_dir()
            assert other != room
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("left", [("room", "room.lock"), ("room.lock",), ("room",)])
def test_what_a_killed_process_left_is_cleared(folder: Path, left: tuple[str, ...]) -> None:
    for name in left:
        (folder / name).touch() if name.endswith(".lock") else (folder / name).mkdir()
    if "room" in left:
        (folder / "room" / "file").write_text("123")
    assert Rooms(folder).abandoned(clear=False) == (1, 3 if "room" in left else 0)
    with Rooms(folder).room() as room:
        assert sorted(folder.iterdir()) == [room, room.with_name(f"{room.name}.lock")]


def test_a_room_of_an_older_version_is_live_while_its_folder_is_locked(folder: Path) -> None:
    older = folder / "0123456789abcdef"
    older.mkdir()
    fd = os.open(older, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with Rooms(folder).room():
        assert older.is_dir()
    os.close(fd)
    with Rooms(folder).room():
        assert not older.exists()


def test_a_room_of_an_older_version_is_cleared_where_folders_cannot_be_locked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "0123456789abcdef").mkdir()
    refused = _refusing(monkeypatch, errno.EBADF, None)
    with Rooms(folder).room():
        assert refused == [errno.EBADF]
        assert not (folder / "0123456789abcdef").exists()


@pytest.mark.parametrize("left", ["0123456789abcdef", "0123456789abcdef.lock"])
def test_what_cannot_be_judged_is_not_cleared(
    folder: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    (folder / left).touch() if left.endswith(".lock") else (folder / left).mkdir()
    refused = _refusing(monkeypatch, errno.ENOLCK)
    with pytest.raises(LockImpossible) as caught, Rooms(folder).room():
        pass
    assert refused == [errno.ENOLCK]
    assert caught.value.facts == {"path": str(folder / left), "reason": "No locks available"}
    assert [path.name for path in folder.iterdir()] == [left]


@pytest.mark.parametrize("error", [errno.EBADF, errno.ENOLCK, errno.EIO])
def test_a_lock_that_cannot_be_had_is_said_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    refused = _refusing(monkeypatch, error)
    with pytest.raises(LockImpossible) as caught, Rooms(folder).room():
        pass
    assert refused == [error]
    assert str(caught.value.facts["path"]).startswith(f"{folder}/")
    assert caught.value.facts["reason"] == os.strerror(error)
    assert "local disk" in caught.value.next_step
    assert list(folder.iterdir()) == []


def test_a_race_with_a_process_that_clears_is_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = _refusing(monkeypatch, errno.EAGAIN, errno.EAGAIN, None)
    with Rooms(folder).room() as room:
        assert room.is_dir()
    assert len(refused) == 2


def test_a_race_that_is_always_lost_comes_to_an_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = _refusing(monkeypatch, errno.EAGAIN)
    with pytest.raises(LockImpossible, match="kept removing"), Rooms(folder).room():
        pass
    assert 1 < len(refused) < 100


def test_a_lock_file_that_was_cleared_before_it_was_locked_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locking, cleared = fcntl.flock, list[Path]()

    def flock(fd: int, kind: int) -> None:
        if not cleared:
            cleared.extend(folder.iterdir())
            cleared[0].unlink()
        locking(fd, kind)

    monkeypatch.setattr(fcntl, "flock", flock)
    with Rooms(folder).room() as room:
        assert len(cleared) == 1
        assert room.with_name(f"{room.name}.lock").exists()
        assert room.with_name(f"{room.name}.lock") != cleared[0]
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_leaves_no_lock_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fired: list[Path] = []

    def mkdir(path: Path, mode: int = 0o777) -> None:
        fired.append(path)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(OSError, match="No space left"), Rooms(folder).room():
        pass
    assert fired
    assert list(folder.iterdir()) == []
