"""Three-way merges of what git has under one path: of leaves, and of the lines of their blobs."""

from collections.abc import Callable

from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf
from mulligan.domain.trees.line_diff import is_binary
from mulligan.domain.trees.text_merge import merge_texts

_FILES = frozenset({b"100644", b"100755"})


class CannotMerge(Exception):
    """Both sides changed the same."""


def merge_leaves(
    base: Leaf | None,
    theirs: Leaf | None,
    ours: Leaf | None,
    merge_blobs: Callable[[bytes, bytes, bytes], bytes],
) -> Leaf | None:
    """Merge the changes of `theirs` since the base into `ours`; CannotMerge where both changed the same.

    `merge_blobs` is called for files whose contents both changed: base, theirs, ours.
    """
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    if base is None or theirs is None or ours is None:
        raise CannotMerge
    if not {base[0], theirs[0], ours[0]} <= _FILES:
        raise CannotMerge
    mode = (
        theirs[0] if ours[0] == base[0] else ours[0]
    )  # there are two: both sides changed it alike, if they did
    blob = _chosen(base[1], theirs[1], ours[1])
    return mode, blob if blob is not None else merge_blobs(base[1], theirs[1], ours[1])


def _chosen(base: bytes, theirs: bytes, ours: bytes) -> bytes | None:
    """The value of the side that changed it; None: both did, differently."""
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else None


def merge_lines(base: bytes, theirs: bytes, ours: bytes) -> bytes:
    """Merge texts line by line; CannotMerge where changes overlap, or where both sides changed a binary."""
    if any(is_binary(text) for text in (base, theirs, ours)):
        raise CannotMerge
    merged = merge_texts(base, ours, theirs, None)
    if merged.overlaps:
        raise CannotMerge
    return merged.text
