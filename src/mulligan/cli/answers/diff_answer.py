"""The answer for a difference between checkpoints."""

from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Block, Line, Patch, Table
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from mulligan.domain.trees.diff import Diff, FileDiff

_SHORT_PATCH = 30  # lines
_SHORT_TABLE = 10  # rows


def diff_answer(diff: "Diff") -> Answer:
    """For programs the patch alone, which `git apply` takes; on a terminal a table of what differs below it."""
    from mulligan.api.replies import diff_reply  # here: commands on plans import this module

    return Answer.drawn(diff_reply(diff), [Patch(diff.patch, _summary(diff))])


def short_diff(diff: "Diff", plan_id: str) -> tuple[Block, ...]:
    """A difference for a glance: the patch where it is short, else the first paths and where to see all."""
    if not diff.files and not diff.folders:
        return (Line("nothing differs"),)
    if diff.patch and diff.patch.count(b"\n") <= _SHORT_PATCH:
        return (Patch(diff.patch, _summary(diff)),)
    table, count = _summary(diff)
    assert isinstance(table, Table)
    left_out = len(table.rows) - _SHORT_TABLE
    blocks: list[Block] = [Table(table.columns, table.rows[:_SHORT_TABLE]), count]
    more = f"{counted(left_out, 'more path')}, and " if left_out > 0 else ""
    blocks.append(Line(f"{more}all lines: mulligan plan diff {plan_id}"))
    return tuple(blocks)


def _summary(diff: "Diff") -> tuple[Line | Table, ...]:
    if not diff.files and not diff.folders:
        return ()
    rows = [
        (f.status.value, f.resource, _name(f), _count(f.insertions), _count(f.deletions)) for f in diff.files
    ]
    rows += [(f.status.value, f.resource, f"{f.path}/", "", "") for f in diff.folders]
    insertions = sum(file.insertions or 0 for file in diff.files)
    deletions = sum(file.deletions or 0 for file in diff.files)
    return (
        Table(("STATUS", "RESOURCE", "PATH", "+", "-"), tuple(rows)),
        Line(
            f"{counted(len(diff.files), 'file differs', 'files differ')}: "
            f"{counted(insertions, 'line')} inserted, {deletions} deleted",
            title=True,
        ),
    )


def _name(file: "FileDiff") -> str:
    return file.path if file.old_path is None else f"{file.old_path} => {file.path} ({file.similarity} %)"


def _count(lines: int | None) -> str:
    return "binary" if lines is None else str(lines)
