"""Whatever two sides made of a tree: a merge loses no change of either without saying so."""

import hashlib
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from mulligan.domain.checkpoints.snapshot import ObjectId
from mulligan.domain.trees.text_merge import merge_texts
from mulligan.domain.trees.tree_difference import EntryType, StoredContent, TreeDifference, TreeEntry
from mulligan.domain.trees.tree_merge import Labels, Renames, TreeMerge, merge_trees
from tests.support.long_run import LONGER

Tree = Mapping[str, TreeEntry]  # all paths but the tree itself

_NAMES = Labels("others", "the plan")


def _file(mode: int, word: str) -> TreeEntry:
    return TreeEntry(
        type=EntryType.FILE,
        mode=mode,
        content=StoredContent(ObjectId(hashlib.sha256(word.encode()).hexdigest()), len(word)),
        target=b"",
        shared_with=b"",
        attributes=(),
        empty=False,
    )


def _link(target: bytes) -> TreeEntry:
    return TreeEntry(
        type=EntryType.SYMLINK,
        mode=0o777,
        content=None,
        target=target,
        shared_with=b"",
        attributes=(),
        empty=False,
    )


_FILES = st.builds(
    _file,
    mode=st.sampled_from([0o644, 0o755]),
    word=st.sampled_from(["one", "two", "three"]),
)
_LINKS = st.builds(_link, target=st.sampled_from([b"here", b"there"]))
_ENTRIES = st.one_of(_FILES, _FILES, _LINKS, st.just("folder"))
_PATHS = st.sampled_from(["a", "b", "a/a", "a/b", "b/a", "a/a/a", "a/a/b", "b/a/a", "c/a/b"])


def _tree(wanted: Mapping[str, TreeEntry | str]) -> dict[str, TreeEntry]:
    """A tree of what can stand together: a path inside what is no folder is left out."""
    found: dict[str, TreeEntry] = {}
    for path in sorted(wanted):
        parts = path.split("/")
        around = ["/".join(parts[:length]) for length in range(1, len(parts))]
        if any(folder in found and not found[folder].is_folder for folder in around):
            continue
        for folder in around:
            found.setdefault(folder, _folder(0o755))
        entry = wanted[path]
        found[path] = _folder(0o700) if isinstance(entry, str) else entry
    return found


def _folder(mode: int) -> TreeEntry:
    return TreeEntry(
        type=EntryType.FOLDER,
        mode=mode,
        content=None,
        target=b"",
        shared_with=b"",
        attributes=(),
        empty=False,
    )


TREES = st.dictionaries(_PATHS, _ENTRIES, max_size=7).map(_tree)


def _difference(old: Tree, new: Tree) -> list[TreeDifference]:
    return [
        TreeDifference(path, old.get(path), new.get(path))
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    ]


def _taken(_path: str) -> bool:
    return False


def _merge(base: Tree, ours: Tree, theirs: Tree, renames: Renames | None = None) -> TreeMerge:
    return merge_trees(
        _difference(base, ours),
        _difference(base, theirs),
        renames or Renames(),
        _NAMES,
        _taken,
        lambda _: False,
    )


def _edited(tree: Tree, merge: TreeMerge) -> dict[str, TreeEntry]:
    """The tree after the edits, as a graft makes it; asserts that it is one."""
    result = dict(tree)
    for path, entry in sorted(merge.edits.items()):
        if entry is None or not entry.is_folder:
            for below in [p for p in result if p.startswith(f"{path}/")]:
                assert merge.edits.get(below, entry) is None or entry is None, "something is dropped silently"
                del result[below]
        if entry is None:
            result.pop(path, None)
        else:
            result[path] = entry
    for path in result:
        around = path.rpartition("/")[0]
        assert not around or result[around].is_folder, f"{path} stands in nothing"
    return result


@given(base=TREES, other=TREES)
def test_the_side_that_alone_changed_is_taken(base: Tree, other: Tree) -> None:
    forth, back = _merge(base, base, other), _merge(base, other, base)
    assert (forth.conflicts, forth.texts, back.conflicts, back.texts) == ((), (), (), ())
    assert _edited(base, forth) == other
    assert dict(back.edits) == {}


@given(base=TREES, other=TREES)
def test_equal_changes_are_one(base: Tree, other: Tree) -> None:
    merge = _merge(base, other, other)
    assert (dict(merge.edits), merge.texts, merge.conflicts) == ({}, (), ())


@settings(max_examples=150 * LONGER)
@given(base=TREES, ours=TREES, theirs=TREES)
def test_no_change_is_lost_without_a_conflict(base: Tree, ours: Tree, theirs: Tree) -> None:
    merge = _merge(base, ours, theirs)
    result = _edited(ours, merge)
    open_paths = {c.path for c in merge.conflicts} | {t.path for t in merge.texts}

    def is_open(path: str) -> bool:
        return any(
            path == each or path.startswith(f"{each}/") or each.startswith(f"{path}/") for each in open_paths
        )

    for side in (ours, theirs):
        for difference in _difference(base, side):
            path, new = difference.path, difference.new
            if is_open(path):
                continue
            if new is None:
                # A folder that one side deleted stays while the other has something new in it.
                filled = any(p.startswith(f"{path}/") for p in result)
                assert path not in result or (result[path].is_folder and filled), path
            elif (found := result.get(path)) != new:
                assert found is not None, path
                assert _holds_both(base.get(path), ours[path], theirs[path], found), path
    for path in result.keys() | base.keys():  # and nothing comes from nowhere
        sides = {ours.get(path), theirs.get(path), base.get(path)}
        assert is_open(path) or result.get(path) in sides or (path in ours and path in theirs)


def _holds_both(base: TreeEntry | None, ours: TreeEntry, theirs: TreeEntry, found: TreeEntry) -> bool:
    """Whether an entry has what each side changed of it."""
    if base is None:
        return False
    for side in (ours, theirs):
        for name in ("type", "mode", "content", "target"):
            if getattr(side, name) != getattr(base, name) and getattr(found, name) != getattr(side, name):
                return False
    return True


@settings(max_examples=80 * LONGER)
@given(base=TREES, ours=TREES, theirs=TREES)
def test_the_sides_meet_the_same_conflicts_either_way(base: Tree, ours: Tree, theirs: Tree) -> None:
    here, there = _merge(base, ours, theirs), _merge(base, theirs, ours)
    assert bool(here.conflicts or here.texts) == bool(there.conflicts or there.texts)
    if not here.conflicts and not here.texts:
        assert _edited(ours, here) == _edited(theirs, there)


_LINE = st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\r\n", b"\n"])


def _text(lines: list[bytes], last: bytes) -> bytes:
    return b"".join(lines) + last


_TEXTS = st.builds(_text, st.lists(_LINE, max_size=8), st.sampled_from([b"", b"end"]))


@given(base=_TEXTS, other=_TEXTS)
def test_a_text_that_one_side_changed_is_that_side_s(base: bytes, other: bytes) -> None:
    for merge in (
        merge_texts(base, other, base, None),
        merge_texts(base, base, other, None),
        merge_texts(base, other, other, None),
    ):
        assert (merge.text, merge.overlaps) == (other, ())


@settings(max_examples=100 * LONGER)
@given(base=_TEXTS, ours=_TEXTS, theirs=_TEXTS)
def test_lines_go_together_the_same_either_way(base: bytes, ours: bytes, theirs: bytes) -> None:
    here, there = merge_texts(base, ours, theirs, None), merge_texts(base, theirs, ours, None)
    assert bool(here.overlaps) == bool(there.overlaps)
    if here.overlaps:
        marked = merge_texts(base, ours, theirs, _NAMES).text
        assert marked.count(b"<<<<<<< others") == len(here.overlaps) == marked.count(b">>>>>>> the plan")
    else:
        assert here.text == there.text
        assert set(here.text.split(b"\n")) <= {
            line for text in (base, ours, theirs) for line in text.split(b"\n")
        } | {b""}
