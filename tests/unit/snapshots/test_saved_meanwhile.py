"""A restore of a user's folder never takes anything of others, on whatever filesystem and at whatever instant."""

import errno
import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.snapshots.restore import aside, asides
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.errors import FileInUse, MulliganError, TreeChanged
from mulligan.osfiles import moves
from mulligan.ports import WorkingTree
from tests.faults.saves import SAVES, Instants, chosen, holds, saving
from tests.support.snapshot_world import Watcher, new_store, picture, tree_at

MINE = b"precious work of the user\n"
TARGETS = ("changed", "gone", "made", "folder/one", "born/inside", "first", "was a link")


@dataclass
class World:
    """A folder of a user's that is to become what it was."""

    folder: Path
    real: Path
    store: PackedSnapshotStore
    tree: WorkingTree
    target: Snapshot
    known: Snapshot
    wanted: object

    def restore(self) -> None:
        self.store.restore(self.target, self.tree, Watcher(), self.known)


def _fill(real: Path, text: str) -> None:
    real.mkdir(exist_ok=True)
    for name in ("changed", "first"):
        (real / name).write_text(text)
    (real / "kept").write_text("the same")


def make_world(folder: Path, real: Path, *, linked: bool = True) -> World:
    _fill(real, "target")
    (real / "born").mkdir()
    for name in ("born/inside", "made", "was a link"):
        (real / name).write_text("target")
    if linked:
        os.link(real / "first", real / "second")
    store = new_store(folder / "store")
    tree = replace(tree_at(real), real=True)
    target = store.capture(tree, Watcher()).snapshot
    wanted = picture(real)
    for path in real.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    _fill(real, "present")
    (real / "folder").mkdir()
    for name in ("folder/one", "gone"):
        (real / name).write_text("present")
    if linked:
        os.link(real / "gone", real / "gone too")
    (real / "was a link").symlink_to("kept")
    known = store.capture(tree, Watcher()).snapshot
    return World(folder, real, store, tree, target, known, wanted)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder on another filesystem than the store's."""
    places = [Path(p) for p in ("/dev/shm", "/var/tmp", "/tmp")]
    device = tmp_path.stat().st_dev
    other = next(p for p in places if p.is_dir() and p.stat().st_dev != device)
    with tempfile.TemporaryDirectory(dir=other) as name:
        yield Path(name) / "real"


def _no_call() -> None:
    return None


def _no_links(real_link: Callable[..., None]) -> Callable[..., None]:
    """Refuse the links that moves of names make; the store's own place can have them."""

    def link(old: str, new: str, **how: object) -> None:
        if str(old).removesuffix(".out").removesuffix(".ours").isdecimal():
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        real_link(old, new, **how)

    return link


WAYS = ("exchange", "two moves", "another filesystem")


@pytest.fixture(params=WAYS)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int], World]:
    """Make worlds on a filesystem that can do more or less."""
    if request.param in ("two moves", "no hard links"):
        monkeypatch.setattr(moves, "_system_call", _no_call)
    if request.param == "no hard links":
        monkeypatch.setattr(os, "link", _no_links(os.link))
    elsewhere: Path | None = None
    if request.param == "another filesystem":
        elsewhere = request.getfixturevalue("elsewhere")

    def make(number: int) -> World:
        folder = tmp_path / str(number)
        folder.mkdir()
        real = elsewhere.with_name(f"real-{number}") if elsewhere else folder / "real"
        return make_world(folder, real, linked=request.param != "no hard links")

    return make


@pytest.mark.parametrize("place", [*WAYS, "no hard links"], indirect=True)
def test_the_tree_is_restored_exactly(place: Callable[[int], World]) -> None:
    world = place(0)
    world.restore()
    assert picture(world.real) == world.wanted
    assert not list((world.folder / "store" / "asides").iterdir())


def test_a_save_at_any_instant_stays(place: Callable[[int], World]) -> None:
    world = place(0)
    instants = Instants(-1, lambda: False)
    assert instants.during(world.restore) is None
    trials = (
        (kind, target, number) for kind in SAVES for target in TARGETS for number in range(instants.passed)
    )
    saved = 0
    for count, (kind, target, number) in enumerate(chosen(trials, share=2)):
        world = place(count + 1)
        trial = Instants(number, saving(kind, world.real / target, MINE))
        error = trial.during(world.restore)
        saved += trial.saved
        where = (kind, target, number, error)
        assert error is None or isinstance(error, TreeChanged), where
        if trial.saved and kind != "delete":
            assert holds(world.real, MINE), where
    assert saved


def test_a_save_right_before_a_kill_stays(place: Callable[[int], World]) -> None:
    world = place(0)
    instants = Instants(-1, lambda: False)
    assert instants.during(world.restore) is None
    trials = ((target, number) for target in TARGETS for number in range(instants.passed))
    for count, (target, number) in enumerate(chosen(trials, share=5)):
        world = place(count + 1)
        marker = world.folder / "saved"

        def save(world: World = world, target: str = target, marker: Path = marker) -> bool:
            if saving("edit in place", world.real / target, MINE)():
                marker.touch()
            return True

        pid = os.fork()
        if pid == 0:
            _restore_and_die(world, number, save)
        os.waitpid(pid, 0)
        found = new_store(world.folder / "store").recover(world.tree)
        assert all(Path(path).exists() for path in found)
        assert not marker.exists() or holds(world.real, MINE), (target, number)
        assert not list((world.folder / "store").glob("asides/*"))
        assert not list(world.real.glob(".mulligan-*")), "nothing of ours is left in the folder"


def _restore_and_die(world: World, number: int, save: Callable[[], bool]) -> None:
    class Dying(Instants):
        def _pass(self) -> None:
            if self.passed == number + 2:
                os._exit(9)
            super()._pass()

    try:
        Dying(number, save).during(world.restore)
    finally:
        os._exit(0)


def _world(tmp_path: Path) -> World:
    return make_world(tmp_path, tmp_path / "real")


def test_what_is_unknown_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    world = _world(tmp_path)
    (world.real / "changed").write_text("saved since it was kept")
    (world.real / "folder" / "new").write_text("saved since it was kept")
    before = picture(world.real)
    with pytest.raises(TreeChanged) as stopped:
        world.restore()
    named = str(stopped.value.facts["paths"]).split(", ")
    assert sorted(named) == [str(world.real / "changed"), str(world.real / "folder" / "new")]
    assert picture(world.real) == before


@pytest.mark.parametrize("mapped", [False, True])
def test_a_file_that_is_open_for_writing_is_refused_with_its_holder(tmp_path: Path, mapped: bool) -> None:
    world = _world(tmp_path)
    before = picture(world.real)
    with (world.real / "changed").open("r+b") as file:
        held = mmap.mmap(file.fileno(), 0) if mapped else None
        if held is not None:
            file.close()
        with pytest.raises(FileInUse) as stopped:
            world.restore()
        if held is not None:
            held.close()
    assert stopped.value.facts["paths"] == str(world.real / "changed")
    assert f"process {os.getpid()}" in str(stopped.value.facts["holders"])
    assert picture(world.real) == before
    world.restore()
    assert picture(world.real) == world.wanted


def test_what_is_written_through_a_descriptor_after_the_exchange_goes_back(tmp_path: Path) -> None:
    world = _world(tmp_path)
    path = world.real / "changed"
    opened: list[int] = []

    class Writer(Watcher):
        def progress(self, what: str, done: int, total: int | None) -> None:
            if what == "folders cleared" and not opened:
                opened.append(os.open(path, os.O_WRONLY))  # after the refusal of open files
            if what == "folders filled" and done == 1:
                os.pwrite(opened[0], MINE, 0)
                os.close(opened[0])

    with pytest.raises(TreeChanged) as stopped:
        world.store.restore(world.target, world.tree, Writer(), world.known)
    assert path.read_bytes() == MINE
    assert stopped.value.facts["paths"] == str(path)


def test_what_lost_its_name_to_a_later_save_is_kept_beside_it(tmp_path: Path) -> None:
    world = _world(tmp_path)
    path = world.real / "changed"
    proof = aside.is_same_file

    def save_twice(expected: bytes, found: bytes) -> bool:
        if path.read_bytes() == b"target":  # it was just exchanged: what came out was saved before
            path.unlink()
            path.write_bytes(b"saved later")
            return False
        return proof(expected, found)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(aside, "is_same_file", save_twice)
        with pytest.raises(TreeChanged) as stopped:
            world.restore()
    assert path.read_bytes() == b"saved later"
    kept = Path(str(stopped.value.facts["paths"]))
    assert kept.name.startswith("changed.mulligan-kept-")
    assert kept.read_text() == "present"


def test_an_mtime_that_is_put_back_hides_nothing(tmp_path: Path) -> None:
    """The next capture reads what was adjusted: it may have been written right before."""
    real = tmp_path / "real"
    real.mkdir()
    (real / "file").write_text("same")
    store, tree = new_store(tmp_path / "store"), replace(tree_at(real), real=True)
    target = store.capture(tree, Watcher()).snapshot
    (real / "file").chmod(0o600)
    known = store.capture(tree, Watcher()).snapshot
    chmod = os.fchmod

    def write_first(fd: int, mode: int) -> None:
        (real / "file").write_text("mine")
        chmod(fd, mode)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fchmod", write_first)
        store.restore(target, tree, Watcher(), known)
    found = store.capture(tree, Watcher()).snapshot
    assert not found.same_as(target)


def test_an_aside_that_cannot_be_locked_is_an_error_and_not_an_endless_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = _world(tmp_path)
    monkeypatch.setattr(asides, "_is_locked", lambda _journal: False)
    with pytest.raises(MulliganError, match="kept locking"):
        world.restore()


def test_a_kill_between_two_moves_leaves_no_name_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where names cannot be exchanged, a file that was moved away and not replaced yet comes back."""
    world = _world(tmp_path)
    monkeypatch.setattr(moves, "_system_call", _no_call)
    pid = os.fork()
    if pid == 0:
        monkeypatch.setattr(aside.Aside, "place", lambda *_: os._exit(9))
        with suppress(BaseException):
            world.restore()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert not (world.real / "changed").exists()
    new_store(world.folder / "store").recover(world.tree)
    assert (world.real / "changed").read_bytes() == b"present"


def test_what_is_written_through_a_map_that_leaves_no_time_is_compared_by_its_bytes(tmp_path: Path) -> None:
    world = _world(tmp_path)
    path = world.real / "changed"
    st = path.stat()

    class Writer(Watcher):
        def progress(self, what: str, done: int, total: int | None) -> None:
            if what == "folders cleared" and path.read_bytes() == b"present":
                path.write_bytes(b"PRECIOU")  # as long as what was there, and with its time
                os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))

    with pytest.raises(TreeChanged):
        world.store.restore(world.target, world.tree, Writer(), world.known)
    assert path.read_bytes() == b"PRECIOU"


def test_modes_and_attributes_of_folders_that_others_set_meanwhile_stay(tmp_path: Path) -> None:
    world = _world(tmp_path)

    class Setter(Watcher):
        def progress(self, what: str, done: int, total: int | None) -> None:
            if what == "folders filled":
                world.real.chmod(0o750)
                os.setxattr(world.real, "user.mine", b"precious")

    world.store.restore(world.target, world.tree, Setter(), world.known)
    assert world.real.stat().st_mode & 0o777 == 0o750
    assert os.getxattr(world.real, "user.mine") == b"precious"


def test_a_folder_that_is_moved_away_meanwhile_stops_the_restore(tmp_path: Path) -> None:
    world = _world(tmp_path)
    (world.real / "folder").rename(world.real / "born")  # so that the restore works in a folder that is there
    (world.real / "born" / "inside").write_text("present")
    known = world.store.capture(world.tree, Watcher()).snapshot

    class Mover(Watcher):
        def progress(self, what: str, done: int, total: int | None) -> None:
            if what == "folders filled" and (world.real / "born" / "inside").exists():
                (world.real / "born").rename(tmp_path / "moved")

    with pytest.raises(TreeChanged) as stopped:
        world.store.restore(world.target, world.tree, Mover(), known)
    assert stopped.value.facts["paths"] == str(world.real / "born")
