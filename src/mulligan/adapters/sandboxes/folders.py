"""The folders of sandboxes on disk, whether a row names them or not."""

import os
from pathlib import Path

from mulligan.adapters.sandboxes.removal import remove_tree
from mulligan.domain.ids import PlanId
from mulligan.ports import SandboxFolder


class LocalSandboxFolders:
    """One folder per plan, and in it one per sandbox."""

    def __init__(self, *, home: Path) -> None:
        """`home` is the folder for sandboxes."""
        self._home = home

    def plans(self) -> list[PlanId]:
        """The plans that have folders."""
        return [PlanId(path.name) for path in _folders_in(self._home)]

    def list(self, plan_id: PlanId) -> list[SandboxFolder]:
        """The plan's folders, by name."""
        found = _folders_in(self._home / plan_id)
        return [SandboxFolder(path=path, size_bytes=_size_of(path)) for path in found]

    def remove(self, folder: SandboxFolder) -> None:
        """Remove a folder with all that is in it."""
        remove_tree(folder.path, self._home)


def _folders_in(home: Path) -> list[Path]:
    try:
        return sorted(path for path in home.iterdir() if path.is_dir() and not path.is_symlink())
    except FileNotFoundError:
        return []


def _size_of(folder: Path) -> int:
    """What its files hold, as far as it can be looked into."""
    size = 0
    for inner, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(inner, name)).st_size
            except OSError:
                continue  # went meanwhile, or a path too long: the number is for people
    return size
