"""Adopting a tree that another plan worked in: it must become what a restore into an empty folder would make.

A file that is exactly as the first restore left it (its inode and change time, which nobody can set) is kept. Anything
else is doubtful: its bytes may be right, but not its owner, its access control list, or the names that it has
elsewhere. It is written again. What cannot be set right by writing files again makes the tree unfit.
"""

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from mulligan.adapters.snapshots.restore.open_files import inodes_open_for_writing
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.memory_maps import shared_writable_maps
from mulligan.adapters.snapshots.scan.shared_searches import SharedSearches
from mulligan.osfiles.directory_handles import path_of

Doubtful: TypeAlias = Mapping[int, set[str]]  # by the id of a folder: names in it, or with such below
NO_DOUBT: Doubtful = {}
_HARMLESS = ("user.", "security.selinux")  # attributes that a restore sets, and those that every file has


def doubts_about(tree: Path, top: Folder, looked_at: Mapping[Folder, Iterable[str]]) -> Doubtful | None:
    """Return what has to be written again; None where the tree cannot be adopted."""
    if _is_guarded(top) or _is_in_use(tree, top):
        return None
    doubtful: dict[int, set[str]] = {}
    for folder, names in looked_at.items():
        for name in names:
            if name in folder.children and not _is_plain(tree / path_of(folder, name)):
                return None
            _doubt(doubtful, folder, name)
    return doubtful


def _doubt(doubtful: dict[int, set[str]], folder: Folder, name: str) -> None:
    """Doubt a name, so that the comparison opens the folders that lead to it."""
    step: Folder | None = folder
    while step is not None and name not in doubtful.setdefault(id(step), set()):
        doubtful[id(step)].add(name)
        step, name = step.parent, step.name


def _is_plain(folder: Path) -> bool:
    """Return whether a folder has the owner and the attributes of one that a restore makes."""
    st = folder.lstat()
    if (st.st_uid, st.st_gid) != (os.geteuid(), os.getegid()) or st.st_mode & stat.S_ISGID:
        return False
    if not hasattr(os, "listxattr"):  # on macOS: its access control lists cannot be seen
        return False
    try:
        names = os.listxattr(folder, follow_symlinks=False)
    except OSError as exc:
        return exc.errno == errno.ENOTSUP  # this filesystem has none
    return all(name.startswith(_HARMLESS) for name in names)


def _is_guarded(top: Folder) -> bool:
    """Return whether something in the tree is excluded from snapshots, or cannot be held by one."""
    return any(
        folder.guarded if folder.shelf is None else folder.shelf[0].leaving_out(folder.shelf[1])
        for folder in top.walk_unsealed()
    )


def _is_in_use(tree: Path, top: Folder) -> bool:
    """Return whether a process has a file of the tree open for writing, or mapped so."""
    return top.has_inode(_WRITTEN.on_device_of(tree))


def _written_by_others(tree: Path) -> frozenset[int]:
    return inodes_open_for_writing(tree.stat().st_dev) | shared_writable_maps().inodes_on(tree)


_WRITTEN = SharedSearches(_written_by_others)
