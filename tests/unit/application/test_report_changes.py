"""A page takes so much and no more, and nothing is read for what it does not take."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from mulligan.application.queries.report_changes import PageRoom, ReportChanges
from mulligan.domain.checkpoints.snapshot import ObjectId, Root
from mulligan.domain.trees.tree_difference import EntryType, StoredContent, TreeDifference, TreeEntry
from mulligan.errors import SnapshotDamaged
from tests.unit.examples import a_group

KIB = 1024


class Trees:
    """Trees that differ as told; each file has as many bytes as it says, in short lines."""

    def __init__(self, differences: Sequence[TreeDifference]) -> None:
        self.differences = tuple(differences)
        self.read_bytes = 0

    def hold(self) -> AbstractContextManager[None]:
        return nullcontext()

    def difference(self, old: Root, new: Root) -> tuple[TreeDifference, ...]:
        return self.differences

    def read(self, content: StoredContent) -> bytes:
        if content.id == "gone":
            raise SnapshotDamaged(object="gone", reason="it is not there")
        self.read_bytes += content.size
        return (b"1234567\n" * (content.size // 8 + 1))[: content.size]

    def head(self, content: StoredContent, length: int) -> bytes:
        return self.read(content)[:length]


def added(number: int, size: int, id: str | None = None) -> TreeDifference:
    entry = TreeEntry(
        type=EntryType.FILE,
        mode=0o644,
        content=StoredContent(ObjectId(id or f"{number}"), size),
        target=b"",
        shared_with=b"",
        attributes=(),
        empty=False,
    )
    return TreeDifference(f"{number:04}", None, entry)


def compare(trees: Trees, room: PageRoom, *hidden: str):
    return ReportChanges(trees, room, str, hidden).between(a_group("p", "g1", 1), a_group("p", "g2", 2))


def test_paths_beyond_the_first_are_counted() -> None:
    changes = compare(Trees([added(n, 8) for n in range(250)]), PageRoom(patches=10_000, outputs=0))
    assert (len(changes.files), changes.paths_left_out) == (200, 50)


def test_files_are_read_up_to_a_limit_and_large_ones_never() -> None:
    trees = Trees([added(0, 300 * KIB), *(added(n, 200 * KIB) for n in range(1, 40))])
    changes = compare(trees, PageRoom(patches=10_000, outputs=0))
    assert changes.files[0].file.binary
    assert (len(changes.files), changes.paths_left_out) == (21, 19)
    assert trees.read_bytes == 20 * 200 * KIB


def test_a_patch_is_cut_and_a_full_page_takes_none() -> None:
    room = PageRoom(patches=500, outputs=0)
    trees = Trees([added(n, 8 * 600) for n in range(3)])
    changes = compare(trees, room)
    shown = [(file.patch.count(b"\n"), file.lines_left_out) for file in changes.files]
    assert [count for count, _ in shown] == [400, 100, 0]
    assert len({count + left_out for count, left_out in shown}) == 1
    assert room.patches == 0
    before = trees.read_bytes
    assert compare(trees, room).paths_left_out == 3
    assert trees.read_bytes == before


def test_what_the_store_lost_is_told_beside_what_it_has() -> None:
    changes = compare(Trees([added(1, 8, "gone")]), PageRoom(patches=500, outputs=0))
    assert changes.files == ()
    assert changes.problem is not None
    assert "gone" in changes.problem


def test_hidden_paths_are_only_counted() -> None:
    trees, room = Trees([added(n, 8) for n in range(20)]), PageRoom(patches=10_000, outputs=0)
    changes = compare(trees, room, "*1")
    assert (len(changes.files), changes.hidden) == (18, 2)
