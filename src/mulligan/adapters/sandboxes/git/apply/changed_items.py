"""Changes of a plan in a checkout, file by file, and their effect on the commit or the index."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf
from mulligan.domain.trees.line_diff import is_binary
from mulligan.domain.trees.text_merge import merge_texts
from mulligan.domain.trees.tree_difference import TreeEntry

_FILES = frozenset({b"100644", b"100755"})
Changes = dict[bytes, Leaf | None]
Lookup = Callable[[bytes], Leaf | None]


class CannotMerge(Exception):
    """Both sides changed the same."""


class Item(Struct, frozen=True):
    """One file that came, went, changed or was renamed; a side where it is not has neither path nor leaf."""

    old: bytes | None
    new: bytes | None
    base: Leaf | None
    theirs: Leaf | None

    @property
    def path(self) -> bytes:
        """The name that users know it by from now on."""
        return self.new or self.old or b""

    def at(self, moved: Mapping[bytes, bytes], side: Lookup) -> "Item":
        """The same item where a side has the file under the name that the user gave it since."""
        if self.old is None or self.old not in moved or side(self.old) is not None:
            return self
        there = moved[self.old]
        return Item(there, there if self.new == self.old else self.new, self.base, self.theirs)

    def on(self, side: Lookup, merge_blobs: Callable[[bytes, bytes, bytes], bytes]) -> Changes:
        """Return the changes on one side; CannotMerge where it lacks what the plan built on."""
        present = side(self.old if self.old is not None else self.path)
        if self.old is not None and present is None and self.theirs is not None:
            raise CannotMerge
        result = _merge_leaves(self.base, self.theirs, present, merge_blobs)
        changes: Changes = {}
        if self.old is not None and self.old != self.new:
            changes[self.old] = None
        if self.new is not None:
            taken = side(self.new)
            if self.old is not None and self.old != self.new and taken not in (None, result):
                raise CannotMerge
            changes[self.new] = result
        return {path: leaf for path, leaf in changes.items() if side(path) != leaf}


def of_git(entry: TreeEntry | None) -> TreeEntry | None:
    """The entry, if git can have it: folders are none of its."""
    return None if entry is None or entry.is_folder else entry


def _merge_leaves(
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
    mode = theirs[0] if ours[0] == base[0] else ours[0]  # of two modes: if both sides changed it, then alike
    if theirs[1] in (ours[1], base[1]):
        return mode, ours[1]
    return mode, theirs[1] if ours[1] == base[1] else merge_blobs(base[1], theirs[1], ours[1])


def merge_lines(base: bytes, theirs: bytes, ours: bytes) -> bytes:
    """Merge texts line by line; CannotMerge where changes overlap, or where both sides changed a binary."""
    if any(is_binary(text) for text in (base, theirs, ours)):
        raise CannotMerge
    merged = merge_texts(base, ours, theirs, None)
    if merged.overlaps:
        raise CannotMerge
    return merged.text
