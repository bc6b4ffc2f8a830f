"""Walking a tree in C: the same as in Python, nothing left behind, and nothing trusted that could be wrong."""

import gc
import os
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.snapshots.cache import c_rows
from mulligan.adapters.snapshots.cache.tree_archive import Archive, pack
from mulligan.adapters.snapshots.format.signatures import signature
from mulligan.adapters.snapshots.scan import c_walk as walking
from mulligan.adapters.snapshots.scan.exclusions import NOTHING
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.scan import Scan, Witness
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.adapters.snapshots.watch import inotify
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.osfiles.directory_handles import Folders, path_of
from tests.support.ordinary_user import as_ordinary_user
from tests.support.snapshot_world import Watcher, new_store, picture, take, tree_at
from tests.support.walkers import walked

LATER = 5_000_000_000  # ns: seen from then on, what was just written is old enough to be trusted
IN_C = pytest.mark.parametrize("walker", ["in C"], indirect=True)
EMPTY = memoryview(b"")


def new_process(home: Path) -> PackedSnapshotStore:
    return new_store(home, ahead_ns=LATER)


def capture(home: Path, tree: Path) -> Snapshot:
    return new_process(home).capture(tree_at(tree), Watcher()).snapshot


def walk(
    path: Path, *, threads: int = 2, rows: memoryview = EMPTY, heap: memoryview = EMPTY, row: int = -1
) -> Any:
    assert walking.walk is not None
    fd = os.open(path, os.O_RDONLY)
    try:
        known = rows, heap, row, b""
        found, watches = walking.walk(
            fd, b".mulligan", time.time_ns() + LATER, -1, inotify.WANTED, threads, *known, [], b""
        )
        assert watches == b""  # nothing is watched
        return found
    finally:
        os.close(fd)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    for number in range(100):
        folder = path / f"folder {number % 5}" / f"{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}").write_text(f"content {number}")
    return path


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def found_by_scan(tree: Path) -> dict[str, Any]:
    with Folders(tree) as folders:
        top = Scan(folders, NOTHING, time.time_ns() + LATER, Witness()).run()
    found: dict[str, Any] = {}
    for folder in top.walk():
        names, each = [], folder
        while each.parent is not None:
            names.append(each.name)
            each = each.parent
        found["/".join(reversed(names))] = (
            folder.stats,
            folder.racy,
            folder.groups,
            folder.unheld,
            folder.skipped,
            sorted(folder.children),
        )
    return found


def test_every_kind_of_thing_is_found_as_in_python(tmp_path: Path, tree: Path) -> None:
    os.mkfifo(tree / "fifo")
    (tree / "link").symlink_to("folder 1")
    os.link(tree / "folder 1" / "1" / "1", tree / "other name")
    (tree / "folder 2" / ".mulligan").mkdir()
    (tree / "empty").mkdir()
    Path(os.fsdecode(os.fsencode(tree) + b"/\xff\xfe \n")).touch()
    (tree / "later").touch()
    os.utime(tree / "later", (2**34, 2**34))  # beyond 2262, where the filesystem knows such times
    os.utime(tree / "empty", (-(2**31), -(2**31)))
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(tree, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
        found = dict.fromkeys(("in C", "in Python"))
        for how in found:
            with walked(how):
                found[how] = found_by_scan(tree)
    assert found["in C"] == found["in Python"]
    assert found["in C"]["."][3] == {"fifo": "it is a fifo", "socket": "it is a socket"}


def test_a_new_process_trusts_only_what_is_unchanged(tmp_path: Path, tree: Path) -> None:
    home = tmp_path / "store"
    first = capture(home, tree)
    assert capture(home, tree) == first
    changes = {
        "content": lambda: (tree / "folder 1" / "1" / "1").write_text("other"),
        "mode": lambda: (tree / "folder 1" / "1" / "31").chmod(0o600),
        "mtime of a folder": lambda: os.utime(tree / "folder 2" / "1", (5, 5)),
        "new file": (tree / "folder 3" / "0" / "new").touch,
        "removed file": (tree / "folder 3" / "0" / "new").unlink,
        "renamed folder": lambda: (tree / "folder 4").rename(tree / "a folder"),
        "removed folder": lambda: subprocess.run(["rm", "-r", tree / "folder 0" / "0"], check=True),
        "new folder": lambda: (tree / "folder 0" / "00" / "deep").mkdir(parents=True),
        "unheld": lambda: os.mkfifo(tree / "folder 1" / "fifo"),
        "another link": lambda: os.link(tree / "folder 1" / "1" / "1", tree / "folder 2" / "linked"),
        "left out": (tree / "folder 2" / ".mulligan").mkdir,
    }
    before = first
    for what, change in changes.items():
        change()
        found = capture(home, tree)
        fresh = capture(tmp_path / f"fresh {what}", tree)
        assert found == fresh, what
        assert found != before or what in ("removed file", "left out"), what
        before = found


def test_what_a_new_process_did_not_take_apart_can_be_restored_and_saved(tmp_path: Path, tree: Path) -> None:
    home, wanted = tmp_path / "store", picture(tree)
    first = capture(home, tree)
    (tree / "folder 1" / "1" / "1").write_text("other")
    (tree / "added").mkdir()
    for number in range(70):
        (tree / "added" / f"{number}").write_text(f"more {number}")
    second = capture(
        home, tree
    )  # much was read: the cache is written again, from what it held and what is new
    store = new_process(home)
    assert take(store, tree) == second
    assert {change.path for change in store.restore(first, tree_at(tree), Watcher())} >= {"added"}
    assert picture(tree) == wanted
    assert take(store, tree) == first
    assert capture(home, tree) == first
    assert capture(tmp_path / "fresh", tree) == first


def test_without_the_extension_it_is_told_why() -> None:
    """In a process of its own: what is imported stays imported."""
    code = (
        "import sys; sys.modules['mulligan.adapters.snapshots.scan._walk'] = None;"
        "from mulligan.adapters.snapshots.scan import c_walk; print(c_walk.walk, c_walk.why_not)"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert told.startswith("None ")
    assert "_walk" in told


@IN_C
def test_unchanged_folders_are_told_by_one_row(tmp_path: Path, tree: Path) -> None:
    capture(tmp_path / "store", tree)
    with Folders(tree) as folders:
        top = Scan(folders, NOTHING, time.time_ns() + LATER, Witness()).run()
    assert not top.children["."].sealed  # nothing was known
    (tree / "folder 1" / "1" / "1").write_text("other")
    (cache,) = (tmp_path / "store" / "caches").iterdir()
    archive = _archive(cache)
    known = archive.top()
    with Folders(tree) as folders:
        top = Scan(folders, NOTHING, time.time_ns() + LATER, Witness(), known).run()
    sealed = {folder.name for folder in top.walk_unsealed() if folder.sealed}
    assert sealed == {"folder 0", "folder 2", "folder 3", "folder 4", "0", "2"}


@IN_C
def test_a_folder_of_which_more_is_known_than_its_row_says_is_described(tmp_path: Path, tree: Path) -> None:
    capture(tmp_path / "store", tree)
    (cache,) = (tmp_path / "store" / "caches").iterdir()
    known = _archive(cache).top()
    suspect = known.children["."].children["folder 1"].children["2"]
    suspect.unseal()
    suspect.racy.add("11")
    gone = known.children["."].children["folder 3"]
    gone.unseal()
    del gone.children["0"]
    with Folders(tree) as folders:
        top = Scan(folders, NOTHING, time.time_ns() + LATER, Witness(), known).run()
    sealed = {path_of(folder, ".") for folder in top.walk_unsealed() if folder.sealed}
    assert sealed == {
        *("folder 0/.", "folder 2/.", "folder 4/."),
        *("folder 1/0/.", "folder 1/1/.", "folder 3/1/.", "folder 3/2/."),
    }


def _archive(cache: Path) -> Archive:
    data = cache.read_bytes()
    return Archive(memoryview(data)[data.index(b"\n") + 1 + 64 :])


@IN_C
def test_folders_with_something_odd_are_listed_in_c_as_well(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.link(tree / "folder 1" / "1" / "1", tree / "folder 1" / "linked")
    os.mkfifo(tree / "folder 2" / "2" / "fifo")
    first = capture(tmp_path / "store", tree)
    by_hand: list[str] = []
    listing = Scan.list_folder

    def noting(self: Scan, folder: Folder, excluded: Any) -> None:
        by_hand.append(folder.name)
        listing(self, folder, excluded)

    monkeypatch.setattr(Scan, "list_folder", noting)
    assert capture(tmp_path / "store", tree) == first
    assert by_hand == []


@IN_C
def test_rows_that_lead_nowhere_are_not_followed(tmp_path: Path, tree: Path) -> None:
    """Its checksum proves the cache, but C must not fall over one that is wrong all the same."""
    capture(tmp_path / "store", tree)
    (cache,) = (tmp_path / "store" / "caches").iterdir()
    archive = _archive(cache)
    plain = walk(tree)
    assert len(walk(tree, rows=archive.rows, heap=archive.heap, row=1)) == 1
    whole = bytes(archive.rows)
    for at in range(0, 32, 4):
        for value in (0, 1, 0x7FFFFFFF, 0xFFFFFFFF):
            rows = bytearray(whole)
            for row in range(len(rows) // 104):
                struct.pack_into("<I", rows, row * 104 + at, value)
            found = walk(tree, rows=memoryview(rows), heap=archive.heap, row=1)
            assert {row[1] for row in found} <= {row[1] for row in plain}
    for row in (-5, 0, len(whole) // 104, 2**62):
        assert len(walk(tree, rows=archive.rows, heap=archive.heap, row=row)) == len(plain)
    assert len(walk(tree, rows=archive.rows, heap=archive.heap[:50], row=1)) == len(plain)


@IN_C
def test_a_walk_leaves_no_descriptor_and_no_object_behind(tree: Path) -> None:
    (tree / "closed").mkdir(mode=0)
    os.mkfifo(tree / "fifo")
    walk(tree)
    gc.collect()
    descriptors = open_descriptors()
    before = sys.getallocatedblocks()
    for _ in range(50):
        walk(tree)
        with pytest.raises(ValueError, match="threads must be 1 to 16, not 17"):
            walk(tree, threads=17)
    gc.collect()
    assert open_descriptors() == descriptors
    assert sys.getallocatedblocks() - before < 200  # one object a folder would be a thousand


@IN_C
@pytest.mark.parametrize("threads", [1, 2, 7, 16])
def test_any_number_of_threads_finds_the_same(tree: Path, threads: int) -> None:
    def sizes(found: Any) -> list[Any]:
        return sorted((row[1], row[4][:4]) for row in found)

    assert sizes(walk(tree, threads=threads)) == sizes(walk(tree, threads=1))


def test_more_folders_than_may_be_open_are_listed_all_the_same(tmp_path: Path) -> None:
    """At every level something waits, so that every folder would stay open; and the path is longer than any."""
    path = tmp_path / "tree"
    path.mkdir()
    depth, here = 400, os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("z" * 20, dir_fd=here)
        os.mkdir("a", dir_fd=here)
        below = os.open("z" * 20, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit[0], open_descriptors() + 150), limit[1]))
    try:
        with Folders(path) as folders:
            top = Scan(folders, NOTHING, time.time_ns(), Witness()).run()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert len(top.walk()) == 2 * depth + 2
    subprocess.run(["rm", "-rf", path], check=True)


@IN_C
def test_a_tree_that_changes_all_the_time_is_walked_without_a_fault(tmp_path: Path, tree: Path) -> None:
    stop = threading.Event()

    def meddle() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            (tree / "folder 1" / f"new {number % 7}").write_text("x")
            (tree / "folder 1" / f"new {number % 7}").unlink()
            (tree / "folder 2" / "0").rename(tree / "folder 3" / "moved")
            (tree / "folder 3" / "moved").rename(tree / "folder 2" / "0")

    meddling = threading.Thread(target=meddle)
    meddling.start()
    try:
        for _ in range(30):
            for row in walk(tree):
                assert row[4] is None or len(row[4][1]) == 48 * len(
                    row[4][0].split(b"\0") if row[4][0] else ()
                )
    finally:
        stop.set()
        meddling.join()


def test_folders_that_may_not_be_entered_are_told(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        for name, mode in (("closed", 0), ("no names", 0o300), ("names only", 0o600), ("open", 0o700)):
            (home / "tree" / name).mkdir(parents=True)
            (home / "tree" / name / "file").write_text(name)
            (home / "tree" / name).chmod(mode)
        capture = new_process(home / "store").capture(tree_at(home / "tree"), Watcher())
        unheld = [(each.path, each.reason) for each in capture.unheld]
        assert unheld == [(name, "it may not be read") for name in ("closed", "names only", "no names")]
        assert capture.files == 1
        for name in ("closed", "no names", "names only"):
            (home / "tree" / name).chmod(0o700)

    as_ordinary_user(tmp_path, check)


def test_an_archive_gives_back_what_was_packed() -> None:
    st = os.stat("/")
    top = Folder("", None)
    for name in ("b", "a", "é", "\udcff"):
        child = top.children[name] = Folder(name, top)
        child.stats["file"] = top.stats[name] = signature(st)
        child.racy, child.groups, child.unheld = {"file"}, {"file": b"b/file"}, {"fifo": "it is a fifo"}
        child.id, child.address, child.files = b"i" * 32, b"a" * 32, 7
        below = child.children["below"] = Folder("below", child)
        below.records["x"] = b"record"
    archive = Archive(memoryview(pack(top, ["one.pack", "two.pack"])))
    assert archive.packs == {"one.pack", "two.pack"}
    for made, found in zip(top.walk(), sorted_walk(archive.top(), top), strict=True):
        assert (made.name, made.held, made.complete) == (found.name, found.held, found.complete)
        assert (made.stats, made.records) == (found.stats, found.records)
        assert (made.racy, made.groups, made.unheld) == (found.racy, found.groups, found.unheld)
        assert (made.address, made.files) == (found.address, found.files)
    assert Archive(memoryview(pack(top, []))).packs == frozenset()


@pytest.mark.parametrize("how", ["in C", "in Python"])
@pytest.mark.parametrize("opened", [(), ("b",), ("a", "below"), ("é", "below", "deep")])
def test_what_is_as_in_an_archive_is_taken_from_there_as_it_is(how: str, opened: tuple[str, ...]) -> None:
    st = os.stat("/")
    top = Folder("", None)
    for name in ("b", "a", "é"):
        child = top.children[name] = Folder(name, top)
        for folder in (
            child,
            *(child.children.setdefault(each, Folder(each, child)) for each in ("below", "z")),
        ):
            folder.stats["file"] = signature(st)
            folder.records["file"], folder.files = b"record of " + name.encode(), 1
            folder.id, folder.address = b"i" * 32, b"a" * 32
        deep = child.children["below"].children["deep"] = Folder("deep", child.children["below"])
        deep.racy, deep.unheld = {"file"}, {"fifo": "it is a fifo"}
    with walked(how):
        known = Archive(memoryview(pack(top, ["one.pack"]))).top()
        folder = known
        for name in opened:
            folder = folder.children[name]
        folder.unseal()
        _packed_as_it_is(known)
        folder.stats["new"] = signature(st)
        _packed_as_it_is(known)


def _packed_as_it_is(known: Folder) -> None:
    packed = Archive(memoryview(pack(known, ["one.pack"]))).top()
    for made, found in zip(known.walk(), sorted_walk(packed, known), strict=True):
        assert (made.stats, made.records, made.racy) == (found.stats, found.records, found.racy)
        assert (made.unheld, made.address, made.files) == (found.unheld, found.address, found.files)


def sorted_walk(found: Folder, like: Folder) -> list[Folder]:
    """All folders in the order of another tree."""
    pairs = [(found, like)]
    for here, there in pairs:
        pairs.extend((here.children[name], child) for name, child in there.children.items())
    return [here for here, _ in pairs]


def test_a_known_tree_is_counted_and_searched_as_a_scanned_one_is(tmp_path: Path, tree: Path) -> None:
    (tree / "folder 1" / "2" / ".git").write_text("gitdir: elsewhere\n")
    (tree / "folder 3" / ".git").mkdir()
    (tree / "folder 3" / "link").symlink_to("2")
    capture(tmp_path, tree)
    capture(tmp_path, tree)
    store = new_process(tmp_path)
    with store.surveys_kept():
        found = store.survey(tree_at(tree), Watcher())
        assert store.capture(tree_at(tree), Watcher()).files == found.files == 102
    assert found.size_bytes == sum(
        p.stat().st_size for p in tree.rglob("*") if p.is_file() and not p.is_symlink()
    )
    assert store.folders_with(tree_at(tree), ".git") == ("folder 1/2", "folder 3")
    top = store._cache.recall(tree_at(tree).cache_key, store._objects).top  # noqa: SLF001  as adoption does
    assert top is not None
    assert top.has_inode({(tree / "folder 1" / "2" / ".git").stat().st_ino})
    assert not top.has_inode({2**63})


@IN_C
def test_rows_that_an_archive_does_not_hold_are_refused() -> None:
    measure, rows = c_rows.measure, memoryview(bytes(104))
    assert measure is not None
    assert measure(rows, EMPTY, 0, 1) == (0, 0)
    for wrong in (
        (rows, EMPTY, 0, 2),
        (rows, EMPTY, -1, 1),
        (memoryview(bytes(12) + b"\1" * 92), EMPTY, 0, 1),
    ):
        with pytest.raises(ValueError, match="the archive"):
            measure(*wrong)


def test_what_changes_after_a_survey_is_in_the_capture_after_the_next_look(
    tmp_path: Path, tree: Path
) -> None:
    capture(tmp_path, tree)
    store = new_process(tmp_path)
    with store.surveys_kept():
        store.survey(tree_at(tree), Watcher())
        time.sleep(0.03)
        (tree / "folder 1" / "1" / "1").write_text("changed after the survey")
        (tree / "folder 2" / "new").write_text("new")
        store.capture(tree_at(tree), Watcher())  # as the survey found it, or as it is: it is one look
    assert (
        store.capture(tree_at(tree), Watcher()).snapshot
        == new_process(tmp_path / "other").capture(tree_at(tree), Watcher()).snapshot
    )
