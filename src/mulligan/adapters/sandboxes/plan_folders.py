"""Folders of plans on disk, whether a row names them or not."""

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.removal import clear_trash, exchange, remove_tree, trash_in
from mulligan.boundaries import act
from mulligan.domain.text.ids import PlanId, is_id
from mulligan.errors import SystemFailed
from mulligan.osfiles.folders import size_of_folder


class LocalPlanFolders(Struct, frozen=True, eq=False, kw_only=True):
    """One folder per plan, and in it one per sandbox or tool call."""

    home: Path  # the folder that holds those of all plans

    def plans(self) -> list[PlanId]:
        return [PlanId(path.name) for path in _folders_in(self.home)]

    def list(self, plan_id: PlanId) -> "list[Path]":
        folder = self.home / plan_id
        return [] if folder.is_symlink() else _folders_in(folder)

    def size_of(self, folder: Path) -> int:
        return size_of_folder(folder)

    def remove(self, folder: Path) -> None:
        remove_tree(folder, self.home)
        with suppress(OSError):  # it holds others
            folder.parent.rmdir()

    def remove_all(self, plan_id: PlanId) -> None:
        for folder in self.list(plan_id):
            self.remove(folder)
        if is_id(plan_id):  # nothing else is the name of a folder of ours
            remove_tree(self.home / plan_id, self.home)

    def is_free(self, folder: Path) -> bool:
        """Return whether the place of one of a plan's folders is free; False for a folder of another project."""
        plan = folder.parent
        return plan.parent == self.home and not plan.is_symlink() and not os.path.lexists(folder)

    def make_beside(self, folder: Path) -> Path:
        """Make an empty folder beside another; gc removes what a killed process leaves of it."""
        copy = folder.with_name(f".copy-{folder.name}")
        remove_tree(copy, self.home)
        try:
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            copy.mkdir(mode=0o700)
        except OSError as exc:
            raise SystemFailed(path=str(copy), reason=exc.strerror or str(exc)) from exc
        return copy

    def set_aside(self, folder: Path) -> Path:
        names = (folder.with_name(f"kept-{number}-{folder.name}") for number in count(1))
        kept = next(each for each in names if not os.path.lexists(each))
        try:
            with act("sandbox.renew"):
                folder.rename(kept)
        except OSError as exc:
            raise SystemFailed(path=str(folder), reason=exc.strerror or str(exc)) from exc
        return kept

    def put_in_place(self, copy: Path, folder: Path) -> None:
        try:
            if self.is_free(folder):
                with act("sandbox.remake"):
                    copy.rename(folder)
                return
            with act("sandbox.renew"):
                exchange(copy, folder)
        except OSError as exc:
            raise SystemFailed(path=str(folder), reason=exc.strerror or str(exc)) from exc
        remove_tree(copy, self.home)

    def trash(self) -> "list[Path]":
        return trash_in(self.home)

    def clear_trash(self) -> None:
        clear_trash(self.home)


class LocalRepositoryFolders(LocalPlanFolders, frozen=True, eq=False, kw_only=True):
    """The repositories of checkpoints, which have pins elsewhere."""

    release: Callable[[Path], None]  # removes the pins of one

    def remove(self, folder: Path) -> None:
        """Remove one, and its pins first: only the repository knows them."""
        self.release(folder)
        super().remove(folder)


def _folders_in(home: Path) -> list[Path]:
    try:
        return sorted(path for path in home.iterdir() if path.is_dir() and not path.is_symlink())
    except FileNotFoundError:
        return []
