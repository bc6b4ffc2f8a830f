"""A new tree is what a restore would make, and what is copied from a known tree is what the snapshot holds."""

import fcntl
import mmap
import os
import resource
import struct
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.new_trees import c_copy, file_copy, tree_creation
from mulligan.adapters.snapshots.scan.scan import Gone, Scan
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.errors import RestoreFailed, SnapshotDamaged
from tests.support.snapshot_world import Watcher, bring_back, new_store, picture, take, tree_at

AHEAD_NS = 10**12  # to this store no file is young


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have any number of files copied; return the names that were."""
    names: list[str] = []
    in_c = c_copy.copy

    def noted(source: int, target: int, folders: list[c_copy.Known], threads: int) -> list[tuple[int, str]]:
        left = (
            file_copy.copy(source, target, folders)
            if in_c is None
            else in_c(source, target, folders, threads)
        )
        asked = [
            (n, name) for n, (_, listed, _) in enumerate(folders) for name in os.fsdecode(listed).split("\0")
        ]
        names.extend(name for number, name in asked if (number, name) not in left)
        return left

    monkeypatch.setattr(c_copy, "copy", noted)
    monkeypatch.setattr(tree_creation, "_FEW", 1)
    return names


def fill(tree: Path) -> None:
    """Write one of everything that a snapshot can hold."""
    (tree / "folder" / "deep").mkdir(parents=True)
    (tree / "closed").mkdir()
    (tree / "empty" / "inside").mkdir(parents=True)
    for number in range(5):
        (tree / "folder" / f"{number}.txt").write_text(f"text of {number}")
        (tree / "folder" / "deep" / f"{number}").write_bytes(os.urandom(number * 1000))
    (tree / "large").write_bytes(os.urandom(700_000))
    (tree / "nothing").touch()
    (tree / "closed" / "file").write_text("closed")
    (tree / "closed" / "file").chmod(0o400)
    (tree / "program").write_text("#!/bin/sh")
    (tree / "program").chmod(0o4755)
    (tree / "link").symlink_to("folder/0.txt")
    (tree / "dangling").symlink_to("/nowhere")
    os.link(tree / "folder" / "1.txt", tree / "second name")
    os.setxattr(tree / "folder" / "2.txt", "user.said", b"something")
    os.setxattr(tree / "folder", "user.said", b"of a folder")
    with (tree / "holes").open("wb") as file:
        file.truncate(1 << 20)
        file.seek(1 << 19)
        file.write(b"in between")
    (tree / os.fsdecode(b"not utf-8 \xff")).write_text("name")
    for path in (tree / "folder" / "3.txt", tree / "folder", tree / "empty"):
        os.utime(path, ns=(1, 1_234_567_890_123_456_789))
    os.utime(tree / "nothing", ns=(1, -5_000_000_001))
    (tree / "closed").chmod(0o500)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    fill(tree)
    return tree


def create(store: PackedSnapshotStore, snapshot: Snapshot, path: Path, like: Path | None) -> Watcher:
    watcher = Watcher()
    store.create(snapshot, tree_at(path), watcher, None if like is None else tree_at(like))
    return watcher


@pytest.mark.parametrize("is_copied", [True, False])
def test_a_new_tree_is_what_a_restore_makes(
    tree: Path, tmp_path: Path, copied: list[str], is_copied: bool
) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)
    watcher = create(store, snapshot, tmp_path / "new", tree if is_copied else None)
    bring_back(store, snapshot, tmp_path / "restored")
    assert picture(tmp_path / "new") == picture(tmp_path / "restored") == picture(tree)
    assert (tmp_path / "new" / "holes").stat().st_blocks < 1000
    assert ("large" in copied) is is_copied
    assert {"holes", "second name", "2.txt"}.isdisjoint(copied)
    told = [each for each in watcher.told if each[0] == "files restored"]
    assert told[-1][1] <= (told[-1][2] or 0)


def test_what_was_made_is_known_to_the_next_process(tree: Path, tmp_path: Path, copied: list[str]) -> None:
    for number in range(80):  # of a smaller tree nothing is written down
        (tree / f"more {number}").write_text(str(number))
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)
    create(store, snapshot, tmp_path / "new", tree)
    watcher = Watcher()
    again = new_store(tmp_path / "store", ahead_ns=AHEAD_NS).capture(tree_at(tmp_path / "new"), watcher)
    assert again.snapshot == snapshot
    assert again.size_bytes == 0
    assert again.files == sum(len(names) for _, _, names in os.walk(tree))
    assert not [told for told in watcher.told if told[0] == "files read"]


def test_a_file_that_changed_since_comes_from_the_store(
    tree: Path, tmp_path: Path, copied: list[str]
) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    before, snapshot = picture(tree), take(store, tree)
    changed = tree / "folder" / "4.txt"
    times = changed.stat()
    changed.write_bytes(changed.read_bytes()[::-1])
    os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
    (tree / "large").unlink()
    (tree / "folder" / "deep").rename(tree / "elsewhere")
    (tree / "folder" / "deep").symlink_to("../elsewhere")
    create(store, snapshot, tmp_path / "new", tree)
    assert picture(tmp_path / "new") == before
    assert "0.txt" in copied
    assert {"4.txt", "large", "1"}.isdisjoint(copied)


def test_a_file_that_changes_while_it_is_copied_comes_from_the_store(
    tmp_path: Path, copied: list[str]
) -> None:
    tree, new = tmp_path / "tree", tmp_path / "new"
    tree.mkdir()
    data = os.urandom(4 << 20) * 4
    (tree / "large").write_bytes(data)
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)
    done = threading.Event()

    def write() -> None:
        while not (new / "large").exists() and not done.is_set():
            pass
        with (tree / "large").open("r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"changed"[:1])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        create(store, snapshot, new, tree)
    finally:
        done.set()
        thread.join()
    assert (new / "large").read_bytes() == data


def test_a_file_that_changed_right_after_it_was_read_is_left_out(
    tree: Path, tmp_path: Path, copied: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    before, snapshot = picture(tree), take(store, tree)
    real = file_copy.copy_contents

    def meanwhile(source: int, target: int) -> int:
        found = real(source, target)
        if found == 700_000:
            (tree / "large").write_bytes(bytes(700_000))
        return found

    monkeypatch.setattr(file_copy, "copy_contents", meanwhile)
    monkeypatch.setattr(c_copy, "copy", None)
    create(store, snapshot, tmp_path / "new", tree)
    assert picture(tmp_path / "new") == before


def test_young_files_are_not_copied(tree: Path, tmp_path: Path, copied: list[str]) -> None:
    store = new_store(tmp_path / "store", ahead_ns=-AHEAD_NS)
    before, snapshot = picture(tree), take(store, tree)
    create(store, snapshot, tmp_path / "new", tree)
    assert picture(tmp_path / "new") == before
    assert not any(copied)


def test_mapped_files_are_not_copied(tree: Path, tmp_path: Path, copied: list[str]) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    with (tree / "large").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0] = 7
        before, snapshot = picture(tree), take(store, tree)
        mapped[0] = 8
        create(store, snapshot, tmp_path / "new", tree)
    assert picture(tmp_path / "new")[b"./large"][2] == before[b"./large"][2]
    assert "large" not in copied
    assert "0.txt" in copied


def test_an_older_snapshot_takes_from_the_tree_what_is_still_the_same(
    tree: Path, tmp_path: Path, copied: list[str]
) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    before, snapshot = picture(tree), take(store, tree)
    (tree / "folder" / "4.txt").write_text("of a later step")
    (tree / "folder" / "new").write_text("of a later step")
    (tree / "folder" / "3.txt").chmod(0o600)
    take(store, tree)
    create(store, snapshot, tmp_path / "new", tree)
    assert picture(tmp_path / "new") == before
    assert "0.txt" in copied
    assert {"new", "3.txt", "4.txt"}.isdisjoint(copied)


def test_a_tree_that_is_there_in_part_is_completed(tree: Path, tmp_path: Path, copied: list[str]) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot, new = take(store, tree), tmp_path / "new"
    (new / "folder").mkdir(parents=True)
    (new / "folder" / "0.txt").write_text("te")
    (new / "large").write_bytes(bytes(700_000))
    create(store, snapshot, new, tree)
    assert picture(new) == picture(tree)


def test_excluded_names_are_not_made(tree: Path, tmp_path: Path, copied: list[str]) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)
    target = tree_at(tmp_path / "new", "folder/deep", "large", patterns=("*.txt",))
    store.create(snapshot, target, Watcher(), tree_at(tree))
    made = {os.fsdecode(path) for path in picture(tmp_path / "new")}
    assert {"./folder/deep", "./large", "./folder/0.txt"}.isdisjoint(made)
    assert {"./folder", "./nothing", "./second name"} <= made


def test_something_that_no_snapshot_holds_is_passed_over(
    tree: Path, tmp_path: Path, copied: list[str]
) -> None:
    os.mkfifo(tree / "fifo")
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)
    create(store, snapshot, tmp_path / "new", tree)
    assert not (tmp_path / "new" / "fifo").exists()
    assert (tmp_path / "new" / "large").exists()
    assert take(store, tmp_path / "new") != snapshot


def test_a_source_that_is_gone_is_done_without(tree: Path, tmp_path: Path, copied: list[str]) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    before, snapshot = picture(tree), take(store, tree)
    tree.rename(tmp_path / "away")
    create(store, snapshot, tmp_path / "new", tree)
    assert picture(tmp_path / "new") == before
    create(store, snapshot, tmp_path / "another", tmp_path / "never captured")
    assert picture(tmp_path / "another") == before


def can_share(folder: Path) -> bool:
    """Return whether files in a folder can share their contents."""
    with (folder / "one").open("w+b") as one, (folder / "other").open("w+b") as other:
        one.write(bytes(1 << 16))
        one.flush()
        try:
            fcntl.ioctl(other, 0x40049409, one.fileno())  # FICLONE
        except OSError:
            return False
        return True


def is_shared(path: Path) -> bool:
    """Return whether all extents of a file are those of another file too."""
    head, extent = struct.Struct("=QQIIII"), struct.Struct("=QQQ2QI3I")
    with path.open("rb") as file:
        found = bytearray(head.pack(0, 1 << 40, 1, 0, 64, 0) + bytes(64 * extent.size))  # synced first
        fcntl.ioctl(file, 0xC020660B, found)  # FS_IOC_FIEMAP
    count = head.unpack_from(found)[3]
    flags = [extent.unpack_from(found, head.size + number * extent.size)[5] for number in range(count)]
    return bool(flags) and all(flag & 0x2000 for flag in flags)  # FIEMAP_EXTENT_SHARED


def test_contents_are_shared_where_the_filesystem_can_and_written_where_it_cannot(
    tree: Path, tmp_path: Path, copied: list[str]
) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)
    create(store, snapshot, tmp_path / "new", tree)
    assert "large" in copied
    assert (tmp_path / "new" / "large").read_bytes() == (tree / "large").read_bytes()
    if can_share(tmp_path):
        assert is_shared(tmp_path / "new" / "large")
        (tree / "large").write_bytes(b"of the user")
        assert take(store, tmp_path / "new") == snapshot


def test_a_deep_tree_is_made(tmp_path: Path, copied: list[str]) -> None:
    tree = here = tmp_path / "tree"
    tree.mkdir()
    fd = os.open(tree, os.O_RDONLY)
    for number in range(300):  # longer than any path may be
        name = f"{number:03}{'n' * 40}"
        os.mkdir(name, dir_fd=fd)
        inner = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd, here = inner, here / name
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd))
    os.close(fd)
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)
    create(store, snapshot, tmp_path / "new", tree)
    assert take(store, tmp_path / "new") == snapshot


@contextmanager
def files_limited(size: int) -> Generator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("is_copied", [True, False])
def test_what_the_disk_refuses_is_reported_with_its_path(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_copied: bool
) -> None:
    monkeypatch.setattr(tree_creation, "_FEW", 1)
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)
    with files_limited(500_000), pytest.raises(RestoreFailed) as caught:
        create(store, snapshot, tmp_path / "new", tree if is_copied else None)
    if c_copy.copy is not None or not is_copied:
        assert caught.value.facts["path"] == str(tmp_path / "new" / ("large" if is_copied else "holes"))
    create(store, snapshot, tmp_path / "new", tree)
    assert picture(tmp_path / "new") == picture(tree)


def test_a_folder_that_cannot_be_made_is_reported(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)
    copy = c_copy.copy

    def first(source: int, target: int, folders: list[c_copy.Known], threads: int) -> list[tuple[int, str]]:
        os.mkdir("folder", dir_fd=target)
        return (
            file_copy.copy(source, target, folders)
            if copy is None
            else copy(source, target, folders, threads)
        )

    monkeypatch.setattr(c_copy, "copy", first)
    with pytest.raises(RestoreFailed):
        create(store, snapshot, tmp_path / "new", None)


def test_a_damaged_store_is_reported(tree: Path, tmp_path: Path) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)
    (pack,) = (tmp_path / "store" / "packs").iterdir()
    pack.chmod(0o600)
    data = bytearray(pack.read_bytes())
    data[len(data) // 4] ^= 0xFF
    pack.write_bytes(bytes(data))
    with pytest.raises(SnapshotDamaged):
        create(store, snapshot, tmp_path / "new", None)


def test_a_tree_that_changes_while_it_is_listed_is_looked_at_again(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)
    real: Callable[[int], None] = tree_creation.sync_filesystem

    def meanwhile(fd: int) -> None:
        real(fd)
        (tmp_path / "new" / "folder").rename(tmp_path / "taken")
        (tmp_path / "new").rename(tmp_path / "gone")

    monkeypatch.setattr(tree_creation, "sync_filesystem", meanwhile)
    create(store, snapshot, tmp_path / "new", None)
    (tmp_path / "gone").rename(tmp_path / "new")
    assert take(store, tmp_path / "new") != snapshot
    (tmp_path / "taken").rename(tmp_path / "new" / "folder")
    mtime = tree.stat().st_mtime_ns
    os.utime(tmp_path / "new", ns=(mtime, mtime))
    assert take(store, tmp_path / "new") == snapshot


def test_a_tree_that_cannot_be_listed_afterwards_is_read_by_the_next_capture(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path / "store", ahead_ns=AHEAD_NS)
    snapshot = take(store, tree)

    def vanish(*_: object) -> None:
        raise Gone("folder")

    with monkeypatch.context() as patch:
        patch.setattr(Scan, "list_all", vanish)
        create(store, snapshot, tmp_path / "new", tree)
    assert take(store, tmp_path / "new") == snapshot


def test_the_copy_in_c_refuses_a_number_of_threads_that_it_has_no_room_for() -> None:
    if c_copy.copy is not None:
        with pytest.raises(ValueError, match="threads must be 1 to"):
            c_copy.copy(-1, -1, [], 0)
