"""Parked trees: working copies of plans that are over, kept for the next plan on the same resource.

Making a copy of a large tree takes far longer than setting one right in which little has changed. A parked tree is
never trusted: the plan that adopts it compares every file with what the store remembers of it.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.adapters.sandboxes.removal import (
    clear_trash,
    is_plainly_in,
    new_name,
    opened_parent,
    remove_tree,
    unlock,
)
from mulligan.boundaries import act
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.resource import Sandbox
from mulligan.osfiles.folders import make_private_folder
from mulligan.ports import Observer, SnapshotStore, WorkingTree

PARKED = ".parked"
_FREE = 20  # this part of the disk stays free


class ParkedTrees(Struct, frozen=True, eq=False, kw_only=True):
    """The parked trees of a project, in a folder for each resource."""

    home: Path  # the folder for sandboxes
    store: SnapshotStore
    limit: Callable[[], int]  # trees to keep for one resource

    def park(self, sandbox: Sandbox, tree: WorkingTree, room: int = 0) -> None:
        """Keep a working copy that no row refers to, in the place of the oldest one; remove it if none are kept.

        With `room` as many as that are kept, if any are. The next one that is parked goes by the limit again.
        """
        shelf = self._shelf_of(sandbox)
        most = max(self.limit(), room) if self.limit() > 0 else 0
        if most > 0 and self._is_whole(sandbox) and _is_folder(tree.path) and self._has_space():
            parked = shelf / new_name()
            if self.store.move_mark(tree, _tree_at(parked)):
                make_private_folder(shelf)
                with opened_parent(tree.path) as folder:
                    unlock(tree.path.name, folder)
                with act("sandbox.park"):
                    tree.path.rename(parked)
        for old in self._in(shelf)[most:]:
            self._remove(old)
        remove_tree(tree.path, self.home)
        self.store.forget_tree(tree)

    def adopt(self, sandbox: Sandbox, snapshot: Snapshot, tree: WorkingTree, observer: Observer) -> bool:
        """Make the working copy of a new sandbox from a parked tree; return False where there is none that is fit.

        It comes to its place when it is complete.
        """
        if not self._is_whole(sandbox):
            return False
        place = tree.path.with_name(f".adopted-{tree.path.name}")
        remove_tree(place, self.home)  # a killed process may have left one
        if os.path.lexists(tree.path):
            return False  # what a killed process began to make is completed
        for parked in self._in(self._shelf_of(sandbox)):
            make_private_folder(place.parent)
            try:
                with act("sandbox.adopt"):
                    parked.rename(place)
            except FileNotFoundError:
                continue  # another plan was faster
            self.store.move_mark(_tree_at(parked), tree)
            if self._is_set_right(snapshot, replace(tree, path=place), observer):
                with act("sandbox.adopt"):
                    place.rename(tree.path)
                self.store.adopted(replace(tree, path=place), tree)
                return True
            remove_tree(place, self.home)
            self.store.forget_tree(tree)
        return False

    def _is_set_right(self, snapshot: Snapshot, tree: WorkingTree, observer: Observer) -> bool:
        for path in (*tree.excluded, *self.store.matched(tree)):
            if not is_plainly_in(tree.path / path, self.home):
                return False  # the plan put a symlink on the way
            remove_tree(tree.path / path, self.home)
        return self.store.adopt(snapshot, tree, observer)

    def all(self) -> list[Path]:
        """Return all parked trees."""
        return [tree for shelf in _folders_in(self.home / PARKED) for tree in self._in(shelf)]

    def trees(self) -> list[WorkingTree]:
        """Return them as the store knows them."""
        return [_tree_at(path) for path in self.all()]

    def clear(self, *, wait: bool) -> bool:
        """Remove all of them; return whether there were any. With `wait` nothing is left to remove afterwards."""
        found = self.all()
        for parked in found:
            self._remove(parked)
        if wait:
            clear_trash(self.home)
        return bool(found)

    def _remove(self, parked: Path) -> None:
        remove_tree(parked, self.home)
        self.store.forget_tree(_tree_at(parked))
        with suppress(OSError):  # it holds others
            parked.parent.rmdir()

    def _is_whole(self, sandbox: Sandbox) -> bool:
        """Return whether a working copy has a folder of its own: one inside another is part of that."""
        path = Path(sandbox.path)
        return path.parent == self.home / sandbox.plan_id and is_plainly_in(path, self.home)

    def _has_space(self) -> bool:
        """Return whether the disk has so much free that a copy may lie there unused."""
        disk = os.statvfs(self.home)
        return disk.f_bavail > disk.f_blocks // _FREE

    def _shelf_of(self, sandbox: Sandbox) -> Path:
        """Return the folder for trees with the same content: of one resource, leaving out the same."""
        import hashlib  # here: it loads a library for cryptography, and most commands park nothing

        facts = (sandbox.type, sandbox.location, *sandbox.excluded, "", *sandbox.patterns)
        return self.home / PARKED / hashlib.sha256(os.fsencode("\0".join(facts))).hexdigest()[:16]

    def _in(self, shelf: Path) -> list[Path]:
        """Return the trees on a shelf, the one that was parked last first: the move has set its change time."""
        found: list[tuple[int, Path]] = []
        for path in _folders_in(shelf):
            with suppress(FileNotFoundError):
                found.append((path.lstat().st_ctime_ns, path))
        return [path for _, path in sorted(found, reverse=True)]


def _tree_at(parked: Path) -> WorkingTree:
    return WorkingTree(path=parked, cache_key=f"parked {parked.name}", excluded=frozenset(), real=False)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _folders_in(folder: Path) -> Sequence[Path]:
    try:
        return sorted(path for path in folder.iterdir() if _is_folder(path))
    except FileNotFoundError:
        return ()
