"""Sets of paths that stand for what is below them too; asking costs what a path is deep, however many there are."""

from collections.abc import Iterable

WHOLE_TREE = "."


class PathSet:
    """Paths of a tree, each with all below it; `.` is the whole tree."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)
        self._around = frozenset(folder for path in self._paths for folder in _folders_around(path))
        self._whole = WHOLE_TREE in self._paths

    def __bool__(self) -> bool:
        return bool(self._paths)

    def holds(self, path: str) -> bool:
        """Return whether a path is one of these or below one."""
        if self._whole or path in self._paths:
            return True
        return any(folder in self._paths for folder in _folders_around(path))

    def leads_to(self, path: str) -> bool:
        """Return whether a path is one of these, below one, or a folder around one."""
        return path == WHOLE_TREE or path in self._around or self.holds(path)


def _folders_around(path: str) -> list[str]:
    names = path.split("/")
    return ["/".join(names[:depth]) for depth in range(1, len(names))]
