"""What a watch sees, and every way in which it stops being relied on."""

import errno
import mmap
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulligan.adapters.snapshots import watch
from mulligan.adapters.snapshots.inotify import Inotify
from mulligan.adapters.snapshots.packs import PackFile
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.snapshot import Capture
from mulligan.errors import RestoreFailed, SystemFailed
from mulligan.ports import WorkingTree
from tests.ordinary_user import as_ordinary_user
from tests.snapshot_world import Watcher, age, new_store, picture, tree_at

_QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


class World:
    """A watched tree, and a way to look at it that proves each look by a scan that knows nothing."""

    def __init__(self, home: Path, *excluded: str, others_at_work: bool = False) -> None:
        self.home = home
        self.path = home / "tree"
        if not self.path.exists():
            (self.path / "sub" / "deep").mkdir(parents=True)
            (self.path / "sub" / "file").write_text("first")
            (self.path / "sub" / "deep" / "file").write_text("deep")
            (self.path / "top").write_text("top")
        self.tree: WorkingTree = tree_at(self.path, *excluded)
        self.store: PackedSnapshotStore = new_store(home / "store")
        self.watching = self.store.watch(self.tree, others_at_work=others_at_work)

    def look(self) -> str:
        """Capture; gives why all was scanned, or "" where the watch told what changed."""
        capture = self.store.capture(self.tree, Watcher())
        look = self.store.last_look
        assert look.watched == (look.reason == "")
        assert _essence(capture) == _essence(self.fresh())
        assert self.store.verify([capture.snapshot], quick=False, observer=Watcher()) == {}
        return look.reason

    def fresh(self) -> Capture:
        home = self.home / "fresh"
        shutil.rmtree(home, ignore_errors=True)
        return new_store(home).capture(self.tree, Watcher())


def _essence(capture: Capture) -> tuple[object, ...]:
    return capture.snapshot, capture.files, capture.unheld


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    with made.watching:
        assert made.look() == watch.FIRST_LOOK
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


def test_a_full_queue_is_followed_by_a_scan(world: World) -> None:
    for number in range(int(_QUEUE.read_text()) // 2 + 10):
        os.utime(
            world.path / "top", ns=(number, number)
        )  # two files in turn: equal events are only queued once
        os.utime(world.path / "sub", ns=(number, number))
    (world.path / "sub" / "file").write_text("lost in the crowd")
    assert world.look() == watch.OVERFLOW
    (world.path / "sub" / "file").write_text("seen again")
    assert world.look() == ""


def test_too_many_folders_are_scanned_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[int] = []

    def limited(self: Inotify, folder_fd: int) -> int:
        watched.append(folder_fd)
        if len(watched) > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return len(watched)

    monkeypatch.setattr(Inotify, "watch", limited)
    world = World(tmp_path)
    with world.watching:
        assert world.look() == watch.FIRST_LOOK
        (world.path / "sub" / "file").write_text("second")
        assert world.look().startswith(watch.TOO_MANY)
        assert world.look().startswith(watch.TOO_MANY)
    assert len(watched) == 3  # a limit of the system is not tried again and again


def test_one_folder_too_many_is_followed_by_a_scan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(self: Inotify, folder_fd: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Inotify, "watch", refusing)
    (world.path / "new").mkdir()
    (world.path / "new" / "file").write_text("x")
    assert world.look().startswith(watch.TOO_MANY)


def test_a_system_without_watches_is_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(self: Inotify) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Inotify, "__init__", refusing)
    world = World(tmp_path)
    with world.watching:
        assert world.look() == watch.FIRST_LOOK
        (world.path / "sub" / "file").write_text("second")
        assert world.look().startswith(watch.NO_WATCH)


def test_a_tree_that_was_moved_is_scanned(world: World) -> None:
    world.path.rename(world.home / "elsewhere")
    shutil.copytree(world.home / "elsewhere", world.path)
    (world.path / "top").write_text("in the copy")
    assert world.look() == watch.LOST_TREE
    (world.path / "top").write_text("seen again")
    assert world.look() == ""


def test_a_tree_whose_surroundings_were_moved_is_scanned(tmp_path: Path) -> None:
    world = World(tmp_path / "around")
    with world.watching:
        world.look()
        (tmp_path / "around").rename(tmp_path / "elsewhere")
        shutil.copytree(tmp_path / "elsewhere", tmp_path / "around")
        (world.path / "top").write_text("in the copy")
        assert world.look() == watch.LOST_TREE


def test_a_tree_that_went_cannot_be_captured_until_it_is_back(world: World) -> None:
    snapshot = world.store.capture(world.tree, Watcher()).snapshot
    shutil.rmtree(world.path)
    with pytest.raises(SystemFailed, match="no such folder"):
        world.store.capture(world.tree, Watcher())
    world.store.restore(snapshot, world.tree, Watcher())
    world.look()
    (world.path / "top").write_text("seen")
    assert world.look() == ""


def test_a_new_process_scans(world: World) -> None:
    later = World(world.home)
    with later.watching:
        assert later.look() == watch.FIRST_LOOK


def test_a_tree_that_is_watched_no_more_is_scanned(world: World) -> None:
    later = World(world.home)
    with later.watching:
        later.look()
    (later.path / "top").write_text("unseen")
    assert later.look() != ""


@pytest.mark.parametrize("how", ["removed", "moved over", "made again", "moved out"])
def test_a_name_that_came_and_went_may_have_been_another_name_of_a_file(world: World, how: str) -> None:
    alias = world.path / "alias"
    os.link(world.path / "sub" / "file", alias)
    alias.write_text("written through it")
    if how == "moved over":
        (world.path / "top").replace(alias)
    elif how == "moved out":
        alias.rename(world.home / "outside")
        (world.home / "outside").unlink()
    else:
        alias.unlink()
    if how == "made again":
        alias.write_text("another")
    assert world.look() == watch.UNSEEN_NAME


def test_a_file_that_was_removed_but_is_still_written_may_have_another_name(world: World) -> None:
    os.link(world.path / "sub" / "file", world.path / "alias")
    assert world.look() == ""
    with (world.path / "alias").open("a") as opened:
        (world.path / "alias").unlink()
        assert world.look() == ""
        opened.write("after it was looked at")
    assert world.look() == watch.UNSEEN_NAME


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


def test_a_capture_that_failed_is_followed_by_a_scan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (world.path / "sub" / "file").write_text("must not be lost")
    with monkeypatch.context() as patch:

        def full(self: PackFile) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        patch.setattr(PackFile, "finish", full)
        with pytest.raises(SystemFailed, match="No space"):
            world.store.capture(world.tree, Watcher())
    assert world.look() == watch.CUT_OFF
    assert world.look() == ""


def test_a_restore_that_failed_is_followed_by_a_scan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = world.store.capture(world.tree, Watcher()).snapshot
    (world.path / "top").write_text("changed")
    (world.path / "sub" / "file").write_text("changed")
    with monkeypatch.context() as patch:
        renaming = os.rename

        def once(*args: object, **more: object) -> None:
            patch.undo()
            raise OSError(errno.EIO, "Input/output error")

        patch.setattr(os, "rename", once)
        with pytest.raises(RestoreFailed):
            world.store.restore(snapshot, world.tree, Watcher())
        assert os.rename is renaming
    assert world.look() == watch.CUT_OFF


def test_what_was_swept_from_the_store_is_read_again(world: World) -> None:
    for pack in (world.home / "store" / "packs").iterdir():
        pack.unlink()
    assert world.look() == watch.NOT_IN_STORE
    assert world.look() == ""


def test_a_look_that_leaves_out_other_paths_is_not_the_watchs(world: World) -> None:
    other = tree_at(world.path, "sub/deep")
    assert world.store.capture(other, Watcher()).files == 2
    assert not world.store.last_look.watched
    assert world.look() == watch.NOT_IN_STORE
    assert world.look() == ""


def test_a_watch_inside_another_leaves_that_as_it_was(world: World) -> None:
    with world.store.watch(world.tree, others_at_work=False):
        assert world.look() == watch.FIRST_LOOK
    (world.path / "top").write_text("changed")
    world.look()
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
