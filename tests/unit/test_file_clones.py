"""Contents are shared where the filesystem can do that, and else copied; what the disk refuses is an error."""

import errno
import fcntl
import os
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from mulligan.osfiles.file_clones import copy_contents


@pytest.fixture
def files(tmp_path: Path) -> Generator[tuple[int, int]]:
    """A file of three megabytes and an empty one."""
    with (tmp_path / "old").open("w+b") as old, (tmp_path / "new").open("w+b") as new:
        old.write(bytes(range(256)) * 4096 * 3)
        old.seek(0)
        yield old.fileno(), new.fileno()


def refuse(number: int) -> object:
    def ioctl(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    return ioctl


def content(fd: int) -> bytes:
    return os.pread(fd, 4 << 20, 0)


def test_a_content_is_copied(files: tuple[int, int]) -> None:
    old, new = files
    assert copy_contents(old, new) == 3 << 20
    assert content(new) == content(old)


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EXDEV, errno.ENOTTY, errno.EINVAL])
def test_where_it_cannot_be_shared_it_is_written(
    files: tuple[int, int], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(fcntl, "ioctl", refuse(number))
    old, new = files
    assert copy_contents(old, new) == 3 << 20
    assert content(new) == content(old)


def test_where_it_was_shared_nothing_is_written(
    files: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = files

    def share(target: int, _: int, source: int) -> int:
        os.write(target, content(source)[:7])
        return 0

    monkeypatch.setattr(fcntl, "ioctl", share)
    assert copy_contents(old, new) == 7


def test_what_a_broken_disk_says_is_not_hidden(
    files: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "ioctl", refuse(errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        copy_contents(*files)


def test_a_copy_to_another_filesystem_is_written(files: tuple[int, int]) -> None:
    with TemporaryFile(dir="/dev/shm") as elsewhere:
        assert copy_contents(files[0], elsewhere.fileno()) == 3 << 20
        assert content(elsewhere.fileno()) == content(files[0])
