"""Stored positions of a checkout: differences between two, and changes of others since.

HEAD and the branch it names are compared by bytes, an index by its entries.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.index_entries import entries_in, same_entries, take_back
from mulligan.adapters.sandboxes.git.position.position import stamp, standing_in
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.adapters.sandboxes.private_sandbox import own_tree, work_folder
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.checkpoints.store_report import Damage
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry
from mulligan.ports import SnapshotStore, Unobserved, WorkingTree

_POINTERS = ("HEAD", "branch")
_INDEX = "index"


class Standings(Struct, frozen=True, eq=False):
    """Compares stored positions of one checkout."""

    there: Git  # in the checkout
    null_id: str
    store: SnapshotStore
    shop: Path  # an empty folder of ours

    def apart(self, one: Root, other: Root) -> tuple[str, ...]:
        """Return the parts that differ between two: HEAD, branch, index."""
        return tuple(each.path for each in self._differences(one, other))

    def of_neither(self, present: Root, one: Root, other: Root) -> tuple[str, ...]:
        """Return the parts that differ now from both of two others."""
        from_one = {d.path for d in self._differences(present, one) if d.old is not None}
        return tuple(path for path in self.apart(present, other) if path in from_one)

    def taken_back(
        self, present: Root, written: Root, before: Root, position: WorkingTree
    ) -> tuple[Root, tuple[str, ...]]:
        """Return the position after taking back what was written, and the parts that stay because of others.

        `position` is an empty folder of ours. If others moved HEAD or its branch, everything stays; in an index
        that others changed, their entries stay.
        """
        theirs = self.of_neither(present, written, before)
        if any(path in _POINTERS for path in theirs):
            return present, theirs
        if not theirs:
            return before, ()
        was_written, was_before = (
            entries_in(self.there, self._index_of(root, name))
            for root, name in ((written, "written"), (before, "before"))
        )
        self.store.restore(Snapshot((before,)), position, Unobserved())
        merged = position.path / _INDEX
        shutil.copy2(self._index_of(present, "present"), merged)
        here = entries_in(self.there, merged)
        if was_written is None or was_before is None or here is None:
            left = theirs  # git cannot read one of them: it stays whole
        else:
            again = take_back(self.there, merged, here, was_written, was_before, self.null_id)
            left = tuple(f"{_INDEX} ({os.fsdecode(path)})" for path in again)
        stamp(position.path)
        (root,) = self.store.capture(position, Unobserved()).snapshot.roots
        self.store.forget_tree(position)
        return root, left

    def committed(self, before: Root, after: Root) -> frozenset[str] | None:
        """Return the paths that commits between two positions changed, and whose files are as committed.

        None: HEAD names the same commit in the same way.
        """
        if not any(path in _POINTERS for path in self.apart(before, after)):
            return None
        heads = [standing_in(self._folder_of(r, n))[1] for r, n in ((before, "old"), (after, "new"))]
        old, new = (head or self._empty_tree() for head in heads)
        edited = self._paths_in("diff", "--name-only", "-z", "--no-renames", new, "--")
        return self._paths_in("diff", "--name-only", "-z", "--no-renames", old, new, "--") - edited

    def _empty_tree(self) -> str:
        return self.there.run("hash-object", "-t", "tree", "--stdin").decode().strip()

    def _paths_in(self, *arguments: str) -> frozenset[str]:
        return frozenset(os.fsdecode(path) for path in self.there.run(*arguments).split(b"\0") if path)

    def _differences(self, one: Root, other: Root) -> list[TreeDifference]:
        found = self.store.difference(one, other)
        return [d for d in found if d.path in _POINTERS or (d.path == _INDEX and not self._same_index(d))]

    def _same_index(self, difference: TreeDifference) -> bool:
        files = (self._write(difference.old, "one"), self._write(difference.new, "other"))
        return same_entries(self.there, *files)

    def _index_of(self, root: Root, name: str) -> Path:
        """A copy of the index that a position holds; none where it has none."""
        return self._folder_of(root, name) / _INDEX

    def _folder_of(self, root: Root, name: str) -> Path:
        """Return a folder with what a position holds."""
        folder = work_folder(self.shop, f"position-{name}")
        self.store.restore(Snapshot((root,)), folder, Unobserved())
        self.store.forget_tree(folder)
        return folder.path

    def _write(self, entry: TreeEntry | None, name: str) -> Path:
        file = self.shop / f"{_INDEX}-{name}"
        file.unlink(missing_ok=True)
        if entry is not None and entry.content is not None:
            file.write_bytes(self.store.read(entry.content))
        return file


def commits_lacking(
    git: Git, store: SnapshotStore, repository: Repository, snapshots: Sequence[Snapshot]
) -> dict[Snapshot, tuple[Damage, ...]]:
    """Return the commits that stored positions name and the repository has no longer."""
    there = git.on(repository.top, GIT_DIR=repository.git_dir)
    found: dict[Snapshot, tuple[Damage, ...]] = {}
    with TemporaryDirectory(prefix="mulligan-verify-") as folder:
        tree = own_tree(Path(folder) / "position")
        for snapshot in snapshots:
            store.restore(Snapshot(snapshot.roots[1:]), tree, Unobserved())
            _, commit = standing_in(tree.path)
            if commit is not None and there.attempt("cat-file", "-e", f"{commit}^{{commit}}").returncode:
                found[snapshot] = (Damage(commit, f"the commit is no longer in {repository.git_dir}"),)
        store.forget_tree(tree)
    return found
