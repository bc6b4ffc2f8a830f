"""Which edits bring single paths back, and what stays as it is."""

from mulligan.domain.checkpoints.snapshot import ObjectId
from mulligan.domain.trees.path_edits import PathEdits, edits_of
from mulligan.domain.trees.tree_difference import EntryType, StoredContent, TreeDifference, TreeEntry


def entry(type: EntryType, content: str = "", mode: int = 0o644, shared: bytes = b"") -> TreeEntry:
    held = StoredContent(ObjectId(content), len(content)) if type is EntryType.FILE else None
    return TreeEntry(
        type=type, mode=mode, content=held, target=b"", shared_with=shared, attributes=(), empty=False
    )


def file(content: str, shared: bytes = b"") -> TreeEntry:
    return entry(EntryType.FILE, content, shared=shared)


FOLDER = entry(EntryType.FOLDER, mode=0o755)


def edits(
    *differences: TreeDifference, wanted: tuple[str, ...], delete: bool = False, spared: tuple[str, ...] = ()
) -> PathEdits:
    return edits_of(differences, wanted, delete=delete, spared=spared)


def test_what_differs_comes_back_and_what_is_missing_is_new() -> None:
    changed = TreeDifference("a", file("now"), file("then"))
    gone = TreeDifference("b", None, file("b"))
    found = edits(changed, gone, wanted=("a", "b"))
    assert found.edits == {"a": file("then"), "b": file("b")}
    assert found.new == {"b"}


def test_only_a_shared_name_or_what_a_folder_holds_is_no_difference() -> None:
    linked = TreeDifference("a", file("same", b"a"), file("same"))
    filled = TreeDifference("d", FOLDER, FOLDER)
    assert edits(linked, filled, wanted=(".",)).edits == {}


def test_a_file_comes_back_as_one_of_its_own() -> None:
    found = edits(TreeDifference("a", None, file("x", b"a")), wanted=("a",))
    assert found.edits == {"a": file("x")}


def test_what_only_the_present_has_stays_unless_asked() -> None:
    come = (TreeDifference("d/new", FOLDER, None), TreeDifference("d/new/x", file("x"), None))
    found = edits(*come, wanted=("d",))
    assert (found.edits, found.left) == ({}, ("d/new",))
    found = edits(*come, wanted=("d",), delete=True)
    assert (found.edits, found.left) == ({"d/new": None, "d/new/x": None}, ())


def test_folders_around_a_path_are_made_and_otherwise_left() -> None:
    missing = TreeDifference("d", None, FOLDER)
    inside = TreeDifference("d/x", None, file("x"))
    assert edits(missing, inside, wanted=("d/x",)).edits == {"d": FOLDER, "d/x": file("x")}
    other = TreeDifference("d", entry(EntryType.FOLDER, mode=0o700), FOLDER)
    assert edits(other, inside, wanted=("d/x",)).edits == {"d/x": file("x")}
    # The checkpoint has no folder there: nothing of it leads to the path.
    assert edits(TreeDifference("d", FOLDER, file("f")), wanted=("d/x",)).edits == {}
    assert edits(TreeDifference("d", FOLDER, None), wanted=("d/x",)).edits == {}


def test_what_is_in_the_way_is_named() -> None:
    (blocked,) = edits(TreeDifference("d", file("f"), FOLDER), wanted=("d/x",)).in_the_way
    assert blocked.path == "d"
    full = TreeDifference("f", FOLDER, file("f"))
    (blocked,) = edits(full, wanted=("f",)).in_the_way
    assert blocked.path == "f"
    assert edits(full, wanted=("f",), delete=True).edits == {"f": file("f")}


def test_what_is_spared_is_never_edited() -> None:
    secret = (TreeDifference("keys", FOLDER, None), TreeDifference("keys/a", file("a"), None))
    assert edits(*secret, wanted=(".",), delete=True, spared=("keys",)).edits == {}
