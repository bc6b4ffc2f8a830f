"""Differences between two stored trees, path by path, and the parts that a patch cannot carry."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.checkpoints.snapshot import ObjectId
from mulligan.domain.resources.placement import is_spare_name

# What git makes of its two modes of files under the usual umasks, 022 and 002.
_ORDINARY_FILES = frozenset({0o644, 0o664, 0o755, 0o775})
_ORDINARY_FOLDERS = frozenset({0o755, 0o775})


class EntryType(StrEnum):
    """The type of an entry."""

    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symlink"


class StoredContent(Struct, frozen=True):
    """The bytes of one file in the store; equal ones are equal values."""

    id: ObjectId
    size: int


class Beside(Struct, frozen=True, eq=False):
    """The metadata of an entry that is not part of its identity: restored with it, never a difference."""

    mtime_ns: int = 0
    sparse: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Beside)

    def __hash__(self) -> int:
        return 0


class TreeEntry(Struct, frozen=True, kw_only=True):
    """The entry of a stored tree at one path."""

    type: EntryType
    mode: int  # the lower twelve bits
    content: StoredContent | None  # of a file
    target: bytes  # of a symlink
    shared_with: bytes  # of a file with several names: the first of their paths, which names the set
    attributes: tuple[tuple[bytes, bytes], ...]  # user.* names and values
    empty: bool  # of a folder: it holds nothing
    beside: Beside = Beside()

    @property
    def is_folder(self) -> bool:
        """Return whether this is a folder."""
        return self.type is EntryType.FOLDER

    @property
    def git_mode(self) -> bytes:
        """The mode as git knows it: two of files and one of symlinks."""
        if self.type is EntryType.SYMLINK:
            return b"120000"
        return b"100755" if self.mode & 0o100 else b"100644"


class TreeItem(Struct, frozen=True):
    """One path of a stored tree, with its entry."""

    path: str  # relative to the tree; bytes that are not UTF-8 as surrogates
    entry: TreeEntry


class TreeDifference(Struct, frozen=True):
    """One path under which two trees have something else; None: there is nothing."""

    path: str  # relative to the tree, "." for the tree itself; bytes that are not UTF-8 as surrogates
    old: TreeEntry | None
    new: TreeEntry | None

    @property
    def of_files(self) -> bool:
        """Return whether either side is a file or symlink."""
        return any(side is not None and not side.is_folder for side in (self.old, self.new))


def path_and_around(path: str) -> Iterator[str]:
    """Yield a path and the folders around it, the outermost first."""
    names = path.split("/")
    return ("/".join(names[:length]) for length in range(1, len(names) + 1))


def hidden_by(patterns: Iterable[str]) -> Callable[[TreeDifference], bool]:
    """Return the rule by which a difference is hidden: it is at a path, or in a folder, that the patterns match."""
    from mulligan.domain.paths.path_patterns import (
        PathPatterns,  # here: who reads trees seldom hides anything
    )

    matching = PathPatterns(patterns)

    def is_hidden(difference: TreeDifference) -> bool:
        entry = difference.new or difference.old
        is_folder = entry is not None and entry.is_folder
        return difference.path != "." and matching.match(difference.path, is_folder=is_folder)

    return is_hidden if matching else lambda _: False


def without_hidden(
    differences: Sequence[TreeDifference], patterns: Iterable[str]
) -> tuple[Sequence[TreeDifference], int]:
    """Return the differences that are to be shown, and the number of files among the others."""
    is_hidden = hidden_by(patterns)
    shown = [difference for difference in differences if not is_hidden(difference)]
    files = sum(difference.of_files for difference in differences)
    return shown, files - sum(difference.of_files for difference in shown)


def changed_by_others(
    to_target: Iterable[TreeDifference], to_before: Iterable[TreeDifference]
) -> tuple[str, ...]:
    """Return the paths that match neither state of an interrupted return: changes of others.

    Both differences are from the tree as it is. A folder half made or half emptied is the return's own doing, and
    so are a temporary name and a file that lost or gained another name.
    """
    here = {d.path for d in to_target if _holds_something_else(d)}
    return tuple(d.path for d in to_before if d.path in here and _holds_something_else(d))


def _holds_something_else(difference: TreeDifference) -> bool:
    """Return whether there is a file or symlink that differs from the other side in more than its hard links."""
    old, new = difference.old, difference.new
    if old is None or old.is_folder or is_spare_name(difference.path.rpartition("/")[2]):
        return False
    return new is None or replace(old, shared_with=b"") != replace(new, shared_with=b"")


def beyond_patch(old: TreeEntry | None, new: TreeEntry | None) -> tuple[str, ...]:
    """Describe the parts of a difference, apart from contents, that no patch in git's format carries."""
    if new is None:
        return ("empty folder",) if old is not None and old.empty else ()
    found: list[str] = []
    if new.empty and (old is None or not old.empty):
        found.append("empty folder")
    was = old if old is not None and old.type is new.type else None
    if mode := _mode_beyond_patch(was, new):
        found.append(mode)
    if (was.attributes if was else ()) != new.attributes:
        found.append("attributes")
    if (was.shared_with if was else b"") != new.shared_with:
        found.append("hard links")
    return tuple(found)


def _mode_beyond_patch(was: TreeEntry | None, new: TreeEntry) -> str:
    """Return the change of mode that git cannot express; empty where it can."""
    if new.type is EntryType.SYMLINK or (was is not None and was.mode == new.mode):
        return ""
    ordinary = _ORDINARY_FOLDERS if new.is_folder else _ORDINARY_FILES
    if was is None:
        return "" if new.mode in ordinary else f"mode {new.mode:04o}"
    told = not new.is_folder and was.git_mode != new.git_mode and new.mode in ordinary
    return "" if told else f"mode {was.mode:04o} to {new.mode:04o}"
