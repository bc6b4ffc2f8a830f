"""Three-way merges of trees, path by path, from what differs between the base and each side.

The result is given as edits of our tree. A path that one side changed is taken from it; one that both changed
equally is done already; of one that both changed differently mode, attributes and content are merged one by
one. Whatever would lose a change of either side is a conflict, and leaves our tree there as it is.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from mulligan.domain.trees.text_merge import Labels
from mulligan.domain.trees.tree_difference import StoredContent, TreeDifference, TreeEntry, path_and_around

_Value = TypeVar("_Value")


class PathConflict(Struct, frozen=True, kw_only=True):
    """A path that the sides changed in different ways."""

    path: str
    reason: str
    theirs: TreeEntry | None  # what they have there


class TextToMerge(Struct, frozen=True, kw_only=True):
    """A file whose content both sides changed; a merge of its lines decides whether they conflict."""

    path: str
    base: StoredContent
    ours: StoredContent
    entry: TreeEntry  # theirs, with all merged but the content
    moved_from: str | None  # ours, if the result goes under another name


class TreeMerge(Struct, frozen=True, kw_only=True):
    """The changes that our tree needs, and the conflicts."""

    edits: Mapping[str, TreeEntry | None]
    texts: tuple[TextToMerge, ...]
    conflicts: tuple[PathConflict, ...]
    withheld: tuple[str, ...]  # changes of theirs that are not to be taken


class Renames(Struct, frozen=True, kw_only=True):
    """Files that one side gave another name and the other side changed, renamed or deleted: old to new."""

    ours: Mapping[str, str] = field(default_factory=dict[str, str])
    theirs: Mapping[str, str] = field(default_factory=dict[str, str])


class _Clash(Exception):
    """Two values that cannot both be had, and why."""


def merge_trees(
    ours: Iterable[TreeDifference],
    theirs: Iterable[TreeDifference],
    renames: Renames,
    names: Labels,
    withhold: Callable[[str], bool],
    is_hidden: Callable[[TreeDifference], bool],
) -> TreeMerge:
    """Merge two differences from one base; changes of theirs that are to be withheld, or are hidden, are left out.

    What is hidden does not keep a folder in which there is nothing else: it goes with the folder.
    """
    taken = [d for d in theirs if not _only_filled(d) and not is_hidden(d)]
    merging = _Merging(
        {d.path: d for d in ours if not _only_filled(d)},
        {d.path: d for d in taken if not withhold(d.path)},
        names,
    )
    return merging.run(renames, [d for d in taken if withhold(d.path)], is_hidden)


def withheld(path: str, included: Iterable[str]) -> bool:
    """Return whether a change is in a git directory, where hooks are code, and was not asked for by name."""
    if not any(name.lower() == ".git" for name in path.split("/")):
        return False
    return not is_included(path, included)


def is_included(path: str, included: Iterable[str]) -> bool:
    """Return whether a path was asked for by name, with the folders that lead to it and all below it."""
    return any(
        path == each or path.startswith(f"{each}/") or each.startswith(f"{path}/") for each in included
    )


def _only_filled(difference: TreeDifference) -> bool:
    """Return whether a folder differs only in its content, which the paths below it cover."""
    old, new = difference.old, difference.new
    both = old is not None and new is not None and old.is_folder and new.is_folder
    return both and _plain(old) == _plain(new)


def _plain(entry: TreeEntry | None) -> TreeEntry | None:
    """Return an entry without the parts that other entries cover."""
    return replace(entry, empty=False) if entry is not None and entry.empty else entry


class _Merging:
    def __init__(
        self, ours: Mapping[str, TreeDifference], theirs: Mapping[str, TreeDifference], names: Labels
    ) -> None:
        self._ours = ours
        self._theirs = theirs
        self._names = names
        self._edits: dict[str, TreeEntry | None] = {}
        self._texts: dict[str, TextToMerge] = {}
        self._conflicts: dict[str, PathConflict] = {}
        self._settled: set[str] = set()  # paths of theirs that need no further look

    def run(
        self,
        renames: Renames,
        withheld: Sequence[TreeDifference],
        is_hidden: Callable[[TreeDifference], bool],
    ) -> TreeMerge:
        """Decide every path, then see to it that the result is a tree."""
        for old in sorted({*renames.ours, *renames.theirs}):
            if old in self._ours and old in self._theirs and old not in self._settled:
                self._renamed(old, renames.ours.get(old), renames.theirs.get(old))
        for path, difference in self._theirs.items():
            if path in self._settled:
                continue
            ours = self._ours.get(path)
            if ours is None:
                self._edits[path] = difference.new
            elif _plain(ours.new) != _plain(difference.new):
                self._both(path, difference.old, ours.new, difference.new, None)
        self._check_shared()
        self._keep_folders([d.path for d in withheld if d.old is not None], is_hidden)
        self._bring_folders_back()
        return TreeMerge(
            edits=self._edits,
            texts=tuple(self._texts.values()),
            conflicts=tuple(self._conflicts[path] for path in sorted(self._conflicts, key=os.fsencode)),
            withheld=tuple(d.path for d in withheld),
        )

    # --- single paths ---------------------------------------------------------------------------------------

    def _both(
        self,
        path: str,
        base: TreeEntry | None,
        ours: TreeEntry | None,
        theirs: TreeEntry | None,
        moved_from: str | None,
    ) -> None:
        """Merge both sides' changes of a path; ours may be under another name."""
        try:
            if ours is None or theirs is None:
                gone_first = ("deleted", "changed") if ours is None else ("changed", "deleted")
                raise _Clash(self._said(*gone_first))
            entry = _merged(base, ours, theirs)
        except _Clash as clash:
            self._conflict(path, str(clash), theirs)
            return
        if moved_from is not None:
            self._edits[moved_from] = None
        assert base is not None
        if base.content is not None and ours.content is not None and entry.content is None:
            entry = replace(entry, content=theirs.content)
            self._texts[path] = TextToMerge(
                path=path, base=base.content, ours=ours.content, entry=entry, moved_from=moved_from
            )
        elif moved_from is not None or _plain(entry) != _plain(ours):
            self._edits[path] = entry

    def _renamed(self, old: str, ours: str | None, theirs: str | None) -> None:
        """Merge a file that one side, or both, gave another name."""
        base = self._theirs[old].old
        mine, other = self._ours[old].new, self._theirs[old].new
        self._settled |= {old, *filter(None, (theirs,))}
        if ours is not None and theirs is not None:
            if ours == theirs:
                self._settled.add(ours)
                mine, other = self._ours[ours].new, self._theirs[ours].new
                if mine != other:
                    self._both(ours, base, mine, other, None)
            else:
                both = f"renamed to {ours} by {self._names.ours}, to {theirs} by {self._names.theirs}"
                self._conflict(old, both, None)
        elif theirs is not None:
            other = self._theirs[theirs].new
            if theirs in self._ours:
                self._conflict(theirs, self._said("added", f"renamed from {old}"), other)
            elif mine is None:
                self._conflict(old, self._said("deleted", f"renamed to {theirs}"), other)
            else:
                self._both(theirs, base, mine, other, old)
        elif ours is not None:
            mine = self._ours[ours].new
            if ours in self._theirs:
                self._settled.add(ours)
                self._conflict(ours, self._said(f"renamed from {old}", "added"), self._theirs[ours].new)
            elif other is None:
                self._conflict(ours, self._said(f"renamed from {old}", "deleted"), None)
            else:
                self._both(ours, base, mine, other, None)

    # --- the tree as a whole --------------------------------------------------------------------------------

    def _check_shared(self) -> None:
        """Files that are one under several names must stay one: where both sides had a hand in it, see that they do."""
        mine, others = _by_set(self._ours.values()), _by_set(self._theirs.values())
        for shared in mine.keys() & others.keys():
            kinds = {self._inode(path) for path in (*mine[shared], *others[shared])}
            found = {kind for kind in kinds if kind is not None and kind[0] == shared}
            for path in others[shared] if len(found) > 1 else ():
                self._edits.pop(path, None)
                self._drop_text(path)
                reason = "it is one file under several names, which both sides changed"
                self._conflict(path, reason, self._theirs[path].new)

    def _inode(self, path: str) -> tuple[object, ...] | None:
        """Return the merged entry that all names of a file share."""
        if path in self._texts:
            text = self._texts[path]
            content = (text.base, text.ours, text.entry.content)
            return text.entry.shared_with, content, text.entry.mode, text.entry.attributes
        ours = self._ours.get(path)
        entry = self._edits.get(path, ours.new if ours is not None else None)
        return None if entry is None else (entry.shared_with, entry.content, entry.mode, entry.attributes)

    def _keep_folders(self, withheld: Sequence[str], is_hidden: Callable[[TreeDifference], bool]) -> None:
        """Keep a folder while something of ours is to be in it."""
        staying = [
            path
            for path, d in self._ours.items()
            if d.new is not None and self._edits.get(path, d.new) and not is_hidden(d)
        ]
        for path in (*staying, *withheld):
            for folder in _around(path):
                if folder not in self._edits:
                    continue
                wanted = self._edits[folder]
                if wanted is None:
                    del self._edits[folder]
                elif not wanted.is_folder:
                    del self._edits[folder]
                    reason = f"no longer a folder because of {self._names.theirs}, but it holds {path}"
                    self._conflict(folder, reason, wanted)

    def _bring_folders_back(self) -> None:
        """Add the folders that new paths need; a folder that only ours deleted comes back."""
        for path in [path for path, entry in self._edits.items() if entry is not None] + list(self._texts):
            for folder in _around(path):
                ours = self._ours.get(folder)
                if folder in self._edits or folder in self._conflicts or ours is None:
                    continue
                if ours.new is None and ours.old is not None and ours.old.is_folder:
                    self._edits[folder] = ours.old
                elif ours.new is not None and not ours.new.is_folder:
                    reason = f"no longer a folder because of {self._names.ours}, but to hold {path}"
                    self._conflict(folder, reason, ours.old)
        for folder in [folder for folder in self._conflicts if self._is_no_folder(folder)]:
            reason = f"{folder} is no longer a folder because of {self._names.ours}"
            for path in [p for p in self._edits if p.startswith(f"{folder}/")]:
                entry = self._edits.pop(path)
                if entry is not None:
                    self._conflict(path, reason, entry)
            for path in [p for p in self._texts if p.startswith(f"{folder}/")]:
                self._conflict(path, reason, self._texts[path].entry)
                self._drop_text(path)

    def _drop_text(self, path: str) -> None:
        text = self._texts.pop(path, None)
        if text is not None and text.moved_from is not None:
            del self._edits[text.moved_from]

    def _is_no_folder(self, path: str) -> bool:
        ours = self._ours.get(path)
        return ours is not None and (ours.new is None or not ours.new.is_folder)

    def _conflict(self, path: str, reason: str, theirs: TreeEntry | None) -> None:
        self._conflicts.setdefault(path, PathConflict(path=path, reason=reason, theirs=theirs))

    def _said(self, ours: str, theirs: str) -> str:
        return f"{ours} by {self._names.ours}, {theirs} by {self._names.theirs}"


def _merged(base: TreeEntry | None, ours: TreeEntry, theirs: TreeEntry) -> TreeEntry:
    """Combine both changes of one entry; the content is None where its lines have to be merged."""
    if ours.type is not theirs.type:
        raise _Clash(f"a {ours.type.value} on one side, a {theirs.type.value} on the other")
    if base is None or base.type is not ours.type:
        if (ours.content, ours.target) != (theirs.content, theirs.target):
            raise _Clash("added by both sides, differently")
        base = replace(ours, mode=-1, attributes=((b"", b""),), shared_with=b"\0")
    if ours.shared_with != theirs.shared_with:
        raise _Clash("one side changed which names the file has, the other changed the file")
    mode = _of_one_side(base.mode, ours.mode, theirs.mode)
    if mode is None:
        raise _Clash(f"mode {ours.mode:04o} on one side, {theirs.mode:04o} on the other")
    attributes = _of_one_side(base.attributes, ours.attributes, theirs.attributes)
    if attributes is None:
        raise _Clash("both sides changed its attributes, differently")
    target = _of_one_side(base.target, ours.target, theirs.target)
    if target is None:
        raise _Clash("a symlink that leads elsewhere on each side")
    content = _of_one_side(base.content, ours.content, theirs.content)
    side = ours if content == ours.content else theirs
    return replace(side, mode=mode, attributes=attributes, target=target, content=content)


def _of_one_side(base: _Value, ours: _Value, theirs: _Value) -> _Value | None:
    """The value of the side that changed it; None where both did, differently."""
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else None


def _by_set(differences: Iterable[TreeDifference]) -> dict[bytes, list[str]]:
    """The paths that differ by the set of names that each is or was one of."""
    found: dict[bytes, list[str]] = {}
    for difference in differences:
        sides = (difference.old, difference.new)
        for shared in {side.shared_with for side in sides if side is not None and side.shared_with}:
            found.setdefault(shared, []).append(difference.path)
    return found


def _around(path: str) -> list[str]:
    """The folders around a path, the outermost first."""
    return [*path_and_around(path)][:-1]
