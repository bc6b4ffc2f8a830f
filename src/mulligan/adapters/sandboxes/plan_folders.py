"""Folders of plans on disk, whether a row names them or not."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mulligan.adapters.sandboxes.removal import clear_trash, exchange, remove_tree, trash_in
from mulligan.boundaries import act
from mulligan.domain.text.ids import PlanId
from mulligan.errors import SystemFailed
from mulligan.osfiles.folders import size_of_folder


class LocalPlanFolders:
    """One folder per plan, and in it one per sandbox or tool call."""

    def __init__(self, *, home: Path) -> None:
        """`home` is the folder that holds those of all plans."""
        self._home = home

    def plans(self) -> list[PlanId]:
        """The plans that have folders."""
        return [PlanId(path.name) for path in _folders_in(self._home)]

    def list(self, plan_id: PlanId) -> "list[Path]":
        """The plan's folders, by name."""
        return _folders_in(self._home / plan_id)

    def size_of(self, folder: Path) -> int:
        """Return the size of its files, as far as they can be read: the number is for people."""
        return size_of_folder(folder)

    def remove(self, folder: Path) -> None:
        """Remove a folder with all that is in it, and the plan's own when that was the last."""
        remove_tree(folder, self._home)
        with suppress(OSError):  # it holds others
            folder.parent.rmdir()

    def is_free(self, folder: Path) -> bool:
        """Return whether the place of one of a plan's folders is free; False for a folder of another project."""
        plan = folder.parent
        return plan.parent == self._home and not plan.is_symlink() and not os.path.lexists(folder)

    def make_beside(self, folder: Path) -> Path:
        """Make an empty folder beside another; gc removes what a killed process leaves of it."""
        copy = folder.with_name(f".copy-{folder.name}")
        remove_tree(copy, self._home)
        try:
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            copy.mkdir(mode=0o700)
        except OSError as exc:
            raise SystemFailed(path=str(copy), reason=exc.strerror or str(exc)) from exc
        return copy

    def put_in_place(self, copy: Path, folder: Path) -> None:
        """Let both change places, and remove what was there; or give the copy its name, where nothing was."""
        try:
            if self.is_free(folder):
                with act("sandbox.remake"):
                    copy.rename(folder)
                return
            with act("sandbox.renew"):
                exchange(copy, folder)
        except OSError as exc:
            raise SystemFailed(path=str(folder), reason=exc.strerror or str(exc)) from exc
        remove_tree(copy, self._home)

    def trash(self) -> "list[Path]":
        """Return what a removal left, or has not removed yet."""
        return trash_in(self._home)

    def clear_trash(self) -> None:
        """Remove all of that."""
        clear_trash(self._home)


class LocalRepositoryFolders(LocalPlanFolders):
    """The repositories of checkpoints, which have pins elsewhere."""

    def __init__(self, *, home: Path, release: Callable[[Path], None]) -> None:
        """`release` removes the pins of one."""
        super().__init__(home=home)
        self._release = release

    def remove(self, folder: Path) -> None:
        """Remove one, and its pins first: only the repository knows them."""
        self._release(folder)
        super().remove(folder)


def _folders_in(home: Path) -> list[Path]:
    try:
        return sorted(path for path in home.iterdir() if path.is_dir() and not path.is_symlink())
    except FileNotFoundError:
        return []
