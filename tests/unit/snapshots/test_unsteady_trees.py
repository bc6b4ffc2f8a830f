"""Trees that change while they are read: read again, scanned again, or told; never stored half and half."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from mulligan.errors import SystemFailed, TreeUnsteady
from tests.support.raised import raises
from tests.support.snapshot_world import bring_back, new_store, take


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


def _meddle(
    monkeypatch: pytest.MonkeyPatch, tree: Path, meddle: Callable[[], None], *, times: int
) -> list[int]:
    """Do something each time that a file of the tree is read."""
    read = os.read
    fired: list[int] = []

    def reading(fd: int, length: int) -> bytes:
        data = read(fd, length)
        if len(fired) < times and os.readlink(f"/proc/self/fd/{fd}").startswith(f"{tree}/"):
            fired.append(1)
            meddle()
        return data

    monkeypatch.setattr(os, "read", reading)
    return fired


def test_a_file_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tree / "a" / "two"
    fired: list[int] = []
    fired = _meddle(monkeypatch, tree, lambda: target.write_text(f"{len(fired)}" * 70), times=2)
    snapshot = take(new_store(tmp_path / "store"), tree)
    monkeypatch.undo()
    assert len(fired) == 2
    assert take(new_store(tmp_path / "fresh"), tree).id == snapshot.id


def test_a_file_that_never_rests_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "log").write_text("line\n")

    def grow() -> None:
        with (tree / "log").open("a") as file:
            file.write("line\n")

    _meddle(monkeypatch, tree, grow, times=1000)
    with raises(TreeUnsteady, path="log"):
        take(new_store(tmp_path / "store"), tree)


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_a_file_that_shrinks_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(bytes(range(1, 11)) * (size // 10))
    fired = _meddle(monkeypatch, tree, lambda: os.truncate(tree / "file", 3), times=1)
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    monkeypatch.undo()
    assert fired
    bring_back(store, snapshot, tmp_path / "copy")
    assert (tmp_path / "copy" / "file").read_bytes() == b"\1\2\3"


def _replace_once(tree: Path, change: Callable[[], None]) -> Callable[[], None]:
    done: list[int] = []

    def once() -> None:
        if not done:
            done.append(1)
            change()

    return once


@pytest.mark.parametrize(
    "what", ["gone", "moved", "folder", "link", "fifo", "folder gone", "link gone", "swap"]
)
def test_a_tree_that_changes_while_it_is_read_is_scanned_again(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Folders are read from the leaves up: `a/b/three` is the first file, `one` and `link` come last."""

    def change() -> None:
        match what:
            case "folder gone":
                (tree / "a" / "b").chmod(0o700)
                (tree / "a" / "b" / "three").unlink()
                (tree / "a" / "b").rmdir()
            case "link gone":
                (tree / "link").unlink()
            case "swap":
                (tree / "link").unlink()
                (tree / "link").write_text("file")
            case "moved":
                (tree / "one").rename(tree / "renamed")
            case _:
                (tree / "one").unlink()
                if what == "folder":
                    (tree / "one").mkdir()
                elif what == "link":
                    (tree / "one").symlink_to("a")
                elif what == "fifo":
                    os.mkfifo(tree / "one")

    fired = _meddle(monkeypatch, tree, _replace_once(tree, change), times=1)
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    monkeypatch.undo()
    assert fired
    assert take(new_store(tmp_path / "fresh"), tree).id == snapshot.id


def test_a_tree_whose_files_come_and_go_without_end_is_an_error(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flip() -> None:
        if (tree / "one").exists():
            (tree / "one").rename(tree / "other")
        else:
            (tree / "other").rename(tree / "one")
        (tree / "a" / "two").write_text(os.urandom(9).hex())

    _meddle(monkeypatch, tree / "a" / "two", flip, times=1000)
    _meddle(monkeypatch, tree, flip, times=1000)
    with pytest.raises(TreeUnsteady):
        take(new_store(tmp_path / "store"), tree)


@pytest.mark.parametrize("walker", ["in Python"], indirect=True)  # what it interrupts is Python
def test_entries_that_vanish_while_a_folder_is_listed_are_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(5):
        (tree / str(number)).touch()
    scan = os.scandir
    fired: list[int] = []

    class Vanishing:
        def __init__(self, fd: int) -> None:
            self._entries = scan(fd)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            self._entries.close()

        def __iter__(self) -> Any:
            for entry in self._entries:
                if len(fired) < limit:
                    fired.append(1)
                    os.unlink(tree / entry.name)
                    yield entry
                    (tree / entry.name).touch()
                else:
                    yield entry

    monkeypatch.setattr(os, "scandir", Vanishing)
    limit = 1
    snapshot = take(new_store(tmp_path / "store"), tree)
    monkeypatch.undo()
    assert fired
    assert len(os.listdir(tree)) == 4
    assert take(new_store(tmp_path / "fresh"), tree).id == snapshot.id
    for number in range(20):
        (tree / f"more {number}").touch()
    fired.clear()
    limit = 1000
    monkeypatch.setattr(os, "scandir", Vanishing)
    with pytest.raises(TreeUnsteady):
        take(new_store(tmp_path / "store"), tree)


def test_a_folder_swapped_between_listing_and_entering_is_scanned_again(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapped = _swap_folder_on_entry(
        monkeypatch, tree / "a" / "b", lambda path: path.symlink_to("/etc"), times=1
    )
    snapshot = take(new_store(tmp_path / "store"), tree)
    monkeypatch.undo()
    assert swapped
    assert take(new_store(tmp_path / "fresh"), tree).id == snapshot.id


def test_a_folder_that_is_never_there_when_it_is_entered_is_an_error(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapped = _swap_folder_on_entry(monkeypatch, tree / "a" / "b", lambda path: path.mkdir(), times=1000)
    with raises(TreeUnsteady, path="a/b"):
        take(new_store(tmp_path / "store"), tree)
    assert len(swapped) > 1


def test_an_error_while_a_folder_is_entered_is_told(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    _swap_folder_on_entry(monkeypatch, tree / "a" / "b", fail, times=1)
    with pytest.raises(SystemFailed, match="Input/output error"):
        take(new_store(tmp_path / "store"), tree)


def _swap_folder_on_entry(
    patch: pytest.MonkeyPatch, folder: Path, swap: Callable[[Path], None], *, times: int
) -> list[int]:
    """Move a folder away as it is about to be entered, and put something else there for the next look."""
    opening = os.open
    fired: list[int] = []

    def entering(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == folder.name and len(fired) < times:
            fired.append(1)
            folder.rename(folder.with_name(f"away {len(fired)}"))
            try:
                return opening(path, flags, mode, dir_fd=dir_fd)
            finally:
                swap(folder)
        return opening(path, flags, mode, dir_fd=dir_fd)

    patch.setattr(os, "open", entering)
    return fired
