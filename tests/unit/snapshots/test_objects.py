"""Objects in packs, and folders in objects: what comes back, and what is refused."""

import os
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.format.chunks import chunk_ids, pieces
from mulligan.adapters.snapshots.format.pack_format import Kind
from mulligan.adapters.snapshots.format.tree_format import (
    Entry,
    EntryKind,
    decode,
    encode,
    folder_object,
    split,
    split_root,
)
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.adapters.snapshots.packs.pack_file import PackFile
from mulligan.adapters.snapshots.packs.pack_writer import PackWriter
from mulligan.errors import SnapshotDamaged, SystemFailed
from tests.support.snapshot_world import bring_back, new_store, objects_of, picture, take


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return objects_of(tmp_path / "store")


def _store(objects: Objects, *contents: bytes) -> list[bytes]:
    writer = PackWriter(objects)
    ids = [writer.add(Kind.BLOB, data) for data in contents]
    writer.finish()
    writer.abandon()
    return ids


def _packs(tmp_path: Path) -> set[Path]:
    return set((tmp_path / "store" / "packs").iterdir())


def test_many_packs_are_read_with_few_open_files(objects: Objects) -> None:
    ids = [_store(objects, f"object {number}".encode() * 10)[0] for number in range(50)]
    before = len(os.listdir("/proc/self/fd"))
    assert [objects.read(each)[:6] for each in ids * 2] == [b"object"] * 100
    assert len(os.listdir("/proc/self/fd")) - before <= 32


def test_an_object_in_two_packs_survives_the_loss_of_one(objects: Objects, tmp_path: Path) -> None:
    other = objects_of(tmp_path / "store")
    (twice,) = _store(objects, b"twice")
    first = _packs(tmp_path)
    _store(other, b"twice", b"once")
    objects.refresh()
    assert objects.read(twice) == b"twice"
    (second,) = _packs(tmp_path) - first
    second.unlink()
    objects.refresh()
    assert objects.read(twice) == b"twice"
    assert objects.pack_names() == {path.name for path in first}


def test_a_pack_that_goes_while_it_is_wanted_is_damage(objects: Objects, tmp_path: Path) -> None:
    (wanted,) = _store(objects, b"wanted")
    (pack,) = _packs(tmp_path)
    pack.unlink()
    with pytest.raises(SnapshotDamaged, match="it is missing"):
        objects.read(wanted)


def test_a_frame_that_claims_another_size_is_damage(objects: Objects, tmp_path: Path) -> None:
    """A flipped bit may claim terabytes: nothing of that size is ever made."""
    (wanted,) = _store(objects, b"text " * 1000)
    (pack,) = _packs(tmp_path)
    hurt = bytearray(pack.read_bytes())
    start = hurt.index(b"\x28\xb5\x2f\xfd")
    hurt[start + 4] = 0xE0  # the frame's descriptor: a content size of eight bytes follows
    pack.write_bytes(hurt)
    with pytest.raises(SnapshotDamaged, match="not what was stored"):
        objects.read(wanted)


def test_an_empty_object_is_an_object(objects: Objects) -> None:
    ids = _store(objects, b"", b"text " * 1000)
    assert [objects.read(each) for each in ids] == [b"", b"text " * 1000]


def test_a_pack_that_cannot_be_closed_hides_no_earlier_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(os.urandom(100_000))

    def fail(self: PackFile, name: str) -> None:
        os.close(self._file.fileno())  # what the system does to a file on a lost disk
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(PackFile, "finish", fail)
    with pytest.raises(SystemFailed, match="Input/output error"):
        take(new_store(tmp_path / "store"), tree)


def test_reads_and_writes_that_stop_halfway_are_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "small").write_bytes(os.urandom(100_000))
    (tree / "large").write_bytes(os.urandom(1_500_000))
    read, write = os.read, os.write
    monkeypatch.setattr(os, "read", lambda fd, length: read(fd, min(length, 30_000)))
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:30_000]))
    store = new_store(tmp_path / "store")
    bring_back(store, take(store, tree), tmp_path / "copy")
    monkeypatch.undo()
    assert picture(tmp_path / "copy") == picture(tree)


def _file(name: str, size: int) -> Entry:
    return Entry(name, EntryKind.FILE, 0o644, size, bytes(32), b"", b"", (), 0, False, b"")


def test_content_of_another_length_is_damage() -> None:
    with pytest.raises(SnapshotDamaged, match="holds 3 bytes, not 5"):
        list(pieces(_file("a", 5), lambda _: b"abc"))
    with pytest.raises(SnapshotDamaged, match="not the chunk list"):
        chunk_ids(_file("a", 5_000_000), b"abc")


def test_records_come_back_as_they_were() -> None:
    entry = Entry(
        "n\udcff",
        EntryKind.FILE,
        0o4711,
        7,
        b"i" * 32,
        b"",
        b"g/h",
        ((b"user.a", b""), (b"user.b", b"1")),
        -1,
        True,
        b"",
    )
    assert decode(encode(entry)) == entry


@pytest.mark.parametrize("name", ["..", "a/b", "a\0b", ""])
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    data, _ = folder_object({"x": encode(_file(name, 0))})
    with pytest.raises(SnapshotDamaged, match="cannot be read"):
        split(b"a" * 32, data)


def test_folders_that_are_none_are_refused() -> None:
    data, _ = folder_object({"x": encode(_file("x", 0))})
    with pytest.raises(SnapshotDamaged, match="not the root"):
        split_root(b"a" * 32, data)
    for length in range(len(data)):
        if length != len(data) - len(encode(_file("x", 0))):  # cut there it is an empty folder
            with pytest.raises(SnapshotDamaged):
                split(b"a" * 32, data[:length])
    folder = Entry(".", EntryKind.FOLDER, 0o755, 0, bytes(32), b"", b"", (), 0, False, bytes(32))
    root, _ = folder_object({".": encode(folder)})
    assert list(split_root(b"a" * 32, root)) == ["."]
    with pytest.raises(SnapshotDamaged, match="root"):
        split(b"a" * 32, root)
    with pytest.raises(SnapshotDamaged, match=r"cut off|cannot be read"):
        split_root(b"a" * 32, root[:-1])


def test_a_store_that_is_dropped_keeps_no_file_open(tmp_path: Path) -> None:
    objects = objects_of(tmp_path / "store")
    (wanted,) = _store(objects, b"wanted")
    before = len(os.listdir("/proc/self/fd"))
    assert objects.read(wanted) == b"wanted"
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del objects
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.fixture
def searched(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> Objects:
    """Let so much be asked for that there is a table of all objects."""
    monkeypatch.setattr("mulligan.adapters.snapshots.packs.objects._FEW_SEARCHES", 1)
    return objects


def test_a_table_of_objects_follows_packs_that_come_and_go(searched: Objects, tmp_path: Path) -> None:
    (twice, first) = _store(searched, b"twice", b"first")
    assert [searched.read(each) for each in (twice, first, first)] == [b"twice", b"first", b"first"]
    earlier = _packs(tmp_path)
    _store(objects_of(tmp_path / "store"), b"twice", b"other")
    searched.refresh()
    (later,) = _packs(tmp_path) - earlier
    assert searched.read(twice) == b"twice"
    later.unlink()
    searched.refresh()
    assert [searched.read(each) for each in (twice, first)] == [b"twice", b"first"]
    for path in earlier:
        path.unlink()
    searched.refresh()
    assert not searched.can_read(twice)
    with pytest.raises(SnapshotDamaged, match="it is missing"):
        searched.length(first)


def test_a_damaged_copy_is_no_loss_where_another_pack_has_one(objects: Objects, tmp_path: Path) -> None:
    other = objects_of(tmp_path / "store")
    data = os.urandom(5_000)
    (wanted,) = _store(objects, data)
    (first,) = _packs(tmp_path)
    _store(other, data)
    objects.refresh()
    hurt = bytearray(first.read_bytes())
    at = hurt.index(data[100:200])
    hurt[at] ^= 1
    first.write_bytes(hurt)
    assert objects.read(wanted) == data
    (second,) = _packs(tmp_path) - {first}
    hurt = bytearray(second.read_bytes())
    hurt[hurt.index(data[100:200])] ^= 1
    second.write_bytes(hurt)
    with pytest.raises(SnapshotDamaged):
        objects.read(wanted)


def test_a_pack_that_cannot_be_read_is_named(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (wanted,) = _store(objects, b"wanted")
    (pack,) = _packs(tmp_path)

    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(objects.storage, "read", fail)
    with pytest.raises(SnapshotDamaged, match=f"pack {pack.name}: Input/output error"):
        objects.read(wanted)
    unread = Objects(objects.storage)
    unread.refresh()
    assert unread.damaged() == {pack.name: "Input/output error"}
    assert not unread.can_read(wanted)
