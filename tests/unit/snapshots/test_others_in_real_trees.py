"""What others do to a user's folder right before single acts of a restore stops it, and stays."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mulligan.adapters.snapshots.restore import aside, real_tree
from mulligan.boundaries import watch
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.errors import FileInUse, RestoreFailed, SystemFailed, TreeChanged
from mulligan.ports import Replacement, WorkingTree
from tests.support.snapshot_world import Watcher, bring_back, new_store, picture, tree_at
from tests.unit.snapshots.test_saved_meanwhile import MINE, World, make_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path, tmp_path / "real")


@contextmanager
def before(
    name: str, meddle: Callable[[], object], *, when: Callable[[], bool] = lambda: True
) -> Iterator[None]:
    """Do something once, right before an act."""
    done: list[bool] = []

    def watcher(moment: str, act: str) -> None:
        if moment == "before" and act == name and not done and when():
            done.append(True)
            meddle()

    watch(watcher)
    try:
        yield
        assert done
    finally:
        watch(None)


def stopped(world: World) -> str:
    """Restore; return the paths at which that stops."""
    with pytest.raises(TreeChanged) as caught:
        world.restore()
    return str(caught.value.facts["paths"])


def test_a_folder_that_someone_makes_first_is_theirs(world: World) -> None:
    born = world.real / "born"
    with before("restore.make_folder", born.mkdir, when=lambda: not born.exists()):
        assert stopped(world) == str(born)
    assert list(born.iterdir()) == []


def test_a_folder_that_someone_uses_stays(world: World) -> None:
    mine = world.real / "folder" / "mine"
    emptied = lambda: mine.parent.is_dir() and not any(mine.parent.iterdir())  # noqa: E731  one condition
    with before("restore.remove", lambda: mine.write_bytes(MINE), when=emptied):
        assert stopped(world) == str(world.real / "folder")
    assert mine.read_bytes() == MINE


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_to_get_another_name_is_checked(world: World, replaced: bool) -> None:
    """What becomes `second` is the file that was just placed as `first`, or nothing."""

    def meddle() -> None:
        (world.real / "first").unlink()
        if replaced:
            (world.real / "first").write_bytes(MINE)

    with before("restore.link", meddle):
        assert stopped(world) == str(world.real / "second")
    assert not (world.real / "second").exists()
    assert (world.real / "first").exists() is replaced


def test_a_name_that_goes_before_the_exchange_is_not_made_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = aside.exchange

    def late(one_fd: int, one: str, other_fd: int, other: str) -> bool:
        if other == "changed":
            os.unlink(other, dir_fd=other_fd)
        return exchange(one_fd, one, other_fd, other)

    monkeypatch.setattr(aside, "exchange", late)
    assert stopped(world) == str(world.real / "changed")
    assert not (world.real / "changed").exists()


def test_a_name_that_goes_before_it_is_moved_out_is_reported(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def late(old: str, new: str, **how: Any) -> None:
        if old == "gone":
            os.unlink(old, dir_fd=how["src_dir_fd"])
        rename(old, new, **how)

    monkeypatch.setattr(os, "rename", late)
    assert stopped(world) == str(world.real / "gone")


def test_a_name_that_is_taken_between_two_moves_is_theirs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an exchange, what came out is kept beside what someone saved in between."""
    place = aside.Aside.place
    monkeypatch.setattr(aside, "exchange", lambda *_: False)

    def taken(self: aside.Aside, noted: aside.Noted, tree_fd: int, name: str) -> None:
        if name == "changed":
            (world.real / "changed").write_bytes(MINE)
        place(self, noted, tree_fd, name)

    monkeypatch.setattr(aside.Aside, "place", taken)
    stopped(world)
    assert (world.real / "changed").read_bytes() == MINE
    (kept,) = world.real.glob("changed.mulligan-kept-*")
    assert kept.read_text() == "present"


def test_a_file_of_which_the_bytes_differ_goes_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    store_file = real_tree.store_file

    def unreadable(name: str, *others: Any) -> object:
        if name.isdecimal() or name.endswith(".out"):
            raise OSError(errno.EIO, "it cannot be read")
        return store_file(name, *others)

    monkeypatch.setattr(real_tree, "store_file", unreadable)
    assert Path(stopped(world)).read_text() == "present"


def test_what_is_below_a_mount_point_is_exchanged_from_inside(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system refuses moves between two mounts of one filesystem, which have the same device."""

    def refused(way: str) -> None:
        do = getattr(aside.Aside, way)

        def instead(self: aside.Aside, noted: aside.Noted, *others: Any) -> None:
            if not noted.folder:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
            do(self, noted, *others)

        monkeypatch.setattr(aside.Aside, way, instead)

    for way in ("replace", "remove", "place"):
        refused(way)
    target = edited_target(world)
    world.store.restore(target, world.tree, Watcher(), world.known)
    assert (world.real / "changed").read_text() == "other"
    assert sorted(path.name for path in world.real.iterdir()) == ["changed", "folder", "kept", "made"]


def edited_target(world: World) -> Snapshot:
    """Return what `known` is with one file changed, one new, and some removed; the folder is as known again."""
    other = world.folder / "other"
    bring_back(world.store, world.known, other)
    (other / "changed").write_text("other")
    (other / "made").write_text("made")
    for name in ("first", "gone", "gone too", "was a link"):
        (other / name).unlink()
    return world.store.capture(tree_at(other), Watcher()).snapshot


def test_another_failure_of_a_move_is_the_failure(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(aside.Aside, "remove", full)
    with pytest.raises(Exception, match="No space left"):
        world.restore()


@pytest.mark.parametrize("fact", ["mode", "attributes"])
def test_facts_of_a_folder_that_both_change_stop_the_restore(tmp_path: Path, fact: str) -> None:
    real = tmp_path / "real"
    (real / "inner").mkdir(parents=True)
    (real / "inner" / "file").write_text("target")
    store, tree = new_store(tmp_path / "store"), replace(tree_at(real), real=True)
    target = store.capture(tree, Watcher()).snapshot
    (real / "inner" / "file").write_text("present")
    set_fact(real / "inner", fact, 0o750, b"present")
    known = store.capture(tree, Watcher()).snapshot

    class Setter(Watcher):
        def progress(self, what: str, done: int, total: int | None) -> None:
            if what == "folders filled":
                set_fact(real / "inner", fact, 0o705, b"mine")

    with pytest.raises(TreeChanged) as caught:
        store.restore(target, tree, Setter(), known)
    assert caught.value.facts["paths"] == str(real / "inner")


def set_fact(folder: Path, fact: str, mode: int, value: bytes) -> None:
    if fact == "mode":
        folder.chmod(mode)
    else:
        os.setxattr(folder, "user.said", value)


def test_a_name_that_stays_when_its_files_other_name_goes_is_linked_again(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "one").write_text("shared")
    os.link(real / "one", real / "two")
    store, tree = new_store(tmp_path / "store"), replace(tree_at(real), real=True)
    wanted, target = picture(real), store.capture(tree, Watcher()).snapshot
    times = real.stat()
    (real / "two").unlink()
    known = store.capture(tree, Watcher()).snapshot
    store.restore(target, tree, Watcher(), known)
    os.utime(real, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert picture(real) == wanted
    assert (real / "one").samefile(real / "two")


# --- folders that ignore upper and lower case --------------------------------------------------------------------


@pytest.fixture
def ignoring_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have names found in other letters too, as some filesystems do."""
    lstat = os.lstat

    def found(path: Any, *, dir_fd: int | None = None) -> os.stat_result:
        if dir_fd is not None:
            path = next((name for name in os.listdir(dir_fd) if name.casefold() == path.casefold()), path)
        return lstat(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "lstat", found)


@pytest.mark.parametrize("names", [("README", "readme"), ("Größe", "GRÖSSE"), ("Cafe\u0301", "CAFÉ")])
def test_two_names_that_are_one_there_are_refused_in_a_new_folder(
    tmp_path: Path, ignoring_case: None, names: tuple[str, str]
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in names:
        (tree / name).write_text(name)
    store = new_store(tmp_path / "store")
    snapshot = store.capture(tree_at(tree), Watcher()).snapshot
    with pytest.raises(RestoreFailed) as caught:
        bring_back(store, snapshot, tmp_path / "new")
    refused = {caught.value.facts["path"], caught.value.facts["other"]}
    assert refused == {str(tmp_path / "new" / name) for name in names}
    assert not (tmp_path / "new").exists()


def test_a_name_that_goes_makes_room_for_the_same_in_other_letters(
    tmp_path: Path, ignoring_case: None
) -> None:
    tree = tmp_path / "tree"
    (tree / "gone").mkdir(parents=True)
    (tree / "readme").write_text("target")
    (tree / "Gone").write_text("was a folder")
    store = new_store(tmp_path / "store")
    (tree / "gone").rename(tmp_path / "aside")
    snapshot = store.capture(tree_at(tree), Watcher()).snapshot
    (tree / "readme").rename(tree / "README")
    (tree / "Gone").unlink()
    (tmp_path / "aside").rename(tree / "gone")
    bring_back(store, snapshot, tree)
    assert sorted(os.listdir(tree)) == ["Gone", "readme"]


def test_a_file_of_the_user_in_other_letters_is_in_the_way(tmp_path: Path, ignoring_case: None) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "readme").write_text("target")
    store = new_store(tmp_path / "store")
    snapshot = store.capture(tree_at(tree), Watcher()).snapshot
    (tree / "readme").unlink()
    (tree / "README").write_text("mine")
    with pytest.raises(RestoreFailed) as caught:
        store.restore(snapshot, leaving_out(tree, "README"), Watcher())
    assert caught.value.facts["other"] == str(tree / "README")
    assert os.listdir(tree) == ["README"]


def leaving_out(path: Path, name: str) -> WorkingTree:
    return tree_at(path, name)


# --- single files --------------------------------------------------------------------------------------------------


@pytest.fixture
def single(tmp_path: Path) -> Callable[[], None]:
    """Return what replaces `data` and makes `data-new` in a user's folder."""
    real = tmp_path / "real"
    real.mkdir()
    (real / "data").write_text("present")
    store = new_store(tmp_path / "store")
    found = (real / "data").stat()

    def run() -> None:
        for name in ("data", "data-new"):
            (tmp_path / name).write_text("target")
        changes = (
            Replacement(name="data", new=tmp_path / "data", found=found),
            Replacement(name="data-new", new=tmp_path / "data-new", found=None),
        )
        store.replace_files(real, changes)

    return run


def test_single_files_are_replaced(single: Callable[[], None], tmp_path: Path) -> None:
    single()
    assert {path.name: path.read_text() for path in (tmp_path / "real").iterdir()} == {
        "data": "target",
        "data-new": "target",
    }


@pytest.mark.parametrize(("act", "name"), [("database.remove", "data"), ("database.place", "data-new")])
def test_what_someone_saves_under_a_single_name_stays(
    single: Callable[[], None], tmp_path: Path, act: str, name: str
) -> None:
    real = tmp_path / "real"
    with before(act, lambda: (real / name).write_bytes(MINE)), pytest.raises(TreeChanged) as caught:
        single()
    assert caught.value.facts["paths"] == str(real / name)
    assert (real / name).read_bytes() == MINE


def test_what_is_written_through_a_descriptor_of_a_single_file_goes_back(
    single: Callable[[], None], tmp_path: Path
) -> None:
    real = tmp_path / "real"
    opened: list[int] = []
    with (
        before("database.remove", lambda: opened.append(os.open(real / "data", os.O_WRONLY))),
        pytest.raises(TreeChanged) as caught,
    ):
        single()
    os.close(opened[0])
    assert Path(str(caught.value.facts["paths"])).read_text() == "present"


def test_a_single_file_that_is_open_for_writing_is_refused(
    single: Callable[[], None], tmp_path: Path
) -> None:
    with (tmp_path / "real" / "data").open("r+"), pytest.raises(FileInUse):
        single()


def test_a_new_single_file_may_be_on_another_filesystem(
    single: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def refused(old: Any, new: Any, **how: Any) -> None:
        if isinstance(old, Path) and old.parent == tmp_path:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        rename(old, new, **how)

    monkeypatch.setattr(os, "rename", refused)
    single()
    assert {path.name: path.read_text() for path in (tmp_path / "real").iterdir()} == {
        "data": "target",
        "data-new": "target",
    }


# --- what killed restores left ---------------------------------------------------------------------------------


def test_an_aside_that_a_recovery_takes_for_abandoned_is_made_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, made = os.open, list[Path]()

    def taken_away(path: Any, flags: int, mode: int = 0o777, **how: Any) -> int:
        if isinstance(path, Path) and path.name == aside.JOURNAL and flags & os.O_CREAT and not made:
            made.append(path.parent)
            path.parent.rmdir()
        return opened(path, flags, mode, **how)

    monkeypatch.setattr(os, "open", taken_away)
    world.restore()
    assert made
    assert picture(world.real) == world.wanted


def test_a_damaged_journal_is_reported_with_its_aside(world: World) -> None:
    place = world.folder / "store" / "asides" / "0123456789abcdef"
    place.mkdir(parents=True)
    (place / aside.JOURNAL).write_text("no line of ours\n")
    with pytest.raises(SystemFailed) as caught:
        world.restore()
    assert caught.value.facts["path"] == str(place)
    assert (world.real / "changed").read_text() == "present"


def test_asides_of_trees_that_are_gone_and_those_without_a_word_are_cleared(world: World) -> None:
    asides = world.folder / "store" / "asides"
    for name, text in (("empty", ""), ("cut off", '{"tree": "/no')):
        (asides / name).mkdir(parents=True)
        (asides / name / aside.JOURNAL).write_text(text)
    (asides / "without").mkdir()
    assert world.store.clear_leftovers([world.tree], dry_run=True).work_folders == 2
    assert world.store.clear_leftovers([world.tree], dry_run=False).work_folders == 2
    assert list(asides.iterdir()) == []
