"""Files that processes have mapped to write: found the same way by a query as in the list of all maps."""

import errno
import mmap
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.cache import stat_cache
from mulligan.adapters.snapshots.scan import memory_maps
from mulligan.adapters.snapshots.scan.memory_maps import Moments, mapped_by, shared_writable_maps
from mulligan.ports import Unobserved
from tests.support.patience import wait_until
from tests.support.snapshot_world import new_store, tree_at


@pytest.fixture(params=["asked", "listed"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look as on this system, and as on one that answers no queries."""

    def unknown(_maps: int) -> Iterator[object]:
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

    def counting(_: Moments) -> memory_maps.Maps:
        read.append(1)
        return memory_maps.Maps(frozenset(), frozenset({(0, len(read))}))

    monkeypatch.setattr(Moments, "_look", counting)
    moments = Moments()
    with moments.at_once():
        with moments.at_once():
            first = moments.maps()
        assert moments.maps() is first
    assert moments.maps() is not first
    assert moments.maps().inodes == {3}


class Neighbour:
    """Another process, which maps files when it is told to, and otherwise sleeps."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._orders, self._answers = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._obey(files)
            finally:
                os._exit(1)

    def do(self, order: str) -> None:
        """Give an order: the number of a file, and r to map it to read, w to write, or W to write to it too."""
        os.write(self._orders[1], order.encode())
        assert os.read(self._answers[0], 1) == b"."
        wait_until(self._sleeps, "the process waits for its next order")

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        for each in (*self._orders, *self._answers):
            os.close(each)

    def _sleeps(self) -> bool:
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"

    def _obey(self, files: Sequence[Path]) -> None:
        kept: list[mmap.mmap] = []
        while order := os.read(self._orders[0], 2).decode():
            prot = mmap.PROT_READ if order[1] == "r" else mmap.PROT_READ | mmap.PROT_WRITE
            kept.append(mmap.mmap(os.open(files[int(order[0])], os.O_RDWR), 0, prot=prot))
            if order[1] == "W":
                kept[-1][0] = 1
            os.write(self._answers[1], b".")


@pytest.fixture
def neighbour(files: list[Path]) -> Generator[Neighbour]:
    made = Neighbour(files)
    yield made
    made.end()


@pytest.mark.usefixtures("_way")
def test_a_later_look_finds_what_was_mapped_and_written_since(
    neighbour: Neighbour, files: list[Path]
) -> None:
    moments = Moments()
    mine = {str(path) for path in files}
    assert not mine & moments.maps().paths
    neighbour.do("0W")
    assert mine & moments.maps().paths == {str(files[0])}
    neighbour.do("1W")
    for _ in range(3):
        assert mine & moments.maps().paths == {str(files[0]), str(files[1])}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The processes whose maps were looked through."""
    noted: list[str] = []

    def noting(process: str) -> object:
        noted.append(process)
        return mapped_by(process)

    monkeypatch.setattr(memory_maps, "mapped_by", noting)
    return noted


def test_a_process_without_a_page_fault_since_is_not_looked_through_again(
    neighbour: Neighbour, files: list[Path], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = str(os.getpid()), str(neighbour.pid)
    monkeypatch.setattr(memory_maps, "_processes", lambda: [other, own, "999999999"])
    neighbour.do("0W")
    Moments().maps()
    asked.clear()
    assert str(files[0]) in Moments().maps().paths
    assert own in asked
    assert (other in asked) is not _answers_queries()
    neighbour.do("1W")
    asked.clear()
    assert {str(files[0]), str(files[1])} <= Moments().maps().paths
    assert other in asked


def test_a_map_to_read_may_have_become_writable_where_nothing_else_is_known(
    neighbour: Neighbour, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_maps, "_processes", lambda: [str(neighbour.pid)])
    neighbour.do("0r")
    assert str(files[0]) not in Moments().maps().paths  # looked through: it is known
    if _answers_queries():
        assert str(files[0]) in Moments().maps().paths


def test_what_is_gone_is_forgotten(
    neighbour: Neighbour, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = [[str(neighbour.pid)], [], [str(neighbour.pid)]]
    monkeypatch.setattr(memory_maps, "_processes", there.pop)
    for _ in range(3):
        Moments().maps()
    assert asked == [str(neighbour.pid)] * 2


def _answers_queries() -> bool:
    """Return whether this system can be asked for maps, as Linux can since 6.11."""
    return mapped_by(str(os.getpid()))[1] is not None
