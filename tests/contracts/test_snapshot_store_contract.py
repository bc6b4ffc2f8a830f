"""What every snapshot store promises, whatever it keeps its bytes in."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.domain.checkpoints.snapshot import ObjectId, Snapshot
from mulligan.domain.trees.tree_difference import StoredContent
from mulligan.errors import RestoreFailed, SnapshotDamaged, SystemFailed
from mulligan.ports import SnapshotStore, WorkingTree
from tests.support.raised import raises
from tests.support.snapshot_world import Watcher, new_store, picture, removed, restored, tree_at


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "src" / "deep").mkdir(parents=True)
    (path / "empty").mkdir()
    (path / "README").write_text("hello\n")
    (path / "src" / "main.py").write_text("print()\n")
    (path / "src" / "deep" / "data").write_bytes(bytes(range(256)) * 100)
    (path / "link").symlink_to("src")
    return path


def _capture(store: SnapshotStore, path: Path, *excluded: str) -> Snapshot:
    return store.capture(tree_at(path, *excluded), Watcher()).snapshot


def test_a_capture_names_what_it_stored(store: SnapshotStore, tree: Path) -> None:
    capture = store.capture(tree_at(tree), Watcher())
    assert capture.files == 4
    assert capture.size_bytes > 0
    assert capture.unheld == ()


def test_a_capture_of_nothing_new_adds_nothing(store: SnapshotStore, tree: Path) -> None:
    first = store.capture(tree_at(tree), Watcher())
    second = store.capture(tree_at(tree), Watcher())
    assert (second.snapshot, second.size_bytes, second.files) == (first.snapshot, 0, first.files)


def test_equal_trees_have_equal_ids_wherever_they_are(
    store: SnapshotStore, tree: Path, tmp_path: Path
) -> None:
    snapshot = _capture(store, tree)
    store.restore(snapshot, tree_at(tmp_path / "a" / "b"), Watcher())
    os.utime(tmp_path / "a" / "b" / "README", ns=(1, 1))
    copy = _capture(store, tmp_path / "a" / "b")
    assert copy.id == snapshot.id
    assert copy != snapshot  # mtimes are kept beside the identity


@pytest.mark.parametrize("change", ["content", "name", "mode", "kind", "target", "folder"])
def test_different_trees_have_different_ids(store: SnapshotStore, tree: Path, change: str) -> None:
    before = _capture(store, tree)
    match change:
        case "content":
            (tree / "README").write_text("Hello\n")
        case "name":
            (tree / "README").rename(tree / "README.md")
        case "mode":
            (tree / "README").chmod(0o600)
        case "kind":
            (tree / "empty").rmdir()
            (tree / "empty").touch()
        case "target":
            (tree / "link").unlink()
            (tree / "link").symlink_to("elsewhere")
        case _:
            (tree / "more").mkdir()
    assert _capture(store, tree).id != before.id


def test_a_restore_says_what_it_did_and_a_comparison_says_it_before(store: SnapshotStore, tree: Path) -> None:
    wanted = picture(tree)
    snapshot = _capture(store, tree)
    (tree / "README").write_text("changed")
    (tree / "src" / "main.py").unlink()
    (tree / "new" / "folder").mkdir(parents=True)
    (tree / "new" / "folder" / "file").touch()
    expected = (
        *restored("README"),
        *removed("new", "new/folder", "new/folder/file"),
        *restored("src/main.py"),
    )
    assert store.compare(snapshot, tree_at(tree)) == expected
    assert (tree / "new" / "folder" / "file").exists()
    assert store.restore(snapshot, tree_at(tree), Watcher()) == expected
    assert picture(tree) == wanted
    assert store.restore(snapshot, tree_at(tree), Watcher()) == ()


def test_mtimes_come_back_without_a_word(store: SnapshotStore, tree: Path) -> None:
    wanted = picture(tree)
    snapshot = _capture(store, tree)
    for path in (tree / "README", tree / "src", tree):
        os.utime(path, ns=(5, 5))
    os.utime(tree / "link", ns=(5, 5), follow_symlinks=False)
    assert store.restore(snapshot, tree_at(tree), Watcher()) == ()
    assert picture(tree) == wanted


def test_the_trees_own_mode_comes_back(store: SnapshotStore, tree: Path) -> None:
    snapshot = _capture(store, tree)
    mode = tree.stat().st_mode
    tree.chmod(0o711)
    assert store.restore(snapshot, tree_at(tree), Watcher()) == restored(".")
    assert tree.stat().st_mode == mode


def test_untouched_files_keep_their_inode(store: SnapshotStore, tree: Path) -> None:
    snapshot = _capture(store, tree)
    main = (tree / "src" / "main.py").stat()
    readme = (tree / "README").stat()
    (tree / "README").chmod(0o600)
    (tree / "src" / "other").touch()
    store.restore(snapshot, tree_at(tree), Watcher())
    assert (tree / "src" / "main.py").stat() == main
    assert (tree / "README").stat().st_ino == readme.st_ino


def test_kinds_change_back(store: SnapshotStore, tree: Path) -> None:
    wanted = picture(tree)
    snapshot = _capture(store, tree)
    (tree / "README").unlink()
    (tree / "README").mkdir()
    (tree / "README" / "inner").touch()
    (tree / "link").unlink()
    (tree / "link").write_text("no link")
    (tree / "empty").rmdir()
    (tree / "empty").symlink_to("/etc")
    changes = store.restore(snapshot, tree_at(tree), Watcher())
    assert changes == (*restored("README"), *removed("README/inner"), *restored("empty", "link"))
    assert picture(tree) == wanted


def test_what_cannot_be_held_is_named_and_stays(store: SnapshotStore, tree: Path) -> None:
    os.mkfifo(tree / "src" / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(tree / "sock"))
    capture = store.capture(tree_at(tree), Watcher())
    assert [(each.path, each.reason) for each in capture.unheld] == [
        ("sock", "it is a socket"),
        ("src/pipe", "it is a fifo"),
    ]
    (tree / "added").mkdir()
    os.mkfifo(tree / "added" / "pipe")
    (tree / "added" / "file").touch()
    assert store.restore(capture.snapshot, tree_at(tree), Watcher()) == removed("added/file")
    assert (tree / "added" / "pipe").is_fifo()
    assert (tree / "src" / "pipe").is_fifo()


def test_where_something_unheld_was_a_restore_leaves_what_is_there_now(
    store: SnapshotStore, tree: Path
) -> None:
    os.mkfifo(tree / "src" / "pipe")
    snapshot = _capture(store, tree)
    (tree / "src" / "pipe").unlink()
    without = _capture(store, tree)
    (tree / "src" / "pipe").write_text("precious")
    (tree / "README").write_text("changed")
    assert store.compare(snapshot, tree_at(tree)) == restored("README")
    assert store.restore(snapshot, tree_at(tree), Watcher()) == restored("README")
    assert (tree / "src" / "pipe").read_text() == "precious"
    assert store.verify([snapshot], quick=False, observer=Watcher()) == {}
    (tree / "src" / "pipe").unlink()
    assert _capture(store, tree).id == without.id
    assert snapshot.id != without.id
    assert store.difference(snapshot.roots[0], without.roots[0]) == ()


@pytest.mark.parametrize("place", ["README", "src"])
def test_a_place_that_something_unheld_keeps_is_refused_with_nothing_touched(
    store: SnapshotStore, tree: Path, place: str
) -> None:
    snapshot = _capture(store, tree)
    (tree / place).rename(tree / "moved")
    os.mkfifo(tree / place)
    before = picture(tree)
    with pytest.raises(RestoreFailed, match=place):
        store.compare(snapshot, tree_at(tree))
    with pytest.raises(RestoreFailed, match=place):
        store.restore(snapshot, tree_at(tree), Watcher())
    assert picture(tree) == before


def test_a_folder_with_something_unheld_gives_no_place_to_a_file(store: SnapshotStore, tree: Path) -> None:
    snapshot = _capture(store, tree)
    (tree / "README").unlink()
    (tree / "README" / "deep").mkdir(parents=True)
    os.mkfifo(tree / "README" / "deep" / "pipe")
    with pytest.raises(RestoreFailed, match="README"):
        store.restore(snapshot, tree_at(tree), Watcher())
    assert (tree / "README" / "deep" / "pipe").is_fifo()


def test_the_project_home_and_excluded_paths_are_never_touched(store: SnapshotStore, tree: Path) -> None:
    (tree / ".mulligan").mkdir()
    (tree / ".mulligan" / "db").write_text("1")
    (tree / "src" / ".mulligan").write_text("a file of that name too")
    (tree / "src" / "app.db").write_text("1")
    excluded = ("src/app.db", "src/app.db/below", "src/app.db-wal")
    capture = store.capture(tree_at(tree, *excluded), Watcher())
    assert (capture.files, capture.unheld) == (4, ())
    (tree / ".mulligan" / "db").write_text("2")
    (tree / "src" / "app.db").write_text("2")
    (tree / "src" / "app.db-wal").write_text("2")
    assert store.restore(capture.snapshot, tree_at(tree, *excluded), Watcher()) == ()
    assert (tree / ".mulligan" / "db").read_text() == "2"
    assert (tree / "src" / "app.db-wal").read_text() == "2"
    assert (tree / "src" / ".mulligan").exists()
    whole = _capture(store, tree)
    (tree / "src" / "app.db").write_text("3")
    store.restore(whole, tree_at(tree, *excluded), Watcher())
    assert (tree / "src" / "app.db").read_text() == "3"


PATTERNS = ("*.log", "/build/", "**/cache/*", "!keep.log")


def excluding(tree: Path) -> WorkingTree:
    return tree_at(tree, patterns=PATTERNS)


def fill_excluded(tree: Path, text: str) -> dict[str, str]:
    paths = ["x.log", "src/y.log", "build/deep/z", "src/cache/a", "src/cache/b/c"]
    for path in paths:
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    return dict.fromkeys(paths, text)


def test_what_patterns_match_is_never_touched(store: SnapshotStore, tree: Path) -> None:
    (tree / "src" / "cache").mkdir()
    (tree / "keep.log").write_text("kept")
    before = store.capture(excluding(tree), Watcher())
    excluded = fill_excluded(tree, "1")
    capture = store.capture(excluding(tree), Watcher())
    assert (capture.snapshot.id, capture.files, capture.unheld) == (before.snapshot.id, 5, ())
    assert store.matched(excluding(tree)) == ("build", "src/cache/a", "src/cache/b", "src/y.log", "x.log")
    assert store.survey(excluding(tree), Watcher()).files == 5
    excluded |= fill_excluded(tree, "22")
    (tree / "keep.log").write_text("changed")
    (tree / "new").mkdir()
    (tree / "new" / "n.log").write_text("n")
    (tree / "new" / "held").write_text("h")
    expected = (*restored("keep.log"), *removed("new/held"))
    assert store.compare(before.snapshot, excluding(tree)) == expected
    assert store.restore(before.snapshot, excluding(tree), Watcher()) == expected
    assert {path: (tree / path).read_text() for path in excluded} == excluded
    assert ((tree / "keep.log").read_text(), (tree / "new" / "n.log").read_text()) == ("kept", "n")
    assert not (tree / "new" / "held").exists()
    (tree / "new" / "n.log").unlink()
    assert store.restore(before.snapshot, excluding(tree), Watcher()) == removed("new")


def test_an_excluded_folder_in_the_place_of_a_file_is_refused(store: SnapshotStore, tree: Path) -> None:
    (tree / "build").write_text("a file of that name is held")
    before = store.capture(excluding(tree), Watcher())
    (tree / "build").unlink()
    assert store.compare(before.snapshot, excluding(tree)) == restored("build")
    (tree / "build").mkdir()
    (tree / "build" / "inside").write_text("1")
    assert store.capture(excluding(tree), Watcher()).files == before.files - 1
    with raises(RestoreFailed, path="build"):
        store.restore(before.snapshot, excluding(tree), Watcher())
    assert (tree / "build" / "inside").read_text() == "1"
    (tree / "build" / "inside").unlink()
    (tree / "build").rmdir()
    assert store.restore(before.snapshot, excluding(tree), Watcher()) == restored("build")


def test_patterns_do_not_reach_into_git_directories(store: SnapshotStore, tree: Path) -> None:
    (tree / "inner" / ".git" / "cache").mkdir(parents=True)
    (tree / "inner" / ".git" / "cache" / "x.log").write_text("1")
    assert store.capture(excluding(tree), Watcher()).files == 5
    assert store.matched(excluding(tree)) == ()


def test_a_tree_is_known_by_the_next_process_with_its_patterns(
    make_store: Callable[[], SnapshotStore], tree: Path
) -> None:
    for number in range(100):
        (tree / f"{number}").write_text(f"{number}")
    fill_excluded(tree, "1")
    first = make_store().capture(excluding(tree), Watcher())
    again = make_store().capture(excluding(tree), Watcher())
    assert (again.snapshot, again.files) == (first.snapshot, first.files)
    fill_excluded(tree, "22")
    (tree / "src" / "y.log").unlink()
    (tree / "5").unlink()
    assert make_store().capture(excluding(tree), Watcher()).files == first.files - 1


def test_a_missing_folder_is_made(store: SnapshotStore, tree: Path, tmp_path: Path) -> None:
    snapshot = _capture(store, tree)
    changes = store.restore(snapshot, tree_at(tmp_path / "x" / "y"), Watcher())
    assert restored(".", "README", "empty") == changes[:3]
    assert picture(tmp_path / "x" / "y") == picture(tree)


def test_a_missing_tree_cannot_be_captured(store: SnapshotStore, tmp_path: Path) -> None:
    with pytest.raises(SystemFailed, match="no such folder"):
        _capture(store, tmp_path / "nothing")


def test_a_file_is_no_tree(store: SnapshotStore, tree: Path) -> None:
    with pytest.raises(SystemFailed, match="not a folder"):
        _capture(store, tree / "README")
    snapshot = _capture(store, tree)
    with raises(SystemFailed, path="."):
        store.restore(snapshot, tree_at(tree / "README"), Watcher())


def test_snapshots_outlive_the_process(make_store: Callable[[], SnapshotStore], tree: Path) -> None:
    wanted = picture(tree)
    snapshot = _capture(make_store(), tree)
    (tree / "README").write_text("changed")
    make_store().restore(snapshot, tree_at(tree), Watcher())
    assert picture(tree) == wanted


def test_one_process_sees_what_another_stores(make_store: Callable[[], SnapshotStore], tree: Path) -> None:
    one, other = make_store(), make_store()
    first = _capture(one, tree)
    _capture(other, tree)
    (tree / "README").write_text("changed")
    second = _capture(other, tree)
    assert one.verify([first, second], quick=False, observer=Watcher()) == {}
    assert one.restore(second, tree_at(tree), Watcher()) == ()


def test_a_snapshot_that_was_never_stored_is_damaged(store: SnapshotStore, tree: Path) -> None:
    _capture(store, tree)
    for text in (f"{'00' * 32}@{'11' * 32}", "no@address"):
        unknown = Snapshot.from_text(text)
        with pytest.raises(SnapshotDamaged):
            store.restore(unknown, tree_at(tree), Watcher())
        assert list(store.verify([unknown], quick=False, observer=Watcher())) == [unknown]
        assert list(store.verify([unknown], quick=True, observer=Watcher())) == [unknown]


def test_a_survey_counts_what_a_capture_would_hold(store: SnapshotStore, tree: Path) -> None:
    (tree / ".mulligan").mkdir()
    (tree / ".mulligan" / "big").write_bytes(bytes(1000))
    survey = store.survey(tree_at(tree), Watcher())
    assert (survey.files, survey.size_bytes) == (4, 6 + 8 + 25600)


def test_a_forgotten_tree_is_read_anew(store: SnapshotStore, tree: Path) -> None:
    snapshot = _capture(store, tree)
    store.forget_tree(tree_at(tree))
    store.forget_tree(tree_at(tree))
    assert _capture(store, tree) == snapshot


def test_the_paths_in_which_two_snapshots_differ_are_named(store: SnapshotStore, tree: Path) -> None:
    before = _capture(store, tree)
    (tree / "README").write_text("changed\n")
    (tree / "src" / "main.py").chmod(0o755)
    (tree / "src" / "deep" / "data").unlink()
    (tree / "src" / "deep").rmdir()
    (tree / "src" / "deep").write_text("a file now")
    (tree / "new").mkdir()
    (tree / "new" / "file").write_text("")
    (tree / "new" / "empty").mkdir()
    os.utime(tree / "link", ns=(1, 1), follow_symlinks=False)
    after = _capture(store, tree)
    changed = ["README", "new", "new/empty", "new/file", "src/deep", "src/deep/data", "src/main.py"]
    there = store.difference(before.roots[0], after.roots[0])
    back = store.difference(after.roots[0], before.roots[0])
    assert [d.path for d in there] == changed
    assert [d.path for d in there if d.of_files] == [p for p in changed if p not in ("new", "new/empty")]
    assert [(d.path, d.new, d.old) for d in there] == [(d.path, d.old, d.new) for d in back]
    assert store.difference(after.roots[0], after.roots[0]) == ()


def test_a_difference_tells_what_stood_there_and_what_does_now(store: SnapshotStore, tree: Path) -> None:
    os.setxattr(tree / "README", "user.note", b"old")
    before = _capture(store, tree)
    (tree / "README").write_text("changed\n")
    (tree / "README").chmod(0o751)
    (tree / "empty").rmdir()
    (tree / "empty").symlink_to("src")
    os.link(tree / "src" / "main.py", tree / "twin")
    after = _capture(store, tree)
    readme, empty, main, twin = store.difference(before.roots[0], after.roots[0])
    assert readme.old is not None
    assert readme.new is not None
    assert readme.old.content is not None
    assert readme.new.content is not None
    assert (readme.old.type, readme.old.mode & 0o777, readme.old.content.size) == ("file", 0o644, 6)
    assert (readme.new.type, readme.new.mode, readme.new.content.size) == ("file", 0o751, 8)
    assert store.read(readme.old.content) == b"hello\n"
    assert store.read(readme.new.content) == b"changed\n"
    assert readme.old.attributes == ((b"user.note", b"old"),)
    assert empty.old is not None
    assert (empty.old.type, empty.old.empty) == ("folder", True)
    assert empty.new is not None
    assert (empty.new.type, empty.new.target, empty.new.content) == ("symlink", b"src", None)
    assert main.new is not None
    assert twin.new is not None
    assert main.new.shared_with == twin.new.shared_with == b"src/main.py"
    assert twin.old is None


def test_a_difference_names_folders_that_changed_themselves(store: SnapshotStore, tree: Path) -> None:
    before = _capture(store, tree)
    (tree / "src").chmod(0o700)
    (tree / "src" / "deep" / "data").unlink()
    (tree / "empty" / "file").touch()
    tree.chmod(0o711)
    after = _capture(store, tree)
    found = {d.path: (d.old, d.new) for d in store.difference(before.roots[0], after.roots[0])}
    assert list(found) == [".", "empty", "empty/file", "src", "src/deep", "src/deep/data"]
    assert [new.mode for _, new in (found["."], found["src"]) if new] == [0o711, 0o700]
    assert [side.empty for side in found["empty"] if side] == [True, False]
    assert [side.empty for side in found["src/deep"] if side] == [False, True]


def test_a_large_file_is_read_in_one_piece(store: SnapshotStore, tree: Path) -> None:
    before = _capture(store, tree)
    data = os.urandom(3_000_001)
    (tree / "large").write_bytes(data)
    (large,) = store.difference(before.roots[0], _capture(store, tree).roots[0])
    assert large.new is not None
    assert large.new.content is not None
    assert store.read(large.new.content) == data


def test_a_difference_of_what_is_not_there_is_refused(store: SnapshotStore, tree: Path) -> None:
    snapshot = _capture(store, tree)
    for text in (f"{'00' * 32}@{'11' * 32}", "no@address"):
        with pytest.raises(SnapshotDamaged):
            store.difference(snapshot.roots[0], Snapshot.from_text(text).roots[0])
    with pytest.raises(SnapshotDamaged):
        store.read(StoredContent(ObjectId("22" * 32), 5))


def test_a_watch_changes_what_a_capture_costs_and_nothing_else(
    make_store: Callable[[], SnapshotStore], tree: Path, tmp_path: Path
) -> None:
    store = make_store()
    with store.watch(tree_at(tree), others_at_work=False):
        first = _capture(store, tree)
        assert first == _capture(new_store(tmp_path / "fresh"), tree)
        (tree / "src" / "main.py").write_text("changed")
        (tree / "more" / "folders").mkdir(parents=True)
        second = store.capture(tree_at(tree), Watcher())
        assert second.snapshot == _capture(new_store(tmp_path / "fresh"), tree)
        assert store.restore(first, tree_at(tree), Watcher()) == (
            *removed("more", "more/folders"),
            *restored("src/main.py"),
        )
        assert _capture(store, tree) == first
    assert _capture(store, tree) == first


def test_a_tree_can_be_watched_before_it_exists(store: SnapshotStore, tree: Path, tmp_path: Path) -> None:
    snapshot = _capture(store, tree)
    with store.watch(tree_at(tmp_path / "later"), others_at_work=True):
        store.restore(snapshot, tree_at(tmp_path / "later"), Watcher())
        (tmp_path / "later" / "README").write_text("changed")
        assert store.compare(snapshot, tree_at(tmp_path / "later")) == restored("README")
