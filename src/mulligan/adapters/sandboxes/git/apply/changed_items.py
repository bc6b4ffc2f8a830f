"""Changes of a plan in a checkout, file by file, and their effect on the commit or the index."""

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from mulligan.adapters.sandboxes.git.apply.leaf_merge import CannotMerge, merge_leaves
from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry

Changes = dict[bytes, Leaf | None]
Lookup = Callable[[bytes], Leaf | None]


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
        result = merge_leaves(self.base, self.theirs, present, merge_blobs)
        changes: Changes = {}
        if self.old is not None and self.old != self.new:
            changes[self.old] = None
        if self.new is not None:
            taken = side(self.new)
            if self.old is not None and self.old != self.new and taken not in (None, result):
                raise CannotMerge
            changes[self.new] = result
        return {path: leaf for path, leaf in changes.items() if side(path) != leaf}


def went_and_came(
    differences: Iterable[TreeDifference],
) -> tuple[dict[str, TreeEntry], dict[str, TreeEntry]]:
    """The files and symlinks that only the old tree has, and those that only the new one has."""
    gone: dict[str, TreeEntry] = {}
    come: dict[str, TreeEntry] = {}
    for difference in differences:
        old, new = of_git(difference.old), of_git(difference.new)
        if old is not None and new is None:
            gone[difference.path] = old
        elif new is not None and old is None:
            come[difference.path] = new
    return gone, come


def of_git(entry: TreeEntry | None) -> TreeEntry | None:
    """The entry, if git can have it: folders are none of its."""
    return None if entry is None or entry.is_folder else entry
