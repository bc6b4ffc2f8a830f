"""The differences between two groups, as far as a page can show them: no more is read than is shown."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from mulligan.application.queries.tree_diff import DiffOptions, diff_trees
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup, GroupOutline
from mulligan.domain.trees.diff import FileDiff, TreeDiff
from mulligan.domain.trees.tree_difference import TreeDifference, without_hidden
from mulligan.domain.views.report import Changes, ShownFile
from mulligan.errors import Advice, NextStep, SnapshotDamaged, SystemFailed
from mulligan.ports import StoredTrees

_PATHS = 200  # of one comparison
_LARGEST_TEXT = 256 * 1024  # bytes of a file that is compared line by line
_READ = 4 * 1024 * 1024  # bytes of both sides of one comparison
_FILE_LINES = 400  # of the patch of one file

_Group: TypeAlias = CheckpointGroup | GroupOutline


class PageRoom(Struct, kw_only=True):
    """The number of lines that still fit on a page."""

    patches: int
    outputs: int


class ReportChanges(Struct, frozen=True, eq=False):
    """Compares groups for one page."""

    trees: StoredTrees
    room: PageRoom
    words: Callable[[str], str]
    hidden: tuple[str, ...]  # patterns of paths that are only counted

    def between(self, old: _Group, new: _Group) -> Changes:
        """Compare two groups; a damaged store is reported as a problem beside the rest."""
        files, diffs, left_out, hidden = list[ShownFile](), list[TreeDiff](), 0, 0
        olds = {checkpoint.resource: checkpoint.snapshot for checkpoint in old.checkpoints}
        pairs = [(c.resource, olds[c.resource], c.snapshot) for c in new.checkpoints if c.resource in olds]
        problem = None
        try:
            for resource, before, after in pairs:
                found = self.trees.difference(before.roots[0], after.roots[0])
                differences, count = without_hidden(found, self.hidden)
                hidden += count
                shown = self._within_room(differences)
                left_out += len(differences) - len(shown)
                options = DiffOptions(resource=resource, prefix="", binary=False, largest_text=_LARGEST_TEXT)
                diff = diff_trees(shown, self.trees.read, options)
                diffs.append(diff)
                files += [self._cut(*each) for each in zip(diff.files, diff.patches, strict=True)]
        except (SnapshotDamaged, SystemFailed) as exc:
            problem = self.words(Advice(f"{exc.text}; ", exc.next_step))
        return Changes(
            old=old.group_id,
            new=new.group_id,
            files=tuple(files),
            folders=tuple(folder for diff in diffs for folder in diff.folders),
            paths_left_out=left_out,
            hidden=hidden,
            problem=problem,
            look=self.words(Advice(NextStep("checkpoints.diff", old=old.group_id, new=new.group_id))),
        )

    def _within_room(self, differences: Sequence[TreeDifference]) -> Sequence[TreeDifference]:
        size = count = 0
        for difference in differences[: _PATHS if self.room.patches else 0]:
            size += sum(_to_read(difference))
            if size > _READ:
                break
            count += 1
        return differences[:count]

    def _cut(self, file: FileDiff, patch: bytes) -> ShownFile:
        lines = patch.split(b"\n")[:-1]
        shown = lines[: min(_FILE_LINES, self.room.patches)]
        self.room.patches -= len(shown)
        return ShownFile(
            file=file, patch=b"".join(line + b"\n" for line in shown), lines_left_out=len(lines) - len(shown)
        )


def _to_read(difference: TreeDifference) -> list[int]:
    sides = (side.content for side in (difference.old, difference.new) if side is not None)
    return [content.size for content in sides if content is not None and content.size <= _LARGEST_TEXT]
