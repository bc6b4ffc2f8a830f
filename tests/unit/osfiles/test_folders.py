"""Folders are private, durable and measured, also where a system call is missing."""

import ctypes
import errno
import os
from pathlib import Path

import pytest

from mulligan.osfiles import folders


def test_where_syncfs_is_missing_everything_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "sync", lambda: synced.append(1))
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    folders.sync_filesystem(0)
    assert synced


def test_a_failing_syncfs_is_an_error() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        folders.sync_filesystem(-1)


def test_what_has_no_time_of_birth_says_so(tmp_path: Path) -> None:
    assert folders.birth_time(tmp_path) > 0
    assert folders.birth_time(tmp_path / "missing") == 0
    assert folders.birth_time(Path("/proc/self/status")) == 0  # a filesystem that does not know


@pytest.mark.parametrize(
    ("error", "is_refused"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EOPNOTSUPP, False)]
)
def test_space_is_reserved_or_refused_and_not_wanted_where_nobody_can_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, is_refused: bool
) -> None:
    def fail(*_: int) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "posix_fallocate", fail)
    if not is_refused:
        with folders.reserved(tmp_path / "new" / "file", 1 << 20):
            assert list(tmp_path.iterdir()) == []
        return
    with pytest.raises(OSError, match=os.strerror(error)), folders.reserved(tmp_path / "file", 1 << 20):
        raise AssertionError("there is no such space")


def test_a_file_that_another_host_removed_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, error = tmp_path / "file", errno.ESTALE

    def fail(_: int) -> None:
        raise OSError(error, os.strerror(error))

    with path.open("w") as file:
        assert folders.is_named(file.fileno(), path)
        assert not folders.is_named(file.fileno(), tmp_path / "other")
        monkeypatch.setattr(os, "fstat", fail)
        assert not folders.is_named(file.fileno(), path)
        error = errno.EIO
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            folders.is_named(file.fileno(), path)
        monkeypatch.undo()
