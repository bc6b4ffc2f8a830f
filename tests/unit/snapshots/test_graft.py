"""Grafting costs what is edited, keeps the times of all else, and refuses what could be no tree."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.snapshots.packs.sinks import HashingSink
from mulligan.adapters.snapshots.trees.tree_edit import grafted
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.trees.tree_difference import Beside, EntryType, TreeEntry
from tests.support.snapshot_world import bring_back, new_store, objects_of, take

AT_NS = 1_700_000_000_000_000_000
FOLDER = TreeEntry(
    type=EntryType.FOLDER, mode=0o755, content=None, target=b"", shared_with=b"", attributes=(), empty=True
)


def test_only_the_folders_around_an_edit_are_opened(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for number in range(20):
        (tree / f"{number}" / "inner").mkdir(parents=True)
        (tree / f"{number}" / "inner" / "file").write_text(f"{number}")
    root = take(new_store(tmp_path / "store"), tree).roots[0]
    objects = objects_of(tmp_path / "store")
    opened: list[bytes] = []

    def read(address: bytes) -> bytes:
        opened.append(address)
        return objects.read(address)

    grafted(root, {"7/inner/file": None}, AT_NS, read, HashingSink())
    assert len(opened) == len(["the root", "the tree", "7", "7/inner"])


def test_times_stay_but_of_folders_in_which_a_name_came_or_went(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "old").write_text("old")
    (tree / "kept").write_text("kept")
    store = new_store(tmp_path / "store")
    root = take(store, tree).roots[0]
    (content,) = store.put([b"new\n"])
    file = TreeEntry(
        type=EntryType.FILE,
        mode=0o640,
        content=content,
        target=b"",
        shared_with=b"",
        attributes=(),
        empty=False,
        beside=Beside(5_000_000_000),
    )
    made = store.graft(root, {"a/b/old": None, "a/b/new": file}, AT_NS)
    bring_back(store, Snapshot((made,)), tmp_path / "other")
    new = tmp_path / "other" / "a" / "b" / "new"
    assert (new.read_bytes(), new.stat().st_mode & 0o7777) == (b"new\n", 0o640)
    assert new.stat().st_mtime_ns == 5_000_000_000
    assert (tmp_path / "other" / "a" / "b").stat().st_mtime_ns == AT_NS
    for untouched in (".", "a", "kept"):
        mine, other = (tmp_path / name / untouched for name in ("tree", "other"))
        assert other.stat().st_mtime_ns == mine.stat().st_mtime_ns


def test_a_folder_keeps_what_it_held_and_a_file_in_its_place_drops_it(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "folder").mkdir(parents=True)
    (tree / "folder" / "file").write_text("file")
    store = new_store(tmp_path / "store")
    root = take(store, tree).roots[0]
    (tree / "folder").chmod(0o700)
    as_folder = store.graft(root, {"folder": replace(FOLDER, mode=0o700, empty=False)}, AT_NS)
    assert as_folder.id == take(store, tree).roots[0].id
    (link,) = [
        TreeEntry(
            type=EntryType.SYMLINK,
            mode=0o777,
            content=None,
            target=b"elsewhere",
            shared_with=b"",
            attributes=(),
            empty=False,
        )
    ]
    as_link = store.graft(root, {"folder": link, "folder/file": None}, AT_NS)
    (tree / "folder" / "file").unlink()
    (tree / "folder").rmdir()
    (tree / "folder").symlink_to("elsewhere")
    assert as_link.id == take(store, tree).roots[0].id


def test_no_edit_is_the_same_tree(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    store = new_store(tmp_path / "store")
    root = take(store, tmp_path / "tree").roots[0]
    assert store.graft(root, {}, AT_NS) == root
    assert store.graft(root, {"nothing": None, "no/where": None}, AT_NS) == root


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"file/inside": FOLDER}, "file is to hold something, but is not a folder"),
        ({"new/deep/inside": FOLDER}, "new is to hold something, but is not a folder"),
        ({"file": None, "file/deep/inside": FOLDER}, "file is to hold something, but is not to be a folder"),
        ({".": None}, "a tree is a folder"),
    ],
)
def test_what_could_be_no_tree_is_refused(
    tmp_path: Path, edits: dict[str, TreeEntry | None], said: str
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_text("file")
    store = new_store(tmp_path / "store")
    root: Root = take(store, tmp_path / "tree").roots[0]
    with pytest.raises(ValueError, match=said):
        store.graft(root, edits, AT_NS)


def test_contents_that_are_put_are_those_of_files(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    store = new_store(tmp_path / "store")
    empty = take(store, tree).roots[0]
    wanted = {"large": b"0123456789" * 200_000, "small": b"s", "none": b""}
    for name, data in wanted.items():
        (tree / name).write_bytes(data)
    full = take(store, tree).roots[0]
    found = {d.path: d.new.content for d in store.difference(empty, full) if d.new and d.new.content}
    put = store.put(wanted.values())
    assert dict(zip(wanted, put, strict=True)) == found
    assert [store.head(content, 3) for content in put] == [b"012", b"s", b""]
