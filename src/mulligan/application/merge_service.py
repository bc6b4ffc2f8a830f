"""Merges what two sides made of one snapshot, and stores the result: no tree of files is touched."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from mulligan.application.tree_diff import LARGEST_TEXT, find_renames
from mulligan.domain.git_patch import is_binary
from mulligan.domain.merge import (
    PathConflict,
    Renames,
    TextToMerge,
    TreeMerge,
    in_git_directory,
    is_included,
    merge_trees,
)
from mulligan.domain.snapshot import Root
from mulligan.domain.text_merge import Labels, merge_texts
from mulligan.domain.tree_difference import StoredContent, TreeDifference, TreeEntry
from mulligan.ports import Clock, SnapshotStore

_PAGE_SIZE = slice(16, 18)  # in the header of a SQLite database


class OnOverlap(StrEnum):
    """What becomes of a path that both sides changed in conflict."""

    STOP = "stop"  # it stays as ours has it
    MARK = "mark"  # a text gets both versions between markers; all else stays as ours has it
    TAKE_THEIRS = "take_theirs"  # and it is no conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRules:
    """How a merge goes."""

    names: Labels  # of the two sides, for people
    on_overlap: OnOverlap
    whole: bool  # a database: contents are taken as they are or not at all
    included: frozenset[str]  # paths in git directories that are taken all the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A merged tree, stored, and what stood in its way."""

    files: Root
    changed: tuple[TreeDifference, ...]  # base to theirs
    conflicts: tuple[PathConflict, ...]
    withheld: tuple[str, ...]  # changes of git directories, which are not taken


class MergeService:
    """Merges stored trees."""

    def __init__(self, *, store: SnapshotStore, clock: Clock) -> None:
        """Read and write trees in this store."""
        self._store = store
        self._clock = clock

    def merge(self, base: Root, ours: Root, theirs: Root, rules: MergeRules) -> Merged:
        """Bring what they made of the base into our tree. Whoever calls holds the store until rows name it."""
        by_theirs = self._store.difference(base, theirs)
        if not by_theirs:
            return Merged(files=ours, changed=(), conflicts=(), withheld=())
        by_ours = self._store.difference(base, ours)
        merge = merge_trees(
            by_ours,
            by_theirs,
            Renames() if rules.whole else self._renames(by_ours, by_theirs),
            rules.names,
            lambda path: in_git_directory(path) and not is_included(path, rules.included),
        )
        merge = self._with_page_sizes(merge, ours, theirs) if rules.whole else merge
        edits, conflicts = self._with_texts(merge, rules)
        if rules.on_overlap is OnOverlap.TAKE_THEIRS:
            edits |= {conflict.path: conflict.theirs for conflict in conflicts}
            conflicts = []
        at_ns = int(self._clock.now().timestamp() * 1_000_000) * 1000
        stamped = {path: entry and replace(entry, mtime_ns=at_ns) for path, entry in edits.items()}
        return Merged(
            files=self._store.graft(ours, stamped, at_ns) if stamped else ours,
            changed=by_theirs,
            conflicts=tuple(conflicts),
            withheld=merge.withheld,
        )

    def _renames(self, ours: Sequence[TreeDifference], theirs: Sequence[TreeDifference]) -> Renames:
        """Files that one side renamed, as far as the other side has anything to do with them."""
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
        return {rename.old: rename.new for rename in find_renames(gone, come, self._store.read)[0]}

    def _with_texts(
        self, merge: TreeMerge, rules: MergeRules
    ) -> tuple[dict[str, TreeEntry | None], list[PathConflict]]:
        """Merge the files that both sides changed, line by line; gives all edits and all conflicts."""
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

        for text, content in zip(placed, self._store.put(merged()), strict=True):
            edits[text.path] = replace(text.entry, content=content)
        return edits, conflicts

    def _merged_text(self, text: TextToMerge, rules: MergeRules) -> tuple[bytes | None, str]:
        """The merged bytes, if there are any to be written; and why it is a conflict, if it is one."""
        theirs = text.entry.content
        assert theirs is not None
        sides = [self._text(content) for content in (text.base, text.ours, theirs)]
        base, mine, other = sides
        if rules.whole or base is None or mine is None or other is None:
            return None, "both sides changed it, and it is no text"
        marks = rules.names if rules.on_overlap is OnOverlap.MARK else None
        merge = merge_texts(base, mine, other, marks)
        if not merge.overlaps:
            return merge.text, ""
        return (merge.text if marks else None), merge.reason

    def _text(self, content: StoredContent) -> bytes | None:
        """The bytes of a text; None where it is none."""
        if content.size > LARGEST_TEXT:
            return None
        data = self._store.read(content)
        return None if is_binary(data) else data

    def _with_page_sizes(self, merge: TreeMerge, ours: Root, theirs: Root) -> TreeMerge:
        """A database that others have open can take no content of another page size."""
        conflicts = list(merge.conflicts)
        for found in self._store.difference(ours, theirs):
            pair = [side.content for side in (found.old, found.new) if side is not None and side.content]
            if found.path not in merge.edits or len(pair) < 2:
                continue
            mine, other = (int.from_bytes(self._store.head(c, _PAGE_SIZE.stop)[_PAGE_SIZE]) for c in pair)
            if mine and other and mine != other:
                reason = f"pages of {_bytes(mine)} bytes became pages of {_bytes(other)}"
                conflicts.append(PathConflict(path=found.path, reason=reason, theirs=found.new))
        kept = {path: entry for path, entry in merge.edits.items() if path not in {c.path for c in conflicts}}
        return replace(merge, edits=kept, conflicts=tuple(conflicts))


def _bytes(page_size: int) -> int:
    return 65536 if page_size == 1 else page_size
