"""Paths of a tree that are neither captured nor touched: by their paths, and by patterns."""

import os
from functools import cached_property, lru_cache
from typing import TypeAlias

from mulligan.domain.paths.path_patterns import PathPatterns
from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.osfiles.directory_handles import Place
from mulligan.ports import WorkingTree

_Paths: TypeAlias = "dict[str, _Paths]"  # paths as nested names; an empty one is the end of a path
_GIT = ".git"  # what is in a git directory is git's own, whatever it is called
_BRINGS_BACK, _FOLDERS_ONLY, _ANYWHERE = 1, 2, 4  # as _patterns.h knows them


class Exclusions:
    """The exclusions of a tree, as one of its folders sees them."""

    def __init__(self, paths: _Paths, patterns: PathPatterns, prefix: str = "") -> None:
        """`prefix` is the path of the folder, with a slash at its end; empty for the tree itself."""
        self.has_paths = bool(paths)  # the paths of other resources are in this folder, or below it
        self.prefix = prefix
        self._paths = paths
        self._patterns = patterns

    def __bool__(self) -> bool:
        return self.has_paths or bool(self._patterns)

    def below(self, name: str) -> "Exclusions":
        """Return those of a folder in this one."""
        paths: _Paths = self._paths.get(name, {})
        patterns = NO_PATTERNS if name == _GIT else self._patterns
        if not paths and not patterns:
            return NOTHING
        return Exclusions(paths, patterns, f"{self.prefix}{name}/")

    def is_apart(self, name: str) -> bool:
        """Return whether a name in the folder is a path of another resource."""
        return name in self._paths and not self._paths[name]

    def is_matched(self, name: str, *, is_folder: bool) -> bool:
        """Return whether the patterns match a name in the folder."""
        return bool(self._patterns) and self._patterns.choose(self.prefix + name, is_folder=is_folder)

    def leave_out(self, name: str, *, is_folder: bool) -> bool:
        """Return whether a name in the folder is neither captured nor touched."""
        return name == PROJECT_HOME or self.is_apart(name) or self.is_matched(name, is_folder=is_folder)

    @cached_property
    def for_walk(self) -> list[tuple[bytes, int, int]]:
        """The patterns as the walker in C takes them."""
        return [
            (
                each.text,
                _BRINGS_BACK * each.brings_back
                | _FOLDERS_ONLY * each.folders_only
                | _ANYWHERE * each.anywhere,
                each.plain,
            )
            for each in self._patterns
        ]


NO_PATTERNS = PathPatterns(())
NOTHING = Exclusions({}, NO_PATTERNS)


def exclusions_of(tree: WorkingTree) -> Exclusions:
    """The exclusions of a tree, as its own folder sees them."""
    top: _Paths = {}
    for names in sorted((path.split("/") for path in tree.excluded), key=len):
        here = top
        for name in names:
            if name in here and not here[name]:
                break  # below something that is excluded already
            here = here.setdefault(name, {})
    return Exclusions(top, _patterns(tree.patterns)) if top or tree.patterns else NOTHING


@lru_cache(maxsize=16)
def _patterns(lines: tuple[str, ...]) -> PathPatterns:
    return PathPatterns(lines)


def exclusions_in(folder: Place, exclusions: Exclusions) -> Exclusions:
    """The part of a tree's exclusions that is about one of its folders."""
    if not exclusions or folder.parent is None:
        return NOTHING
    names: list[str] = []
    while folder.parent is not None and folder.parent.parent is not None:
        names.append(folder.name)
        folder = folder.parent
    for name in reversed(names):
        exclusions = exclusions.below(name)
    return exclusions


def left_out_in(fd: int, excluded: Exclusions) -> list[str]:
    """Return the names in an open folder that the patterns leave out."""
    with os.scandir(fd) as entries:
        return [
            each.name
            for each in entries
            if each.name != PROJECT_HOME
            and not excluded.is_apart(each.name)
            and excluded.is_matched(each.name, is_folder=each.is_dir(follow_symlinks=False))
        ]
