"""Places: folders of a tree, reached one name at a time from their parents, never through a symlink."""

import os
import stat
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, Self

_OPEN_FOLDERS = 64  # at any depth; one that was closed is opened again from the nearest open one
_CHANGEABLE = 0o300  # what a folder's owner needs to change what is in it
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Place(Protocol):
    """A folder by its name and the folder it is in; the topmost is the one around the tree's own folder."""

    @property
    def name(self) -> str:
        """The name in the folder around it."""
        ...

    @property
    def parent(self) -> "Place | None":
        """The folder around it."""
        ...


def path_of(place: Place, name: str) -> str:
    """The path of a name in a folder, relative to the tree; "." is the tree itself."""
    names = [name]
    while (parent := place.parent) is not None:
        names.append(place.name)
        place = parent
    # The last name is the tree's own folder, or the name asked for is that folder itself.
    return "/".join(reversed(names[:-1])) or "."


class Folders:
    """Open descriptors of a tree's folders. Paths may be of any length: the system only ever gets names."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._open: OrderedDict[int, tuple[Place, int]] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _place, fd in self._open.values():
            os.close(fd)
        self._open.clear()

    def own_name(self, place: Place, name: str) -> str:
        """The name as the system knows it: the tree's own folder is "." to us."""
        return self._tree.name if place.parent is None else name

    def fd(self, place: Place) -> int:
        """The descriptor of a folder, valid until a few dozen others were asked for."""
        missing: list[Place] = []
        step: Place | None = place
        while step is not None and id(step) not in self._open:
            missing.append(step)
            step = step.parent
        if step is not None:
            self._open.move_to_end(id(step))
        for step in reversed(missing):
            self._add(step, self._enter(step))
        return self._open[id(place)][1]

    def open_up(self, place: Place) -> int:
        """Return the descriptor of a folder whose entries can be changed now; its own mode comes back at the end."""
        fd = self.fd(place)
        if place.parent is not None:  # the folder around the tree is not ours to change
            mode = stat.S_IMODE(os.fstat(fd).st_mode)
            if mode & _CHANGEABLE != _CHANGEABLE:
                os.fchmod(fd, mode | 0o700)
        return fd

    def close(self, place: Place) -> None:
        """Let go of a folder that is about to be moved or removed."""
        found = self._open.pop(id(place), None)
        if found is not None:
            os.close(found[1])

    def _enter(self, place: Place) -> int:
        if place.parent is None:
            return os.open(self._tree.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        parent = self._open[id(place.parent)][1]
        return os.open(self.own_name(place.parent, place.name), FOLDER_FLAGS, dir_fd=parent)

    def _add(self, place: Place, fd: int) -> None:
        self._open[id(place)] = (place, fd)  # the place is kept too: its id() must not be given to another
        if len(self._open) > _OPEN_FOLDERS:
            # Never the tree's own folder or its parent: their names may lead elsewhere by then.
            inner = next(key for key, (old, _) in self._open.items() if old.parent and old.parent.parent)
            os.close(self._open.pop(inner)[1])


@contextmanager
def open_below(top: Path, path: str) -> Generator[int]:
    """Open a folder by its path below another; OSError where a symlink is on the way, or something is missing."""
    fd = os.open(top, FOLDER_FLAGS)
    try:
        for name in path.split("/") if path else ():
            inner = os.open(name, FOLDER_FLAGS, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)
