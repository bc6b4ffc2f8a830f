"""What of a difference no patch can carry is named, and nothing else."""

import pytest

from mulligan.domain.trees.tree_difference import (
    EntryType,
    TreeDifference,
    TreeEntry,
    beyond_patch,
    changed_by_others,
)


def _entry(type: EntryType, mode: int, **more: object) -> TreeEntry:
    facts: dict[str, object] = {
        "content": None,
        "target": b"",
        "shared_with": b"",
        "attributes": (),
        "empty": False,
    }
    return TreeEntry(type=type, mode=mode, **{**facts, **more})  # pyright: ignore[reportArgumentType] - facts of any type


def _file(mode: int, **more: object) -> TreeEntry:
    return _entry(EntryType.FILE, mode, **more)


def _folder(mode: int, *, empty: bool = False) -> TreeEntry:
    return _entry(EntryType.FOLDER, mode, empty=empty)


LINK = _entry(EntryType.SYMLINK, 0o777)
NOTE = ((b"user.note", b"x"),)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (None, _file(0o644), ()),
        (None, _file(0o775), ()),
        (None, _file(0o600), ("mode 0600",)),
        (None, LINK, ()),
        (_file(0o600), None, ()),
        (_file(0o644), _file(0o755), ()),
        (_file(0o600), _file(0o755), ()),
        (_file(0o644), _file(0o664), ("mode 0644 to 0664",)),
        (_file(0o644), _file(0o4755), ("mode 0644 to 4755",)),
        (_file(0o600), _file(0o600, attributes=NOTE), ("attributes",)),
        (_file(0o644), _file(0o644, shared_with=b"a"), ("hard links",)),
        (None, _file(0o600, attributes=NOTE, shared_with=b"a"), ("mode 0600", "attributes", "hard links")),
        (_file(0o600), LINK, ()),
        (LINK, _file(0o700), ("mode 0700",)),
        (None, _folder(0o755), ()),
        (None, _folder(0o700, empty=True), ("empty folder", "mode 0700")),
        (_folder(0o755, empty=True), None, ("empty folder",)),
        (_folder(0o755), None, ()),
        (_folder(0o755), _folder(0o775), ("mode 0755 to 0775",)),
        (_folder(0o755), _folder(0o755, empty=True), ("empty folder",)),
        (_folder(0o755, empty=True), _folder(0o755), ()),
    ],
)
def test_what_a_patch_cannot_carry(
    old: TreeEntry | None, new: TreeEntry | None, words: tuple[str, ...]
) -> None:
    assert beyond_patch(old, new) == words


def _both(
    path: str, present: TreeEntry | None, target: TreeEntry | None, before: TreeEntry | None
) -> list[str]:
    to_target, to_before = ([TreeDifference(path, present, other)] for other in (target, before))
    return list(changed_by_others(to_target, to_before))


@pytest.mark.parametrize(
    ("path", "present", "target", "before", "is_of_others"),
    [
        ("a", _file(0o600), _file(0o644), _file(0o755), True),
        ("a", _file(0o600), None, None, True),
        ("a", LINK, _file(0o644), None, True),
        ("a", None, _file(0o644), _file(0o755), False),
        ("a", _folder(0o700), None, _folder(0o755), False),
        # It had another name, which the return took away; or it has got one that the return brings.
        ("a", _file(0o600), _file(0o644), _file(0o600, shared_with=b"a"), False),
        ("a", _file(0o644), _file(0o644, shared_with=b"a"), _file(0o755), False),
        ("b/.mulligan-0123456789abcdef", _file(0o600), None, None, False),
        ("b/.mulligan-of-mine", _file(0o600), None, None, True),
    ],
)
def test_what_a_return_leaves_in_between_is_not_taken_for_someone_elses(
    path: str,
    present: TreeEntry | None,
    target: TreeEntry | None,
    before: TreeEntry | None,
    *,
    is_of_others: bool,
) -> None:
    assert _both(path, present, target, before) == ([path] if is_of_others else [])
