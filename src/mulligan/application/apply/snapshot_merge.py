"""Merges two sides' changes of one snapshot, and stores the result without touching a working tree."""

import os
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.trees.line_diff import LARGEST_TEXT, is_binary
from mulligan.domain.trees.renames import find_renames
from mulligan.domain.trees.text_merge import Labels, merge_texts, without_middle
from mulligan.domain.trees.tree_difference import (
    StoredContent,
    TreeDifference,
    TreeEntry,
    hidden_by,
    path_and_around,
)
from mulligan.domain.trees.tree_merge import (
    PathConflict,
    Renames,
    TextToMerge,
    TreeMerge,
    is_included,
    merge_trees,
    withheld,
)
from mulligan.ports import Clock, SandboxKind, SnapshotStore


class OnOverlap(StrEnum):
    """The treatment of a path that both sides changed in conflict."""

    STOP = "stop"  # keep ours
    MARK = "mark"  # a text gets both versions between markers; anything else keeps ours
    TAKE_THEIRS = "take_theirs"  # and report no conflict


class MergeRules(Struct, frozen=True, kw_only=True):
    """Options of a merge."""

    names: Labels  # of the two sides, for people
    on_overlap: OnOverlap
    included: frozenset[str] | None  # paths in git directories, and hidden ones, to take as well; None: all
    hidden: tuple[str, ...] = ()  # patterns of paths that are not taken
    exact: bool = (
        False  # what is taken keeps its times, and lines that both sides only appended can be taken out
    )


class Merged(Struct, frozen=True, kw_only=True):
    """A merged tree, stored, and its conflicts."""

    files: Root
    changed: tuple[TreeDifference, ...]  # base to theirs, without what is hidden
    conflicts: tuple[PathConflict, ...]
    withheld: tuple[str, ...]  # changes in git directories that were not taken
    hidden: int = 0  # files that theirs changed, and that were not taken because they are hidden


class Sides(Struct, frozen=True, kw_only=True):
    """One snapshot of a resource, and two versions derived from it."""

    base: Snapshot
    ours: Snapshot
    theirs: Snapshot


class Whole(StrEnum):
    """The side from which a resource that is merged as a whole is taken."""

    OURS = "ours"
    THEIRS = "theirs"
    NEITHER = "neither"  # both changed it, differently


class MergeService(Struct, kw_only=True, frozen=True, eq=False):
    """Merges stored trees."""

    store: SnapshotStore
    clock: Clock

    def merge(self, base: Root, ours: Root, theirs: Root, rules: MergeRules) -> Merged:
        """Merge their changes of the base into our tree. The caller holds the store until rows refer to the result."""
        is_hidden = _hidden(rules)
        theirs_all = self.store.difference(base, theirs)
        by_theirs = tuple(d for d in theirs_all if not is_hidden(d))
        # What lies below a path that becomes a file goes with the folder, hidden or not.
        replaced = {d.path for d in by_theirs if d.new is not None and not d.new.is_folder}
        hidden = sum(
            d.of_files and replaced.isdisjoint(path_and_around(d.path)) for d in theirs_all if is_hidden(d)
        )
        if not by_theirs:
            return Merged(files=ours, changed=(), conflicts=(), withheld=(), hidden=hidden)
        by_ours = self.store.difference(base, ours)
        merge = merge_trees(
            by_ours,
            by_theirs,
            self._renames(by_ours, by_theirs),
            rules.names,
            lambda path: rules.included is not None and withheld(path, rules.included),
            is_hidden,
        )
        edits, conflicts = self._with_texts(merge, rules)
        if rules.on_overlap is OnOverlap.TAKE_THEIRS:
            edits |= {conflict.path: conflict.theirs for conflict in conflicts}
            conflicts = []
        at_ns = self._now_ns()
        kept = merge.edits if rules.exact else dict[str, TreeEntry | None]()
        stamped = {
            path: entry
            if entry is None or kept.get(path) is entry
            else replace(entry, beside=replace(entry.beside, mtime_ns=at_ns))
            for path, entry in edits.items()
        }
        return Merged(
            files=self.store.graft(ours, stamped, at_ns) if stamped else ours,
            changed=by_theirs,
            conflicts=tuple(conflicts),
            withheld=merge.withheld,
            hidden=hidden,
        )

    def _renames(self, ours: Sequence[TreeDifference], theirs: Sequence[TreeDifference]) -> Renames:
        """Find the files that one side renamed and the other side changed."""
        mine, others = {d.path for d in ours}, {d.path for d in theirs}
        return Renames(ours=self._renamed(ours, others), theirs=self._renamed(theirs, mine))

    def _renamed(self, differences: Sequence[TreeDifference], meeting: set[str]) -> dict[str, str]:
        gone = {
            d.path: d.old
            for d in differences
            if d.old is not None and not d.old.is_folder and d.new is None and d.path in meeting
        }
        if not gone:
            return {}
        come = {
            d.path: d.new for d in differences if d.new is not None and not d.new.is_folder and d.old is None
        }
        return {rename.old: rename.new for rename in find_renames(gone, come, self.store.read)[0]}

    def _with_texts(
        self, merge: TreeMerge, rules: MergeRules
    ) -> tuple[dict[str, TreeEntry | None], list[PathConflict]]:
        """Merge the files that both sides changed, line by line; return all edits and all conflicts."""
        edits, conflicts, placed = dict(merge.edits), list(merge.conflicts), list[TextToMerge]()

        def merged() -> Iterator[bytes]:
            for text in merge.texts:
                data, reason = self._merged_text(text, rules)
                if reason:
                    conflicts.append(PathConflict(path=text.path, reason=reason, theirs=text.entry))
                if data is not None:
                    placed.append(text)
                    yield data
                elif text.moved_from is not None:
                    del edits[text.moved_from]

        for text, content in zip(placed, self.store.put(merged()), strict=True):
            edits[text.path] = replace(text.entry, content=content)
        return edits, sorted(conflicts, key=lambda conflict: os.fsencode(conflict.path))

    def _merged_text(self, text: TextToMerge, rules: MergeRules) -> tuple[bytes | None, str]:
        """Return the merged bytes, if there are any to write, and the reason if it is a conflict."""
        theirs = text.entry.content
        assert theirs is not None
        sides = [self._text(content) for content in (text.base, text.ours, theirs)]
        base, mine, other = sides
        if base is None or mine is None or other is None:
            return None, "both sides changed it, and it is not a text file"
        marks = rules.names if rules.on_overlap is OnOverlap.MARK else None
        merge = merge_texts(base, mine, other, marks)
        if not merge.overlaps:
            return merge.text, ""
        if rules.exact and (shortened := without_middle(base, mine, other)) is not None:
            return shortened, ""
        return (merge.text if marks else None), merge.reason

    def _text(self, content: StoredContent) -> bytes | None:
        """Return the bytes of a text file; None for any other file."""
        if content.size > LARGEST_TEXT:
            return None
        data = self.store.read(content)
        return None if is_binary(data) else data

    def take_whole(self, kind: SandboxKind, real: Sandbox, sides: Sides) -> Merged:
        """Take their version of a whole resource, if ours did not change."""
        base, ours, theirs = (side.roots[0] for side in (sides.base, sides.ours, sides.theirs))
        name, files, reason = real.path.rpartition("/")[2], ours, ""
        match side_to_take(kind, real, sides):
            case Whole.OURS:
                pass
            case Whole.NEITHER:
                reason = f"both sides changed the {real.type.traits.noun}"
            case Whole.THEIRS:
                reason = kind.why_not_taken(ours, theirs)
                if not reason:
                    files = self.store.graft(ours, {name: self._taken(base, ours, theirs)}, self._now_ns())
        return Merged(
            files=files,
            changed=self.store.difference(base, theirs),
            conflicts=(PathConflict(path=name, reason=reason, theirs=None),) if reason else (),
            withheld=(),
        )

    def _taken(self, base: Root, ours: Root, theirs: Root) -> TreeEntry | None:
        """Return their file, with our mode unless they changed it; None: they have no file."""
        sides = self.store.difference(ours, theirs)
        come = next((d.new for d in sides if d.new is not None and d.new.content is not None), None)
        gone = next((d.old for d in sides if d.old is not None and d.old.content is not None), None)
        if come is None or gone is None:
            return come
        changed = self.store.difference(base, theirs)
        same_mode = all(d.old is None or d.new is None or d.old.mode == d.new.mode for d in changed)
        return replace(come, mode=gone.mode) if same_mode else come

    def _now_ns(self) -> int:
        return int(self.clock.now().timestamp() * 1_000_000) * 1000


def _hidden(rules: MergeRules) -> Callable[[TreeDifference], bool]:
    """Return the rule by which a change is not taken: it is hidden, and was not asked for by name."""
    matching, included = hidden_by(rules.hidden), rules.included or frozenset()
    return lambda difference: matching(difference) and not is_included(difference.path, included)


def side_to_take(kind: SandboxKind, sandbox: Sandbox, sides: Sides) -> Whole:
    """Return the side that changed a resource; equal changes of both are ours."""
    if kind.same(sandbox, sides.base, sides.theirs):
        return Whole.OURS
    if kind.same(sandbox, sides.base, sides.ours):
        return Whole.THEIRS
    return Whole.OURS if kind.same(sandbox, sides.ours, sides.theirs) else Whole.NEITHER
