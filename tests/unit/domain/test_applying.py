"""What a restore that was cut off left in between counts as what it was on its way from, or to."""

from msgspec.structs import replace

from mulligan.domain.checkpoints.snapshot import ObjectId
from mulligan.domain.trees.real_change import left_halfway
from mulligan.domain.trees.tree_difference import EntryType, StoredContent, TreeDifference, TreeEntry

FILE = TreeEntry(
    type=EntryType.FILE,
    mode=0o644,
    content=StoredContent(ObjectId("a"), 1),
    target=b"",
    shared_with=b"",
    attributes=(),
    empty=False,
)
OTHER = replace(FILE, content=StoredContent(ObjectId("b"), 1))
FOLDER = replace(FILE, type=EntryType.FOLDER, mode=0o755, content=None)


def _halfway(
    before: TreeEntry | None, written: TreeEntry | None, present: TreeEntry | None, path: str = "path"
) -> dict[str, TreeEntry | None]:
    return left_halfway([TreeDifference(path, before, present)], [TreeDifference(path, written, present)])


def test_what_is_open_for_work_counts_as_the_folder() -> None:
    assert _halfway(None, FOLDER, replace(FOLDER, mode=0o700)) == {"path": FOLDER}
    closed = replace(FOLDER, mode=0o055)
    assert _halfway(closed, None, replace(closed, mode=0o755)) == {"path": closed}
    assert _halfway(FOLDER, None, replace(FOLDER, mode=0o711)) == {}, "others made it that"


def test_a_file_with_other_names_than_it_should_have_counts_as_the_file() -> None:
    linked = replace(FILE, shared_with=b"path")
    assert _halfway(None, linked, FILE) == {"path": linked}
    assert _halfway(linked, OTHER, FILE) == {"path": linked}


def test_what_is_of_another_kind_goes_before_the_new_one_comes() -> None:
    assert _halfway(FOLDER, FILE, None) == {"path": FOLDER}
    assert _halfway(FILE, OTHER, None) == {}, "others deleted it"


def test_a_name_that_was_given_for_a_moment_is_nothing() -> None:
    spare = "folder/.mulligan-0123456789abcdef"
    assert _halfway(None, None, FILE, spare) == {spare: None}
    assert _halfway(None, None, FILE) == {}


def test_what_is_of_one_side_is_that_side_s() -> None:
    present = TreeDifference("path", FILE, OTHER)
    assert left_halfway([present], []) == left_halfway([], [present]) == {}
