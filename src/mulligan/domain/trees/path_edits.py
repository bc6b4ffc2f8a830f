"""The edits that bring single paths of a tree to what another tree has there, and what is left alone."""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.paths.path_set import PathSet
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry


class InTheWay(Struct, frozen=True):
    """A path that keeps another from being restored, and why."""

    path: str
    reason: str


class PathEdits(Struct, frozen=True, kw_only=True):
    """The edits of a tree, path by path; None: removed."""

    edits: dict[str, TreeEntry | None]
    new: frozenset[str]  # paths at which nothing is now
    left: tuple[str, ...]  # paths that only the present tree has, and that stay
    in_the_way: tuple[InTheWay, ...]


def edits_of(
    differences: Iterable[TreeDifference],
    wanted: Sequence[str],
    *,
    delete: bool,
    spared: Collection[str] = (),
) -> PathEdits:
    """Return the edits that bring the wanted paths to the newer side of the differences, with all that is below them.

    Without `delete` nothing is removed: paths that the newer side does not have stay. Paths at and below those that
    are `spared` are never edited. Files come back as files of their own: which names shared one is not restored.
    """
    edits: dict[str, TreeEntry | None] = {}
    left: list[str] = []
    blocked: list[InTheWay] = []
    absent: set[str] = set()
    asked, never = PathSet(wanted), PathSet(spared)
    for difference in differences:
        path, old, new = difference.path, difference.old, difference.new
        if never.holds(path):
            continue
        if old is None:
            absent.add(path)
        if not asked.holds(path):
            _lead_to(path, old, new, edits, blocked)
        elif new is None:
            if delete:
                edits[path] = None
            elif not (left and path.startswith(f"{left[-1]}/")):  # they are in order
                left.append(path)
        elif old is not None and old.is_folder and not new.is_folder and not delete:
            blocked.append(InTheWay(path, "a folder is there now, with all that it holds"))
        elif old is None or not _same(old, new):
            edits[path] = replace(new, shared_with=b"")
    new = frozenset(absent & edits.keys())
    return PathEdits(edits=edits, new=new, left=tuple(left), in_the_way=tuple(blocked))


def _lead_to(
    path: str,
    old: TreeEntry | None,
    new: TreeEntry | None,
    edits: dict[str, TreeEntry | None],
    blocked: list[InTheWay],
) -> None:
    """Make a missing folder around a wanted path; one that exists stays as it is."""
    if new is None or not new.is_folder:
        return
    if old is None:
        edits[path] = new
    elif not old.is_folder:
        blocked.append(InTheWay(path, f"a {old.type.value} is there now, and a folder is needed"))


def _same(old: TreeEntry, new: TreeEntry) -> bool:
    """Return whether two entries hold the same, whatever other names they have or what a folder holds."""
    plain = [replace(each, shared_with=b"", empty=False) for each in (old, new)]
    return plain[0] == plain[1]
