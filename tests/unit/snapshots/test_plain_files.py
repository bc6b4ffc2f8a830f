"""Plain files of a folder are read all at once, and held as they are read one by one."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.snapshots.capture import c_contents, entry_reader
from mulligan.adapters.snapshots.format.chunks import CHUNKED_ABOVE
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from tests.support.snapshot_world import Watcher, bring_back, new_store, picture, take, tree_at


@pytest.fixture
def store(tmp_path: Path) -> PackedSnapshotStore:
    return new_store(tmp_path / "store", ahead_ns=10**12)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    for number in range(6):
        (path / f"{number}").write_bytes(os.urandom(number * 700))
    return path


def meddling(patch: pytest.MonkeyPatch, meddle: Callable[[], Any]) -> list[str]:
    """Do something before the files of a folder are read in one go, once; return the names that were read so."""
    in_c, read, fired = c_contents.read, list[str](), list[bool]()

    def after(folder: int, names: bytes, *others: Any) -> list[bytes | None]:
        if not fired:
            fired.append(True)
            meddle()
        assert in_c is not None
        found = in_c(folder, names, *others)
        read.extend(
            n for n, data in zip(os.fsdecode(names).split("\0"), found, strict=False) if data is not None
        )
        return found

    if in_c is None:
        meddle()
    else:
        patch.setattr(c_contents, "read", after)
    return read


def holds_all(store: PackedSnapshotStore, tree: Path, place: Path) -> bool:
    bring_back(store, take(store, tree), place)
    return picture(place) == picture(tree)


def test_what_is_not_plain_is_read_on_its_own(
    store: PackedSnapshotStore, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.link(tree / "1", tree / "second name")
    os.setxattr(tree / "2", "user.said", b"something")
    with (tree / "holes").open("wb") as file:
        file.truncate(200_000)
    (tree / "chunks").write_bytes(os.urandom(CHUNKED_ABOVE + 1))
    (tree / "one piece").write_bytes(os.urandom(CHUNKED_ABOVE))
    (tree / "one byte").write_bytes(b"x")
    (tree / "link").symlink_to("3")
    (tree / "folder").mkdir()
    os.mkfifo(tree / "fifo")
    with closing(sqlite3.connect(tree / "database")) as database:
        database.execute("CREATE TABLE numbers (number)")
    os.utime(tree, ns=(0, 0))
    read = meddling(monkeypatch, lambda: None)
    snapshot = take(store, tree)
    (tree / "fifo").unlink()
    os.utime(tree, ns=(0, 0))
    bring_back(store, snapshot, tmp_path / "again")
    assert picture(tmp_path / "again") == picture(tree)
    if c_contents.read is not None:
        assert sorted(read) == ["0", "3", "4", "5", "one byte", "one piece"]


def test_a_folder_of_many_bytes_is_read_a_part_at_a_time(
    store: PackedSnapshotStore, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_reader, "_ENOUGH", 1_000)
    assert holds_all(store, tree, tmp_path / "again")


def grown(tree: Path) -> None:
    with (tree / "3").open("ab") as file:
        file.write(b"more")


def cut(tree: Path) -> None:
    os.truncate(tree / "3", 10)


def gone(tree: Path) -> None:
    (tree / "3").unlink()


def replaced(tree: Path) -> None:
    (tree / "other").write_text("other")
    (tree / "other").replace(tree / "3")


def edited(tree: Path) -> None:
    (tree / "3").write_bytes((tree / "3").read_bytes()[::-1])


def shared(tree: Path) -> None:
    os.link(tree / "3", tree.with_name("outside"))


def led_away(tree: Path) -> None:
    (tree / "3").unlink()
    (tree / "3").symlink_to("/etc/passwd")


@pytest.mark.parametrize("change", [grown, cut, gone, replaced, edited, shared, led_away])
def test_what_changes_after_the_scan_is_held_as_it_is_then(
    store: PackedSnapshotStore,
    tree: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
) -> None:
    read = meddling(monkeypatch, lambda: change(tree))
    snapshot = take(store, tree)
    assert "3" not in read
    monkeypatch.undo()
    take(store, tree)
    bring_back(store, snapshot, tmp_path / "again")
    assert {name: (tmp_path / "again" / name).read_bytes() for name in os.listdir(tmp_path / "again")} == {
        name: (tree / name).read_bytes() for name in os.listdir(tree)
    }


def test_a_folder_that_goes_after_the_scan_is_looked_for_again(
    store: PackedSnapshotStore, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("first", "second"):  # the last one is read first
        (tree / folder).mkdir()
        for name in "ab":
            (tree / folder / name).write_text(f"{name} of {folder}")
    meddling(monkeypatch, lambda: (tree / "first").rename(tree / "renamed"))
    assert holds_all(store, tree, tmp_path / "again")


def test_the_files_that_were_read_are_told(
    store: PackedSnapshotStore, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_reader, "_PROGRESS_EVERY", 2)
    watcher = Watcher()
    store.capture(tree_at(tree), watcher)
    assert [done for what, done, _ in watcher.told if what == "files read"] == [2, 4, 6]
