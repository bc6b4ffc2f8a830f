"""Decisions about each change of a plan: into the user's commit and index, or the working tree only."""

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from mulligan.adapters.sandboxes.git.apply.changed_items import (
    CannotMerge,
    Changes,
    Item,
    merge_lines,
    of_git,
)
from mulligan.adapters.sandboxes.git.apply.clean_filters import Cleaning
from mulligan.adapters.sandboxes.git.apply.staged_entries import Staged
from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf, Trees, folders_above
from mulligan.domain.trees.renames import find_renames
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry, beyond_patch
from mulligan.ports import ApplyOrder, SnapshotStore

_GIT_DIRECTORIES = frozenset({".git", "git~1"})


class Sides(Struct, frozen=True, eq=False):
    """HEAD and the index, before anything changes, and the blobs of files as git has them."""

    trees: Trees
    tree: bytes | None  # of HEAD; None: there is no commit yet
    staged: Staged
    cleaning: Cleaning

    def head(self, path: bytes) -> Leaf | None:
        return self.trees.leaf(self.tree, path)

    def index(self, path: bytes) -> Leaf | None:
        return self.staged.leaf(path)

    def knows(self, path: bytes) -> bool:
        return self.index(path) is not None or self.head(path) is not None

    def merge_blobs(self, base: bytes, theirs: bytes, ours: bytes) -> bytes:
        merged = merge_lines(self._read(base), self._read(theirs), self._read(ours))
        return self.cleaning.objects.add("blob", merged)

    def _read(self, blob: bytes) -> bytes:
        source = self.cleaning.source(blob)
        return source if source is not None else self.trees.blob(blob)


class Decisions(Struct, frozen=True, eq=False):
    """The changes that go into the commit and the index, and those that reach the working tree only."""

    store: SnapshotStore
    order: ApplyOrder
    sides: Sides
    merged: Mapping[bytes, TreeEntry | None]  # what the working tree is about to get, by path
    committed: Changes = field(default_factory=dict[bytes, Leaf | None])
    staged: Changes = field(default_factory=dict[bytes, Leaf | None])
    uncommitted: list[str] = field(default_factory=list[str])

    def decide(self, differences: Sequence[TreeDifference]) -> None:
        items, ignored = self._items(self._still_to_do(differences))
        for path in sorted(ignored):
            self._leave(path, "git ignores it")
        moved = self._moved_by_user(items)
        folders = (d.path for d in self.order.changed if d.old is not None and d.old.is_folder)
        before = frozenset(map(os.fsencode, folders))  # folders that were there before the plan
        waiting: list[tuple[Item, Changes, Changes]] = []
        for item in items:
            there, here = item.at(moved, self.sides.head), item.at(moved, self.sides.index)
            try:
                committed = there.on(self.sides.head, self.sides.merge_blobs)
                staged = here.on(self.sides.index, self.sides.merge_blobs)
            except CannotMerge:
                self._leave(item.path, self._why(item))
            else:
                waiting.append((item, committed, staged))
                self._take(committed, staged)
                if item.theirs is None and item.path in self.merged and not self.sides.knows(item.path):
                    self._leave(item.path, self._why(item))
        for item, committed, staged in waiting:
            if self._is_blocked(committed, staged, before):
                for path in (*committed, *staged):
                    self.committed.pop(path, None)
                    self.staged.pop(path, None)
                self._leave(item.path, "your last commit or index has something else at that path")
        for difference in differences:
            if lost := beyond_patch(difference.old, difference.new):
                self._leave(os.fsencode(difference.path), f"git does not keep {', '.join(lost)}")

    def _still_to_do(self, differences: Sequence[TreeDifference]) -> list[TreeDifference]:
        """Return the plan's changes without what the user made in the same way: that stays as uncommitted as it was."""
        found = self.store.difference(self.order.base.roots[0], self.order.ours.roots[0])
        by_user = {d.path: of_git(d.new) for d in found}
        left: list[TreeDifference] = []
        same: dict[bytes, TreeEntry | None] = {}
        for each in differences:
            ours, path = by_user.get(each.path), os.fsencode(each.path)
            if each.path not in by_user or not each.of_files:
                left.append(each)
            elif _same_to_git(ours, of_git(each.new)):
                same[path] = ours
            elif ours is not None and each.old is not None and self.merged.get(path) is not None:
                left.append(TreeDifference(each.path, ours, self.merged[path]))
            else:
                left.append(each)
        self._leave_uncommitted(same)
        return left

    def _leave_uncommitted(self, same: Mapping[bytes, TreeEntry | None]) -> None:
        """List the files of the working tree that HEAD has in another state."""
        if not same:
            return
        cleaning, there = self.sides.cleaning, {path: entry for path, entry in same.items() if entry}
        leaves = cleaning.leaves(there, cleaning.judge(there).conversions, kept=False)
        for path in sorted(same):
            if leaves.get(path) != self.sides.head(path):
                self._leave(path, "you made the same change, and have not committed it")

    def _take(self, committed: Changes, staged: Changes) -> None:
        """Add to what is decided; a name that one file leaves and another takes is taken."""
        for into, changes in ((self.committed, committed), (self.staged, staged)):
            for path, leaf in changes.items():
                if leaf is not None or path not in into:
                    into[path] = leaf

    def _items(self, differences: Sequence[TreeDifference]) -> tuple[list[Item], set[bytes]]:
        old = {os.fsencode(d.path): entry for d in differences if (entry := of_git(d.old))}
        new = {os.fsencode(d.path): entry for d in differences if (entry := of_git(d.new))}
        cleaning = self.sides.cleaning
        judged = cleaning.judge(old.keys() | new.keys())
        ignored = {path for path in judged.ignored if not self.sides.knows(path)}
        kept = {path: entry for path, entry in new.items() if path not in ignored}
        was = {path: entry for path, entry in old.items() if path not in ignored}
        theirs = cleaning.leaves(kept, judged.conversions, kept=True)
        base = cleaning.leaves(was, judged.conversions, kept=False)
        renames = self._renames(was, kept, base)
        items: list[Item] = []
        for path, leaf in base.items():
            there = path if path in theirs else renames.get(path)
            items.append(Item(path, there, leaf, theirs.get(there or path)))
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
            if path not in now and not (self.sides.head(path) == self.sides.index(path) == base[path])
        }
        come = {os.fsdecode(path): entry for path, entry in now.items() if path not in was}
        return self._pairs(gone, come) if gone and come else {}

    def _moved_by_user(self, items: Sequence[Item]) -> dict[bytes, bytes]:
        """Return the user's renames, since the sandbox was made, of files that the plan changed."""
        lost = {
            os.fsdecode(item.old)
            for item in items
            if item.old is not None and None in (self.sides.head(item.old), self.sides.index(item.old))
        }
        if not lost:
            return {}
        found = self.store.difference(self.order.base.roots[0], self.order.ours.roots[0])
        sides = [(d.path, of_git(d.old), of_git(d.new)) for d in found if can_have(d.path)]
        gone = {path: old for path, old, new in sides if path in lost and old and not new}
        come = {path: new for path, old, new in sides if new and not old}
        return self._pairs(gone, come)

    def _pairs(self, gone: Mapping[str, TreeEntry], come: Mapping[str, TreeEntry]) -> dict[bytes, bytes]:
        renames, _ = find_renames(gone, come, self.store.read)
        return {os.fsencode(rename.old): os.fsencode(rename.new) for rename in renames}

    def _is_blocked(self, committed: Changes, staged: Changes, folders: frozenset[bytes]) -> bool:
        """Return whether a file would be in the place of a folder that stays, or below a file."""
        for changes, all_changes, side, below in (
            (committed, self.committed, self.sides.head, self._below_in_head),
            (staged, self.staged, self.sides.index, self.sides.staged.below),
        ):
            for path, leaf in changes.items():
                if leaf is None or side(path) is not None:
                    continue
                above = folders_above([path]) - {b""}
                if any((all_changes[f] if f in all_changes else side(f)) is not None for f in above):
                    return True
                inside = below(path) if path in folders else ()
                if any(all_changes.get(inner, leaf) is not None for inner in inside):
                    return True
        return False

    def _below_in_head(self, path: bytes) -> list[bytes]:
        return self.sides.trees.leaves_below(self.sides.tree, path) if self.sides.tree is not None else []

    def _why(self, item: Item) -> str:
        path = item.old if item.old is not None else item.path
        if item.base is not None and not self.sides.knows(path):
            return "you had it untracked"
        if item.base is not None and self.sides.head(path) is None:
            return "it is staged and in no commit yet"
        return "it builds on what you have not committed there"

    def _leave(self, path: bytes, why: str) -> None:
        self.uncommitted.append(f"{os.fsdecode(path)}: {why}")


def _same_to_git(one: TreeEntry | None, other: TreeEntry | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.git_mode, one.content, one.target) == (other.git_mode, other.content, other.target)


def can_have(path: str) -> bool:
    """Return whether git accepts a path in an index: not one in a git directory, or that other systems take for one."""
    return not _GIT_DIRECTORIES & {name.lower() for name in path.split("/")}
