"""What goes wrong in the middle: kills, full disks, planted symlinks, refusals of the system."""

import errno
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.snapshots.restore import private_tree as restore_module
from mulligan.errors import RestoreFailed, SystemFailed
from tests.support.ordinary_user import as_ordinary_user
from tests.support.snapshot_world import Watcher, bring_back, new_store, picture, removed, take, tree_at


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "a" / "b").mkdir(parents=True)
    for name in ("one", "a/two", "a/b/three"):
        (path / name).write_text(name * 50)
    (path / "link").symlink_to("a")
    os.link(path / "one", path / "a" / "same")
    (path / "a" / "b").chmod(0o500)
    return path


def _mess_up(tree: Path) -> None:
    (tree / "a" / "b").chmod(0o700)
    for name in ("one", "a/b/three", "link"):
        (tree / name).unlink()
    (tree / "one").mkdir()
    (tree / "one" / "inner").mkdir()
    (tree / "one" / "inner" / "file").touch()
    (tree / "link").write_text("file")
    (tree / "a" / "two").chmod(0o4711)
    (tree / "added").touch()


_CHANGING_CALLS = ("rename", "unlink", "mkdir", "rmdir", "link", "fchmod", "utime", "symlink", "write")


def _die_at(number: int) -> None:
    """Kill this process at the n-th call that changes something."""
    left = [number]

    def wrapped(call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return instead

    for name in _CHANGING_CALLS:
        setattr(os, name, wrapped(getattr(os, name)))


def _killed_during(work: Callable[[], object], number: int) -> bool:
    child = os.fork()
    if child == 0:
        _die_at(number)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_a_restore_killed_anywhere_is_completed_by_the_next(tmp_path: Path, tree: Path) -> None:
    wanted = picture(tree)
    snapshot = take(new_store(tmp_path / "store"), tree)
    number = 1
    while True:
        _mess_up(tree)
        killed = _killed_during(lambda: bring_back(new_store(tmp_path / "store"), snapshot, tree), number)
        store = new_store(tmp_path / "store")
        if killed:
            bring_back(store, snapshot, tree)
        assert picture(tree) == wanted, f"killed at call {number}"
        assert list((tmp_path / "store" / "rooms").iterdir()) == []
        if not killed:
            break
        number += 1
    assert number > 20  # the fault did fire, at every call there is


def test_a_capture_killed_anywhere_leaves_a_store_that_works(tmp_path: Path, tree: Path) -> None:
    number = 1
    home = tmp_path / "store"
    while _killed_during(lambda: take(new_store(home), tree), number):
        store = new_store(home)
        (tree / "one").write_text(f"something new {number}")
        snapshot = take(store, tree)
        assert store.verify([snapshot], quick=False, observer=Watcher()) == {}
        assert not [*home.glob("rooms/*")]
        (tree / "one").write_text(f"something newer {number}")
        number += 1
    assert number > 2


def test_rooms_of_live_processes_are_left_alone(tmp_path: Path, tree: Path) -> None:
    store, other = new_store(tmp_path / "store"), new_store(tmp_path / "store")
    abandoned = tmp_path / "store" / "rooms" / "abandoned"
    abandoned.mkdir(parents=True)
    writing = os.write
    seen: list[list[str]] = []

    def write(fd: int, data: bytes) -> int:
        if not seen:
            seen.append(sorted(os.listdir(tmp_path / "store" / "rooms")))
            (tree / "a" / "two").write_text("new, so that the other needs a room too")
            take(other, tree)
            seen.append(sorted(os.listdir(tmp_path / "store" / "rooms")))
        return writing(fd, data)

    snapshot = take(store, tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", write)
        bring_back(store, snapshot, tmp_path / "copy")
    assert not abandoned.exists()
    assert len(seen[0]) == 2  # the room, and its lock file
    assert seen[1] == seen[0]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Make one call fail as on a full disk; gives the list of the failures that fired."""

    def arm(name: str) -> list[str]:
        fired: list[str] = []

        def fail(*args: object, **kwargs: object) -> int:
            fired.append(name)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, name, fail)
        return fired

    return arm


@pytest.mark.parametrize("call", ["write", "fchmod", "symlink"])
def test_a_full_disk_during_a_restore_leaves_the_tree_as_it_was(
    tmp_path: Path, tree: Path, full_disk: Callable[[str], list[str]], call: str
) -> None:
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    _mess_up(tree)
    before = picture(tree)
    fired = full_disk(call)
    with pytest.raises(RestoreFailed, match="No space left"):
        bring_back(store, snapshot, tree)
    assert fired
    assert picture(tree) == before
    assert list((tmp_path / "store" / "rooms").iterdir()) == []


def test_a_full_disk_during_a_capture_is_told_and_leaves_nothing(
    tmp_path: Path, tree: Path, full_disk: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path / "store")
    take(store, tree)
    before = list((tmp_path / "store" / "packs").iterdir())
    (tree / "one").write_text("new")
    fired = full_disk("fsync")
    with pytest.raises(SystemFailed, match="No space left"):
        take(store, tree)
    assert fired
    assert not [*tmp_path.glob("store/rooms/*")]
    assert list((tmp_path / "store" / "packs").iterdir()) == before
    monkeypatch.undo()
    assert store.verify([take(store, tree)], quick=False, observer=Watcher()) == {}


def test_a_failure_of_the_writing_thread_reaches_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mulligan.adapters.snapshots.packs.pack_file import PackFile

    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(30):
        (tree / str(number)).write_bytes(os.urandom(900_000))
    fired: list[int] = []

    def fail(self: PackFile, batch: object) -> None:
        fired.append(1)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(PackFile, "append", fail)
    with pytest.raises(SystemFailed, match="No space left"):
        take(new_store(tmp_path / "store"), tree)
    assert len(fired) == 1


def test_a_symlink_put_in_place_of_a_folder_leads_nowhere(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is swapped after it was scanned, at each moment at which the tree is changed."""
    outside = tmp_path / "outside"
    (outside / "b").mkdir(parents=True)
    (outside / "two").write_text("precious")
    before = picture(outside)
    snapshot = take(new_store(tmp_path / "store"), tree)
    for name in ("unlink", "rename", "mkdir", "fchmod"):
        work = tmp_path / f"tree-{name}"
        bring_back(new_store(tmp_path / "store"), snapshot, work)
        _mess_up(work)
        with monkeypatch.context() as patch:
            swapped = _swap_before(patch, name, work / "a", outside)
            with suppress(RestoreFailed):  # whether it notices depends on the moment
                bring_back(new_store(tmp_path / "store"), snapshot, work)
        assert swapped
        assert picture(outside) == before
        bring_back(new_store(tmp_path / "store"), snapshot, work)
        assert picture(work) == picture(tree)
        assert picture(outside) == before


def _swap_before(patch: pytest.MonkeyPatch, name: str, folder: Path, outside: Path) -> list[str]:
    """Put a symlink in place of a folder at the first call of a function."""
    call = getattr(os, name)
    swapped: list[str] = []

    def swap(*args: Any, **kwargs: Any) -> Any:
        if not swapped:
            swapped.append(name)
            os.replace(folder, folder.with_name("away"))
            folder.symlink_to(outside)
        return call(*args, **kwargs)

    patch.setattr(os, name, swap)
    return swapped


def test_something_put_into_a_folder_that_must_go_is_not_removed(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    (tree / "new").mkdir()
    remove = os.rmdir

    def rmdir(name: str, *, dir_fd: int | None = None) -> None:
        if dir_fd is not None:
            (tree / "new" / "late").touch()
        remove(name, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", rmdir)
        with pytest.raises(RestoreFailed, match="new could not be restored: Directory not empty"):
            bring_back(store, snapshot, tree)
    assert (tree / "new" / "late").exists()
    assert bring_back(store, snapshot, tree) == removed("new", "new/late")


def test_a_tree_on_another_filesystem_is_restored_too(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path / "store")
    wanted = picture(tree)
    snapshot = take(store, tree)
    _mess_up(tree)
    move = os.rename
    refused: list[str] = []

    def rename(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if not source.startswith(".mulligan-"):
            refused.append(source)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        move(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        bring_back(store, snapshot, tree)
    assert refused
    assert picture(tree) == wanted


def test_a_refusal_of_the_system_is_told_with_its_path(tmp_path: Path, tree: Path) -> None:
    def check(home: Path) -> None:
        (home / "tree").mkdir()
        (home / "tree" / "file").write_text("x")
        (home / "closed").mkdir(mode=0o500)
        store = new_store(home / "closed" / "store")
        with pytest.raises(SystemFailed, match=r"closed/store: Permission denied"):
            take(store, home / "tree")
        with pytest.raises(SystemFailed, match="Permission denied"), store.hold():
            pass
        good = new_store(home / "store")
        snapshot = take(good, home / "tree")
        with pytest.raises(RestoreFailed, match="Permission denied"):
            good.restore(snapshot, tree_at(home / "closed" / "new"), Watcher())
        (home / "tree").chmod(0)
        with pytest.raises(SystemFailed, match="may not be read"):
            take(good, home / "tree")

    as_ordinary_user(tmp_path, check)


def test_a_tree_that_changes_right_after_a_restore_is_captured_as_it_is_then(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is remembered after a restore is a hint: folders that went by then are simply unknown."""
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    durable_sync = restore_module.sync_filesystem

    def change_then_sync(fd: int) -> None:
        durable_sync(fd)
        (tree / "a").rename(tree / "z")
        (tree / "one").write_text("later")

    _mess_up(tree)
    with monkeypatch.context() as patch:
        patch.setattr(restore_module, "sync_filesystem", change_then_sync)
        bring_back(store, snapshot, tree)
    assert take(store, tree).id == take(new_store(tmp_path / "fresh"), tree).id
    with monkeypatch.context() as patch:
        patch.setattr(restore_module, "sync_filesystem", lambda _: tree.rename(tmp_path / "gone"))
        bring_back(store, snapshot, tree)
    bring_back(store, snapshot, tree)
    assert take(store, tree) == snapshot
