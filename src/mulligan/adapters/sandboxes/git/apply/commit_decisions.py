"""Decisions about each change of a plan: into the user's commit and index, or the working tree only."""

import os
from collections.abc import Mapping, Sequence

from mulligan.adapters.sandboxes.git.apply.changed_items import Changes, Item, of_git, went_and_came
from mulligan.adapters.sandboxes.git.apply.clean_filters import Cleaning
from mulligan.adapters.sandboxes.git.apply.index_update import Staged
from mulligan.adapters.sandboxes.git.apply.leaf_merge import CannotMerge, merge_lines
from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf, Trees, folders_above
from mulligan.domain.trees.renames import find_renames
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry, beyond_patch
from mulligan.ports import ApplyOrder, SnapshotStore

_GIT_DIRECTORIES = frozenset({".git", "git~1"})


class Sides:
    """HEAD and the index, before anything changes, and the blobs of files as git has them."""

    def __init__(self, trees: Trees, tree: bytes | None, staged: Staged, cleaning: Cleaning) -> None:
        """`tree` is that of HEAD; None: there is no commit yet."""
        self.trees = trees
        self.tree = tree
        self.staged = staged
        self.cleaning = cleaning

    def head(self, path: bytes) -> Leaf | None:
        """Return the entry of the last commit at a path."""
        return self.trees.leaf(self.tree, path)

    def index(self, path: bytes) -> Leaf | None:
        """Return the staged entry at a path."""
        return self.staged.leaf(path)

    def knows(self, path: bytes) -> bool:
        """Return whether git has an entry at a path."""
        return self.index(path) is not None or self.head(path) is not None

    def merge_blobs(self, base: bytes, theirs: bytes, ours: bytes) -> bytes:
        """Merge the lines of three blobs into a new one."""
        merged = merge_lines(self._read(base), self._read(theirs), self._read(ours))
        return self.cleaning.objects.add("blob", merged)

    def _read(self, blob: bytes) -> bytes:
        source = self.cleaning.source(blob)
        return source if source is not None else self.trees.blob(blob)


class Decisions:
    """The changes that go into the commit and the index, and those that reach the working tree only."""

    def __init__(
        self,
        store: SnapshotStore,
        order: ApplyOrder,
        sides: Sides,
        merged: Mapping[bytes, TreeEntry | None],
    ) -> None:
        """`merged` is what the working tree is about to get, by path."""
        self._store = store
        self._order = order
        self._sides = sides
        self._merged = merged
        folders = (d.path for d in order.changed if d.old is not None and d.old.is_folder)
        self._folders = frozenset(map(os.fsencode, folders))  # that were there before the plan
        self.committed: Changes = {}
        self.staged: Changes = {}
        self.uncommitted: list[str] = []

    def decide(self, differences: Sequence[TreeDifference]) -> None:
        """Go through what the plan changed."""
        items, ignored = self._items(differences)
        for path in sorted(ignored):
            self._leave(path, "git ignores it")
        moved = self._moved_by_user(items)
        waiting: list[tuple[Item, Changes, Changes]] = []
        for item in items:
            there, here = item.at(moved, self._sides.head), item.at(moved, self._sides.index)
            try:
                committed = there.on(self._sides.head, self._sides.merge_blobs)
                staged = here.on(self._sides.index, self._sides.merge_blobs)
            except CannotMerge:
                self._leave(item.path, self._why(item))
            else:
                waiting.append((item, committed, staged))
                self._take(committed, staged)
                if item.theirs is None and item.path in self._merged and not self._sides.knows(item.path):
                    self._leave(item.path, self._why(item))
        for item, committed, staged in waiting:
            if self._is_blocked(committed, staged):
                for path in (*committed, *staged):
                    self.committed.pop(path, None)
                    self.staged.pop(path, None)
                self._leave(item.path, "your last commit or index has something else at that path")
        for difference in differences:
            if told := beyond_patch(difference.old, difference.new):
                self._leave(os.fsencode(difference.path), f"git does not keep {', '.join(told)}")

    def _take(self, committed: Changes, staged: Changes) -> None:
        """Add to what is decided; a name that one file leaves and another takes is taken."""
        for into, changes in ((self.committed, committed), (self.staged, staged)):
            for path, leaf in changes.items():
                if leaf is not None or path not in into:
                    into[path] = leaf

    def _items(self, differences: Sequence[TreeDifference]) -> tuple[list[Item], set[bytes]]:
        old: dict[bytes, TreeEntry] = {}
        new: dict[bytes, TreeEntry] = {}
        for d in differences:
            path = os.fsencode(d.path)
            if (entry := of_git(d.old)) is not None:
                old[path] = entry
            if (entry := of_git(d.new)) is not None:
                new[path] = entry
        cleaning = self._sides.cleaning
        judged = cleaning.judge(old.keys() | new.keys())
        ignored = {path for path in judged.ignored if not self._sides.knows(path)}
        kept = {path: entry for path, entry in new.items() if path not in ignored}
        was = {path: entry for path, entry in old.items() if path not in ignored}
        theirs = cleaning.leaves(kept, judged.conversions, kept=True)
        base = cleaning.leaves(was, judged.conversions, kept=False)
        renames = self._renames(was, kept, base)
        items = [
            Item(
                path, path if path in theirs else renames.get(path), leaf, theirs.get(renames.get(path, path))
            )
            for path, leaf in base.items()
        ]
        taken = {item.new for item in items}
        items += [Item(None, path, None, leaf) for path, leaf in theirs.items() if path not in taken]
        return sorted(items, key=lambda item: item.path), ignored

    def _renames(
        self, was: Mapping[bytes, TreeEntry], now: Mapping[bytes, TreeEntry], base: Mapping[bytes, Leaf]
    ) -> dict[bytes, bytes]:
        """Return the plan's renames of files with uncommitted changes of the user."""
        gone = {
            os.fsdecode(path): entry
            for path, entry in was.items()
            if path not in now and not (self._sides.head(path) == self._sides.index(path) == base[path])
        }
        come = {os.fsdecode(path): entry for path, entry in now.items() if path not in was}
        if not gone or not come:
            return {}
        return self._pairs(gone, come)

    def _moved_by_user(self, items: Sequence[Item]) -> dict[bytes, bytes]:
        """Return the user's renames, since the sandbox was made, of files that the plan changed."""
        lost = {
            os.fsdecode(item.old)
            for item in items
            if item.old is not None and None in (self._sides.head(item.old), self._sides.index(item.old))
        }
        if not lost:
            return {}
        differences = self._store.difference(self._order.base.roots[0], self._order.ours.roots[0])
        gone, come = went_and_came(d for d in differences if can_have(d.path))
        return self._pairs({p: e for p, e in gone.items() if p in lost}, come)

    def _pairs(self, gone: Mapping[str, TreeEntry], come: Mapping[str, TreeEntry]) -> dict[bytes, bytes]:
        renames, _ = find_renames(gone, come, self._store.read)
        return {os.fsencode(rename.old): os.fsencode(rename.new) for rename in renames}

    def _is_blocked(self, committed: Changes, staged: Changes) -> bool:
        """Return whether a file would be in the place of a folder that stays, or below a file."""
        for changes, all_changes, side, below in (
            (committed, self.committed, self._sides.head, self._below_in_head),
            (staged, self.staged, self._sides.index, self._sides.staged.below),
        ):
            for path, leaf in changes.items():
                if leaf is None or side(path) is not None:
                    continue
                above = folders_above([path]) - {b""}
                if any((all_changes[f] if f in all_changes else side(f)) is not None for f in above):
                    return True
                inside = below(path) if path in self._folders else ()
                if any(all_changes.get(inner, leaf) is not None for inner in inside):
                    return True
        return False

    def _below_in_head(self, path: bytes) -> list[bytes]:
        return self._sides.trees.leaves_below(self._sides.tree, path) if self._sides.tree is not None else []

    def _why(self, item: Item) -> str:
        path = item.old if item.old is not None else item.path
        if item.base is not None and not self._sides.knows(path):
            return "you had it untracked"
        if item.base is not None and self._sides.head(path) is None:
            return "it is staged and in no commit yet"
        return "it builds on what you have not committed there"

    def _leave(self, path: bytes, why: str) -> None:
        self.uncommitted.append(f"{os.fsdecode(path)}: {why}")


def can_have(path: str) -> bool:
    """Return whether git accepts a path in an index: not one in a git directory, or that other systems take for one."""
    return not _GIT_DIRECTORIES & {name.lower() for name in path.split("/")}
