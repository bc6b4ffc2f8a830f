"""What a watch sees, and what it reads for it."""

import mmap
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.scan import Exclusions, Gone, Scan
from mulligan.adapters.snapshots.watch import tree_watch as watch
from tests.support.ordinary_user import as_ordinary_user
from tests.support.snapshot_world import Watcher, age, new_store, picture, tree_at
from tests.support.watched_world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    with made.watching:
        assert made.look() == watch.FIRST_LOOK
        age(made.path)  # else all would be read again for its youth, whatever the watch saw
        assert made.look() == ""
        yield made


def _happen(path: Path, what: str) -> None:
    file, folder = path / "sub" / "file", path / "sub"
    match what:
        case "nothing":
            pass
        case "write":
            file.write_text("second")
        case "append":
            with file.open("a") as opened:
                opened.write("more")
        case "truncate":
            os.truncate(file, 2)
        case "same size and mtime":
            before = file.stat().st_mtime_ns
            file.write_text("FIRST")
            os.utime(file, ns=(before, before))
        case "chmod":
            file.chmod(0o640)
        case "mtime":
            os.utime(file, ns=(5, 5))
        case "attribute":
            os.setxattr(file, "user.test", b"1")
        case "attribute of a folder":
            os.setxattr(folder, "user.test", b"1")
        case "mode of a folder":
            folder.chmod(0o711)
        case "mode of the tree":
            path.chmod(0o711)
        case "create":
            (folder / "new").write_text("new")
        case "remove":
            file.unlink()
        case "rename":
            file.rename(path / "renamed")
        case "saved as editors do":
            (folder / "file.tmp").write_text("saved")
            (folder / "file.tmp").replace(file)
        case "new folders":
            (folder / "a" / "b").mkdir(parents=True)
            (folder / "a" / "b" / "c").write_text("c")
        case "moved folder":
            (folder / "deep").rename(path / "moved")
            (path / "moved" / "file").write_text("written where it is now")
        case "folder there and back":
            (folder / "deep").rename(path / "away")
            (path / "away" / "file").write_text("written while it was away")
            (path / "away").rename(folder / "deep")
        case "folder moved in":
            (path.parent / "outside" / "inner").mkdir(parents=True)
            (path.parent / "outside" / "inner" / "file").write_text("x")
            (path.parent / "outside").rename(path / "came")
        case "folder moved out":
            folder.rename(path.parent / "out")
        case "folder removed":
            shutil.rmtree(folder)
        case "folder removed and made again":
            shutil.rmtree(folder / "deep")
            (folder / "deep").mkdir()
            (folder / "deep" / "file").write_text("another")
        case "file becomes a folder":
            file.unlink()
            file.mkdir()
            (file / "inner").touch()
        case "folder becomes a file":
            shutil.rmtree(folder / "deep")
            (folder / "deep").write_text("file")
        case "folder becomes a link":
            shutil.rmtree(folder / "deep")
            (folder / "deep").symlink_to("..")
        case "symlink":
            (path / "link").symlink_to("sub")
        case "fifo":
            os.mkfifo(folder / "pipe")
        case "link":
            os.link(file, path / "other name")
        case "map":
            with file.open("r+b") as opened:
                mapped = mmap.mmap(opened.fileno(), 0)
            mapped[0] = ord("F")
            mapped.close()
        case _:
            raise AssertionError(what)


_SEEN = [
    *["nothing", "write", "append", "truncate", "same size and mtime", "chmod", "mtime", "attribute"],
    *["attribute of a folder", "mode of a folder", "mode of the tree", "create", "remove", "rename"],
    *["saved as editors do", "new folders", "moved folder", "folder there and back", "folder moved in"],
    *["folder moved out", "folder removed", "folder removed and made again", "file becomes a folder"],
    *["folder becomes a file", "folder becomes a link", "symlink", "fifo", "link", "map"],
]


@pytest.mark.parametrize("what", _SEEN)
def test_a_watch_sees(world: World, what: str) -> None:
    _happen(world.path, what)
    assert world.look() == ""
    assert world.look() == ""
    (world.path / "sub2" / "deep2").mkdir(parents=True)  # and goes on seeing, in new folders too
    assert world.look() == ""
    (world.path / "sub2" / "deep2" / "file").write_text("later")
    assert world.look() == ""


@pytest.mark.parametrize("what", _SEEN)
def test_a_restore_under_a_watch_needs_no_scan_and_is_seen(world: World, what: str) -> None:
    snapshot = world.store.capture(world.tree, Watcher()).snapshot
    wanted = picture(world.path)
    _happen(world.path, what)
    planned = world.store.compare(snapshot, world.tree)
    assert world.store.last_look.watched
    if what == "fifo":
        (world.path / "sub" / "pipe").unlink()
    assert world.store.restore(snapshot, world.tree, Watcher()) == planned
    assert world.store.last_look.watched
    assert picture(world.path) == wanted
    assert world.look() == ""
    (world.path / "sub" / "deep" / "file").write_text("after")
    assert world.look() == ""


def test_nothing_is_opened_where_nothing_changed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    age(world.path)
    world.look()
    (world.path / "top").write_text("changed")
    opened: list[str] = []
    opening = os.open

    def counting(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None and not flags & os.O_CREAT:
            opened.append(path)
        return opening(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", counting)
    world.store.capture(world.tree, Watcher())
    assert sorted(set(opened)) == ["top", "tree"]
    age(world.path)
    world.store.capture(world.tree, Watcher())  # it was too young to be trusted
    opened.clear()
    capture = world.store.capture(world.tree, Watcher())
    assert opened == []
    assert capture.size_bytes == 0


@pytest.mark.parametrize("walker", ["in Python"], indirect=True)  # what it interrupts is Python
def test_a_tree_that_changes_while_it_is_looked_at_is_looked_at_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.path / "new" / "deep").mkdir(parents=True)
    (world.path / "other").mkdir()
    (world.path / "sub" / "file").write_text("second")
    listing, listed = Scan.list_folder, list[str]()

    def interrupted(self: Scan, folder: Folder, excluded: Exclusions) -> None:
        listing(self, folder, excluded)
        listed.append(folder.name)
        if listed.count("deep") == 1 and folder.name == "deep":
            (world.path / "new").rename(world.path / "newer")
            raise Gone("new")

    monkeypatch.setattr(Scan, "list_folder", interrupted)
    world.store.capture(world.tree, Watcher())
    assert world.store.last_look.watched
    assert listed.count("deep") == 2
    assert world.look() == ""
    for folder in ("newer/deep", "other", "sub"):
        (world.path / folder / "later").write_text("x")
        assert world.look() == ""


def test_what_a_comparison_read_is_stored_by_the_next_capture(world: World) -> None:
    snapshot = world.store.capture(world.tree, Watcher()).snapshot
    (world.path / "sub" / "file").write_text("only compared so far")
    (world.path / "new" / "deep").mkdir(parents=True)
    (world.path / "new" / "deep" / "file").write_text("only compared so far, too")
    (world.path / "sub" / "deep" / "file").unlink()
    world.store.compare(snapshot, world.tree)
    assert world.look() == ""


def test_a_scan_after_a_comparison_stores_what_that_read(world: World) -> None:
    snapshot = world.store.capture(world.tree, Watcher()).snapshot
    (world.path / "sub" / "file").write_text("only compared so far")
    (world.path / "sub" / "deep" / "file").unlink()
    world.store.compare(snapshot, world.tree)
    world.path.rename(world.home / "elsewhere")
    (world.home / "elsewhere").rename(world.path)
    assert world.look() == watch.LOST_TREE


def test_a_file_with_several_links_is_looked_at_though_nothing_happened_to_its_name(world: World) -> None:
    outside = world.home / "outside"
    outside.write_text("linked")
    os.link(outside, world.path / "sub" / "inside")
    assert world.look() == ""
    age(world.path)
    assert world.look() == ""
    outside.write_text("written from outside")
    assert world.look() == ""
    assert (world.path / "sub" / "inside").read_text() == "written from outside"


def test_names_of_one_file_are_found_and_let_go(world: World) -> None:
    os.link(world.path / "sub" / "deep" / "file", world.path / "a name")
    assert world.look() == ""
    os.link(world.path / "a name", world.path / "sub" / "third")
    assert world.look() == ""
    (world.path / "a name").unlink()
    assert world.look() == ""
    (world.path / "sub" / "third").unlink()
    assert world.look() == ""


def test_excluded_paths_and_the_project_home_are_not_looked_at(tmp_path: Path) -> None:
    world = World(tmp_path, "sub/app.db", "sub/deep/none")
    with world.watching:
        world.look()
        (world.path / "sub" / "app.db").write_text("1")
        (world.path / ".mulligan").mkdir()
        (world.path / ".mulligan" / "db").write_text("1")
        assert world.look() == ""
        snapshot = world.store.capture(world.tree, Watcher()).snapshot
        (world.path / "sub" / "app.db-journal").write_text("held")
        (world.path / "sub" / "app.db").unlink()
        (world.path / "sub" / "app.db").write_text("2")
        assert world.look() == ""
        world.store.restore(snapshot, world.tree, Watcher())
        assert (world.path / "sub" / "app.db").read_text() == "2"
        assert (world.path / ".mulligan" / "db").exists()
        (world.path / "sub" / "app.db").unlink()
        assert world.look() == ""


_MAPPING = """
import mmap, sys
with open(sys.argv[1], "r+b") as file:
    mapped = mmap.mmap(file.fileno(), 0)
for line in sys.stdin:
    mapped[0:1] = line[0].encode()
    print("done", flush=True)
"""


def test_what_others_have_mapped_to_write_is_read_every_time(tmp_path: Path) -> None:
    """A write to a page that is dirty already raises no event and changes no timestamp."""
    world = World(tmp_path, others_at_work=True)
    file = world.path / "sub" / "file"
    os.link(world.path / "top", tmp_path / "outside")
    command = [sys.executable, "-c", _MAPPING]
    with world.watching:
        for mapped in (file, tmp_path / "outside"):
            with subprocess.Popen(
                [*command, str(mapped)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            ) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                for letter in "abcdef":
                    process.stdin.write(f"{letter}\n")
                    process.stdin.flush()
                    process.stdout.readline()
                    world.look()
                    assert mapped.read_text()[0] == letter
                process.stdin.close()


def test_an_ordinary_user_meets_folders_that_cannot_be_entered(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        world = World(home)
        with world.watching:
            world.look()
            for mode in (0o000, 0o400, 0o755, 0o500):
                (world.path / "sub").chmod(mode)
                assert world.look() == ""
            (world.path / "sub" / "deep" / "file").chmod(0)
            assert world.look() == ""
            (world.path / "sub" / "deep" / "file").chmod(0o644)
            assert world.look() == ""

    as_ordinary_user(tmp_path, check)


def test_a_file_that_a_restore_brought_may_go_again(world: World) -> None:
    snapshot = world.store.capture(world.tree, Watcher()).snapshot
    for _ in range(3):
        (world.path / "sub" / "file").unlink()
        (world.path / "new").write_text("later")
        world.store.restore(snapshot, world.tree, Watcher())
        assert world.store.last_look.watched
    assert world.look() == ""


def test_names_of_one_file_stay_together_when_a_restore_lists_the_folder_of_one(tmp_path: Path) -> None:
    tree = replace(tree_at(tmp_path / "tree"), real=False)
    for name in ("a", "b/c"):
        (tree.path / name).mkdir(parents=True)
    (tree.path / "a" / "one").write_text("one file")
    os.link(tree.path / "a" / "one", tree.path / "b" / "other")
    (tree.path / "b" / "c" / "gone").write_text("x")
    store = new_store(tmp_path / "store")
    with store.watch(tree, others_at_work=False):
        first = store.capture(tree, Watcher()).snapshot
        (tree.path / "b" / "c" / "gone").unlink()
        store.restore(first, tree, Watcher())
        again = store.capture(tree, Watcher()).snapshot
        assert store.last_look.watched
    assert again == first
