"""Names that a snapshot distinguishes and a folder does not: refused by name before anything is touched.

Some filesystems ignore upper and lower case, and how an accent is written. There the second of `README` and `readme`
would take the place of the first.
"""

import os
import unicodedata
from collections.abc import Collection, Iterable
from pathlib import Path

from mulligan.adapters.snapshots.format.tree_format import EntryKind, kind_of
from mulligan.adapters.snapshots.restore.restore_plan import Difference, Work
from mulligan.errors import RestoreFailed
from mulligan.osfiles.directory_handles import FOLDER_FLAGS, Folders, path_of
from mulligan.ports import WorkingTree


def refuse_collisions(tree: WorkingTree, difference: Difference) -> None:
    """Raise RestoreFailed where a new name is another name to the folder it is to be made in; touch nothing."""
    ignoring: dict[int, bool] = {}
    with Folders(tree.path) as folders:
        for work in difference.works:  # parents before children
            if work.parent is None:
                ignoring[id(work)] = _is_made_where_case_is_ignored(tree.path)
                continue
            ignoring[id(work)] = ignoring[id(work.parent)]
            if work.present is None and not ignoring[id(work)]:
                continue
            new = _new_names(work)
            if not new:
                continue
            names: list[str] = []
            if work.present is not None:
                fd = folders.fd(work)
                names = os.listdir(fd)
                ignoring[id(work)] = _ignores_case(fd, names, otherwise=ignoring[id(work)])
            if ignoring[id(work)]:
                staying = set(names) - _removed(work)
                for name, other in _same(new, work.records.keys() | staying):
                    raise _collision(tree, path_of(work, name), path_of(work, other))


def _is_made_where_case_is_ignored(path: Path) -> bool:
    """Look at what is nearest to a path that may not be there yet: what a folder holds, or its own name."""
    names = [path.name] if os.path.lexists(path) else []
    path = path.parent
    while not path.is_dir():
        path = path.parent
    fd = os.open(path, FOLDER_FLAGS & ~os.O_NOFOLLOW)
    try:
        return _ignores_case(fd, names or os.listdir(fd), otherwise=False)
    finally:
        os.close(fd)


def _collision(tree: WorkingTree, path: str, other: str) -> RestoreFailed:
    return RestoreFailed(
        path=str(tree.path / path),
        other=str(tree.path / other),
        reason=f"the folder does not distinguish it from {tree.path / other}, because it ignores upper and lower case",
        hint="rename one of them, or use a folder on a filesystem that distinguishes them; nothing was touched",
    )


def answers_to_another_name(path: Path) -> bool:
    """Return whether a folder finds something by this name although it has none that is spelled so."""
    try:
        folder = os.open(path.parent, FOLDER_FLAGS)
    except OSError:
        return False
    try:
        os.lstat(path.name, dir_fd=folder)
        return path.name not in os.listdir(folder)
    except OSError:
        return False
    finally:
        os.close(folder)


def _new_names(work: Work) -> list[str]:
    if work.present is None:
        return [name for name, record in work.records.items() if kind_of(record) is not EntryKind.UNHELD]
    have = work.present.records
    made = (child.name for child in work.children if child.present is None)
    return [name for name in (*(entry.name for entry in work.write), *made) if name not in have]


def _removed(work: Work) -> set[str]:
    """Return what is no longer in the folder when it is filled."""
    folders = (each.folder for each in work.clear if each.goes and each.folder.parent is work.present)
    return {*work.unlink, *(folder.name for folder in folders)}


def _same(new: Iterable[str], names: Collection[str]) -> Iterable[tuple[str, str]]:
    """Find new names that are another one of the names to a folder that ignores case."""
    spellings: dict[str, list[str]] = {}
    for name in sorted(names):
        spellings.setdefault(_folded(name), []).append(name)
    for name in new:
        for other in spellings[_folded(name)]:
            if other != name:
                yield name, other


def _folded(name: str) -> str:
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def _ignores_case(folder: int, names: Collection[str], *, otherwise: bool) -> bool:
    """Return whether a folder finds a name in other letters too; one without suitable names is as its parent."""
    for name in names:
        other = name.swapcase()
        if name.isascii() and other not in names:
            try:
                os.lstat(other, dir_fd=folder)
            except FileNotFoundError:
                return False
            return True
    return otherwise
