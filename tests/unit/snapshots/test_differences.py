"""The difference between two stored trees costs what differs."""

from pathlib import Path

from mulligan.adapters.snapshots.trees.stored_diff import FolderReader, differences
from tests.support.snapshot_world import new_store, objects_of, take


def test_equal_folders_are_not_opened(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for number in range(20):
        (tree / f"{number}" / "inner").mkdir(parents=True)
        (tree / f"{number}" / "inner" / "file").write_text(f"{number}")
    store = new_store(tmp_path / "store")
    before = take(store, tree).roots[0]
    (tree / "7" / "inner" / "file").write_text("changed")
    after = take(store, tree).roots[0]
    objects = objects_of(tmp_path / "store")
    opened: list[bytes] = []

    def read(address: bytes) -> bytes:
        opened.append(address)
        return objects.read(address)

    found = differences(bytes.fromhex(before.address), bytes.fromhex(after.address), FolderReader(read))
    assert [d.path for d in found] == ["7/inner/file"]
    assert len(opened) == 2 * len(["the root", "the tree", "7", "7/inner"])
    opened.clear()
    assert differences(bytes.fromhex(after.address), bytes.fromhex(after.address), FolderReader(read)) == ()
    assert len(opened) == 2
