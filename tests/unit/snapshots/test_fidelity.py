"""What a snapshot holds besides plain files: links, holes, attributes, odd names, long paths, large files."""

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulligan.errors import RestoreFailed
from tests.support.ordinary_user import as_ordinary_user
from tests.support.snapshot_world import (
    Watcher,
    age,
    bring_back,
    new_store,
    picture,
    removed,
    restored,
    take,
    tree_at,
)


def _tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    return path


def test_hard_links_come_back_and_writing_one_name_never_changes_another(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    (tree / "a").write_text("shared")
    os.link(tree / "a", tree / "b")
    (tree / "alone").write_text("own")
    wanted = picture(tree)
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)

    (tree / "b").unlink()
    (tree / "b").write_text("shared")
    (tree / "alone").unlink()
    os.link(tree / "a", tree / "alone")
    bring_back(store, snapshot, tree)
    assert picture(tree) == wanted
    (tree / "alone").write_text("changed")
    assert (tree / "a").read_text() == "shared"


def test_a_lost_name_is_linked_to_those_that_stayed(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "a").write_text("shared")
    os.link(tree / "a", tree / "deep" / "b")
    os.link(tree / "a", tree / "deep" / "er" / "c")
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    inode = (tree / "a").stat().st_ino
    (tree / "deep" / "er" / "c").unlink()
    assert bring_back(store, snapshot, tree) == restored("deep/er/c")
    assert (tree / "deep" / "er" / "c").stat().st_ino == inode
    age(tree)
    take(store, tree)
    for name in ("0deep", "zdeep"):  # the group's first path moves, and so does the group's name
        next(tree.glob("*deep")).rename(tree / name)
        assert take(store, tree).id == take(new_store(tmp_path / name), tree).id


def test_a_name_outside_the_tree_is_never_changed_through_its_inode(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    (tree / "file").write_text("content")
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    os.link(tree / "file", tmp_path / "outside")
    assert store.compare(snapshot, tree_at(tree)) == ()
    (tree / "file").chmod(0o600)
    os.utime(tree / "file", ns=(7, 7))
    wanted = (tmp_path / "outside").stat()
    bring_back(store, snapshot, tree)
    assert (tmp_path / "outside").stat().st_mode == wanted.st_mode
    assert (tmp_path / "outside").stat().st_mtime_ns == 7
    assert (tree / "file").stat().st_mode & 0o777 == 0o644


def test_holes_come_back_as_holes(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    for size in (500_000, 50_000_000):
        with (tree / str(size)).open("wb") as file:
            file.truncate(size)
            file.seek(size // 2)
            file.write(b"middle")
    store = new_store(tmp_path / "store")
    capture = store.capture(tree_at(tree), Watcher())
    assert capture.size_bytes < 20_000
    bring_back(store, capture.snapshot, tmp_path / "copy")
    assert picture(tmp_path / "copy") == picture(tree)
    for size in (500_000, 50_000_000):
        assert (tmp_path / "copy" / str(size)).stat().st_blocks * 512 < 100_000


def test_a_file_that_only_lost_its_holes_is_left_alone(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    with (tree / "file").open("wb") as file:
        file.truncate(100_000)
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    before = (tree / "file").stat()
    (tree / "file").write_bytes(bytes(100_000))
    os.utime(tree / "file", ns=(before.st_mtime_ns, before.st_mtime_ns))
    full = (tree / "file").stat()
    assert bring_back(store, snapshot, tree) == ()
    left = (tree / "file").stat()
    assert (left.st_ino, left.st_ctime_ns, left.st_blocks) == (full.st_ino, full.st_ctime_ns, full.st_blocks)


def test_where_a_system_does_not_know_holes_files_are_read_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = _tree(tmp_path)
    with (tree / "file").open("wb") as file:
        file.truncate(2_000_000)
    seek = os.lseek

    def lseek(fd: int, position: int, whence: int) -> int:
        if whence in (os.SEEK_DATA, os.SEEK_HOLE):
            raise OSError(22, "Invalid argument")
        return seek(fd, position, whence)

    monkeypatch.setattr(os, "lseek", lseek)
    store = new_store(tmp_path / "store")
    bring_back(store, take(store, tree), tmp_path / "copy")
    assert picture(tmp_path / "copy") == picture(tree)


def test_a_page_changed_in_a_large_file_costs_a_chunk(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    (tree / "base.db").write_bytes(random.Random(1).randbytes(20_000_001))
    store = new_store(tmp_path / "store")
    first = take(store, tree)
    with (tree / "base.db").open("r+b") as file:
        file.seek(7_000_000)
        file.write(b"page")
    second = store.capture(tree_at(tree), Watcher())
    assert second.size_bytes < 300_000
    wanted = picture(tree)
    bring_back(store, first, tree)
    bring_back(store, second.snapshot, tree)
    assert picture(tree) == wanted


def test_what_does_not_shrink_is_stored_as_it_is(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    (tree / "noise").write_bytes(random.Random(1).randbytes(900_000))
    (tree / "text").write_text("word " * 200_000)
    assert 900_000 < new_store(tmp_path / "store").capture(tree_at(tree), Watcher()).size_bytes < 902_000


def test_attributes_come_back_also_on_what_is_read_only(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        tree = _tree(home)
        (tree / "file").touch()
        (tree / "folder").mkdir()
        for path in (tree / "file", tree / "folder"):
            os.setxattr(path, "user.kept", b"1")
            path.chmod(0o500)
        wanted = picture(tree)
        store = new_store(home / "store")
        snapshot = take(store, tree)
        for path in (tree / "file", tree / "folder"):
            path.chmod(0o700)
            os.setxattr(path, "user.kept", b"2")
            os.setxattr(path, "user.added", b"3")
            path.chmod(0o500)
        assert bring_back(store, snapshot, tree) == restored("file", "folder")
        assert picture(tree) == wanted

    as_ordinary_user(tmp_path, check)


@pytest.mark.parametrize("missing", ["call", "filesystem"])
def test_where_there_are_no_attributes_none_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    tree = _tree(tmp_path)
    (tree / "file").touch()
    if missing == "call":
        monkeypatch.delattr(os, "listxattr")
    else:

        def refuse(fd: int) -> list[str]:
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(os, "listxattr", refuse)
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    monkeypatch.undo()
    assert take(new_store(tmp_path / "fresh"), tree).id == snapshot.id


def test_an_attribute_that_cannot_be_read_is_an_error_not_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mulligan.errors import SystemFailed

    tree = _tree(tmp_path)
    (tree / "file").touch()

    def fail(fd: int) -> list[str]:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "listxattr", fail)
    with pytest.raises(SystemFailed, match="Input/output error"):
        take(new_store(tmp_path / "store"), tree)


@pytest.fixture
def deep_home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    subprocess.run(["rm", "-rf", tmp_path], check=True)  # too deep for pytest's own tidying


def test_paths_of_any_length_and_depth(deep_home: Path) -> None:
    tmp_path = deep_home
    tree = _tree(tmp_path)
    fd = os.open(tree, os.O_RDONLY)
    for depth in range(850):
        name = f"{depth:04d}" + "n" * 20
        os.mkdir(name, dir_fd=fd)
        inner = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
        if depth in (600, 849):
            leaf = os.open("leaf", os.O_WRONLY | os.O_CREAT, dir_fd=fd)
            os.write(leaf, b"deep")
            os.close(leaf)
            last = fd
            if depth == 849:
                os.link("leaf", "linked", src_dir_fd=fd, dst_dir_fd=fd)
    store = new_store(tmp_path / "store")
    capture = store.capture(tree_at(tree), Watcher())
    assert capture.files == 3
    os.unlink("leaf", dir_fd=last)
    os.mkdir("leaf", dir_fd=last)
    os.close(fd)
    changes = bring_back(store, capture.snapshot, tree)
    assert len(changes) >= 1
    assert max(len(change.path) for change in changes) > 20_000
    assert take(store, tree) == capture.snapshot
    bring_back(store, capture.snapshot, tmp_path / "copy")
    assert take(store, tmp_path / "copy") == capture.snapshot
    other = new_store(tmp_path / "store")
    assert take(other, tree) == capture.snapshot
    assert store.verify([capture.snapshot], quick=False, observer=Watcher()) == {}
    (tree / "0000nnnnnnnnnnnnnnnnnnnn").rename(tree / "moved")
    assert len(bring_back(store, capture.snapshot, tree)) == 2 * 853


def test_a_folder_of_many_entries(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    for number in range(3000):
        (tree / f"{number}").write_text(str(number % 7))
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    (tree / "17").unlink()
    assert bring_back(store, snapshot, tree) == restored("17")
    assert take(new_store(tmp_path / "store"), tree) == snapshot


def test_times_far_away_come_back(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    far = 9_500_000_000_000_000_123  # in the year 2271: more nanoseconds than 63 bits hold
    for name, mtime in (("past", -5_000_000_001), ("far", far)):
        (tree / name).touch()
        os.utime(tree / name, ns=(mtime, mtime))
    wanted = picture(tree)
    assert wanted[b"./far"][3] == far
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    assert take(store, tree) == snapshot
    for name in ("past", "far"):
        (tree / name).write_text("changed")
    bring_back(store, snapshot, tree)
    assert picture(tree) == wanted
    assert take(store, tree) == snapshot


def test_modes_are_exactly_those_captured_whatever_the_umask(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    (tree / "open").mkdir()
    (tree / "open").chmod(0o777)
    (tree / "file").touch()
    (tree / "file").chmod(0o666)
    tree.chmod(0o775)
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    before = os.umask(0o077)
    try:
        bring_back(store, snapshot, tmp_path / "copy")
    finally:
        os.umask(before)
    assert picture(tmp_path / "copy") == picture(tree)


def test_the_store_is_for_its_owner_only(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    for number in range(70):
        (tree / str(number)).write_text(str(number))
    store = new_store(tmp_path / "store")
    take(store, tree)
    with store.hold():
        found = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "store").rglob("*")}
        found[tmp_path / "store"] = (tmp_path / "store").stat().st_mode & 0o777
        assert len(found) >= 7
        for path, mode in found.items():
            assert mode == (0o700 if path.is_dir() else 0o600), path


def test_an_ordinary_users_tree_comes_back_as_it_was(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        tree = _tree(home)
        (tree / "read-only" / "inner").mkdir(parents=True)
        (tree / "read-only" / "inner" / "file").write_text("x")
        (tree / "read-only" / "file").write_text("x")
        (tree / "read-only" / "file").chmod(0o400)
        (tree / "read-only" / "inner").chmod(0o500)
        (tree / "read-only").chmod(0o500)
        tree.chmod(0o500)
        wanted = picture(tree)
        store = new_store(home / "store")
        snapshot = take(store, tree)
        tree.chmod(0o700)
        (tree / "read-only").chmod(0o700)
        (tree / "read-only" / "inner").chmod(0o700)
        (tree / "read-only" / "inner" / "file").unlink()
        (tree / "read-only" / "file").unlink()
        (tree / "read-only" / "inner").chmod(0o500)
        (tree / "read-only" / "new" / "sub").mkdir(parents=True)
        (tree / "read-only" / "new" / "sub" / "file").touch()
        (tree / "read-only" / "new" / "sub").chmod(0o500)
        (tree / "read-only" / "new").chmod(0o500)
        (tree / "read-only").chmod(0o500)
        assert bring_back(store, snapshot, tree) == (
            *restored(".", "read-only/file", "read-only/inner/file"),
            *removed("read-only/new", "read-only/new/sub", "read-only/new/sub/file"),
        )
        assert picture(tree) == wanted

    as_ordinary_user(tmp_path, check)


def test_what_may_not_be_read_is_named_and_stays(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        tree = _tree(home)
        (tree / "secret").write_text("x")
        (tree / "closed").mkdir()
        (tree / "closed" / "file").touch()
        (tree / "listed").mkdir()
        (tree / "listed" / "file").touch()
        (tree / "fine").write_text("x")
        store = new_store(home / "store")
        whole = take(store, tree)
        (tree / "secret").chmod(0)
        (tree / "closed").chmod(0)
        (tree / "listed").chmod(0o400)
        for _ in range(2):
            capture = store.capture(tree_at(tree), Watcher())
            assert [each.path for each in capture.unheld] == ["closed", "listed", "secret"]
            assert {each.reason for each in capture.unheld} == {"it may not be read"}
            assert capture.files == 1
        (tree / "fine").unlink()
        assert bring_back(store, capture.snapshot, tree) == restored("fine")
        assert sorted(os.listdir(tree)) == ["closed", "fine", "listed", "secret"]
        with pytest.raises(RestoreFailed, match="may not be read") as caught:
            bring_back(store, whole, tree)
        assert "make it readable" in caught.value.next_step

    as_ordinary_user(tmp_path, check)


def test_a_folder_that_keeps_something_keeps_its_mode(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        tree = _tree(home)
        store = new_store(home / "store")
        snapshot = take(store, tree)
        (tree / "new").mkdir()
        (tree / "new" / "file").touch()
        os.mkfifo(tree / "new" / "pipe")
        (tree / "new").chmod(0o555)
        assert bring_back(store, snapshot, tree) == removed("new/file")
        assert os.listdir(tree / "new") == ["pipe"]
        assert (tree / "new").stat().st_mode & 0o777 == 0o555

    as_ordinary_user(tmp_path, check)
