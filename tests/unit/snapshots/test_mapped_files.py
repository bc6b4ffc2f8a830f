"""Files that processes have mapped to write: found the same way by a query as in the list of all maps."""

import errno
import mmap
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.cache import stat_cache
from mulligan.adapters.snapshots.scan import memory_maps
from mulligan.adapters.snapshots.scan.memory_maps import Moments, shared_writable_maps
from mulligan.ports import Unobserved
from tests.support.snapshot_world import new_store, tree_at


@pytest.fixture(params=["asked", "listed"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look as on this system, and as on one that answers no queries."""

    def unknown(_maps: int) -> Iterator[tuple[int, int, bytes]]:
        raise OSError(errno.ENOTTY, "unknown to this system")

    if request.param == "listed":
        monkeypatch.setattr(memory_maps, "_asked_for", unknown)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    made = [tmp_path / name for name in ("plain", "with space", "new\nline", "größe\udcff")]
    for path in made:
        path.write_bytes(b"x" * 5000)
    return made


@pytest.fixture
def far_below(tmp_path: Path) -> Generator[int]:
    """A folder whose path no call accepts and no line of a list holds, as a descriptor."""
    below = os.open(tmp_path, os.O_DIRECTORY)
    for _ in range(20):
        os.mkdir("x" * 250, dir_fd=below)
        above, below = below, os.open("x" * 250, os.O_DIRECTORY, dir_fd=below)
        os.close(above)
    yield below
    os.close(below)


@pytest.mark.usefixtures("_way")
def test_names_of_any_kind_hide_no_file(far_below: int, tmp_path: Path) -> None:
    names = {"plain": far_below, "a\rb c": far_below, "gone": os.open(tmp_path, os.O_DIRECTORY)}
    inodes: set[int] = set()
    kept: list[mmap.mmap] = []
    for name, folder in names.items():
        file = os.open(name, os.O_RDWR | os.O_CREAT, 0o600, dir_fd=folder)
        os.ftruncate(file, 5000)
        kept.append(mmap.mmap(file, 0))
        inodes.add(os.fstat(file).st_ino)
        os.close(file)
    os.unlink("gone", dir_fd=names["gone"])
    os.close(names["gone"])
    assert inodes <= shared_writable_maps().inodes
    for each in kept:
        each.close()
    assert not inodes & shared_writable_maps().inodes


@pytest.fixture
def elsewhere(files: list[Path]) -> Generator[int]:
    """Another process that has mapped them, and read others."""
    ready, wrote = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            kept = [mmap.mmap(os.open(path, os.O_RDWR), 0) for path in files]
            os.write(wrote, b"%d" % len(kept))
            signal.pause()
        finally:
            os._exit(1)
    assert os.read(ready, 1) == b"%d" % len(files)
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(ready)
    os.close(wrote)


@pytest.mark.usefixtures("_way", "elsewhere")
def test_all_files_of_another_process_are_found(files: list[Path]) -> None:
    found = shared_writable_maps()
    assert {str(path) for path in files} <= found.paths
    assert {path.stat().st_ino for path in files} <= found.inodes
    assert {path.stat().st_ino for path in files} <= found.inodes_on(files[0].parent)


def test_the_same_number_on_another_device_is_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    st = tmp_path.stat()
    maps = memory_maps.Maps(frozenset(), frozenset({(st.st_dev, st.st_ino), (st.st_dev + 1, 7)}))
    monkeypatch.setattr(memory_maps, "kind_of", lambda _: "ext4")
    assert maps.inodes_on(tmp_path) == {st.st_ino}
    monkeypatch.setattr(memory_maps, "kind_of", lambda _: "btrfs")
    assert maps.inodes_on(tmp_path) == {st.st_ino, 7}


@pytest.mark.usefixtures("_way")
def test_what_is_only_read_or_is_private_is_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 5000)
    with (tmp_path / "file").open("r+b") as file:
        with (
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ),
            mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE),
        ):
            assert str(tmp_path / "file") not in shared_writable_maps().paths
        with mmap.mmap(file.fileno(), 0):
            assert str(tmp_path / "file") in shared_writable_maps().paths
    assert str(tmp_path / "file") not in shared_writable_maps().paths


@pytest.mark.usefixtures("_way")
def test_a_process_that_ended_meanwhile_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    monkeypatch.setattr(memory_maps, "_processes", lambda: [str(pid), "999999999"])
    assert shared_writable_maps() == (frozenset(), frozenset())
    os.waitpid(pid, 0)


def test_a_file_that_is_mapped_is_read_though_the_stat_cache_has_all_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stat_cache, "_WORTH_SAVING_FILES", 1)
    tree = tree_at(tmp_path / "tree")
    (tree.path / "a" / "b").mkdir(parents=True)
    path = tree.path / "a" / "b" / "file"
    path.write_bytes(b"x" * 5000)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0] = 1
        new_store(tmp_path / "store", ahead_ns=10**12).capture(tree, Unobserved())
        mapped[0] = 2  # the page is dirty already: no time changes
        store = new_store(tmp_path / "store", ahead_ns=10**12)
        with store.watch(tree, others_at_work=True):
            found = store.capture(tree, Unobserved())
            mapped[0] = 3
            store.distrust_watches()
            again = store.capture(tree, Unobserved())
    for capture, first in ((found, 2), (again, 3)):
        item = store.item(capture.snapshot.roots[0], "a/b/file")
        assert item is not None
        assert item.content is not None
        assert store.read(item.content)[0] == first


def test_the_looks_of_one_moment_know_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counting() -> memory_maps.Maps:
        read.append(1)
        return memory_maps.Maps(frozenset(), frozenset({(0, len(read))}))

    monkeypatch.setattr(memory_maps, "shared_writable_maps", counting)
    moments = Moments()
    with moments.at_once():
        with moments.at_once():
            first = moments.maps()
        assert moments.maps() is first
    assert moments.maps() is not first
    assert moments.maps().inodes == {3}
