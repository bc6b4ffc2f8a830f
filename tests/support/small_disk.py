"""A disk of its own that can be filled to the page: a tmpfs, which only root may mount."""

import os
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE

PAGE = 4096


class SmallDisk:
    """A mounted disk and the ballast on it."""

    def __init__(self, path: Path) -> None:
        """Stand on this mount point."""
        self.path = path
        self._ballast = path / "ballast"

    @property
    def free(self) -> int:
        """Bytes that can still be written."""
        told = os.statvfs(self.path)
        return told.f_bavail * told.f_frsize

    def leave(self, size: int) -> None:
        """Fill it but for so many bytes, in whole pages."""
        self.make_room()
        size = size // PAGE * PAGE
        if self.free > size:
            with self._ballast.open("wb") as ballast:
                os.posix_fallocate(ballast.fileno(), 0, self.free - size)
        assert self.free <= size

    def make_read_only(self) -> None:
        """Let nothing be written any more, once the system has let go of what processes that ended had watched."""
        command, until = ["mount", "-o", "remount,ro", str(self.path)], time.monotonic() + PATIENCE
        while subprocess.run(command, check=False).returncode:
            assert time.monotonic() < until, "the disk stays busy"
            time.sleep(0.05)

    def make_room(self) -> None:
        """Take the ballast away."""
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(path: Path, size: int) -> Generator[SmallDisk]:
    """Mount a disk of that size; skips where that is not permitted."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "mulligan-test", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as exc:
        pytest.skip(f"no disk of its own can be mounted here: {exc}")
    if done.returncode:
        pytest.skip(f"no disk of its own can be mounted here: {done.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
