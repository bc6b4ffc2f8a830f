"""A file that is written through a memory map gets no new time on a filesystem in memory."""

import mmap
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.scan.filesystems import keeps_no_times
from tests.support.snapshot_world import age, new_store, take


@pytest.fixture(autouse=True)
def on_a_disk() -> None:
    """Take filesystems for what they are, unlike the other tests of the store."""


@pytest.fixture(params=["in memory", "anywhere"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "anywhere":
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


def write_through_a_map(path: Path, data: bytes) -> None:
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        assert (
            mapped[: len(data)] != data
        )  # read first: the page is then there, and a write to it is no fault
        mapped[: len(data)] = data


def test_what_was_written_through_a_map_is_in_the_next_capture(place: Path, tmp_path: Path) -> None:
    tree = place / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(b"before" * 1000)
    age(tree)
    store = new_store(tmp_path / "store")
    before = take(store, tree)
    write_through_a_map(tree / "file", b"behind")
    assert take(store, tree) != before


def test_a_folder_in_memory_is_told_from_others(tmp_path: Path) -> None:
    assert keeps_no_times(Path("/dev/shm"))
    assert not keeps_no_times(Path("/proc"))
    assert not keeps_no_times(tmp_path / "missing")
