"""The answer for a difference between checkpoints."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan.cli.answers.answer import Answer, Block, Line, Patch, Table, cut
from mulligan.cli.terminal.folds import columns
from mulligan.domain.text.plural import counted
from mulligan.domain.trees.diff import FileDiff, FolderDiff
from mulligan.errors import Advice, NextStep

if TYPE_CHECKING:
    from mulligan.domain.trees.diff import Diff

_WHOLE_PATCH = NextStep("again", binary=True)
_SHORT_PATCH = 30  # lines
_GRAPH = 40  # columns of plus and minus signs
_NAMES = 60  # columns: a longer path does not push the counts of all others aside


class DiffView(StrEnum):
    """The part of a difference that people see."""

    PATCH = "patch"
    STAT = "stat"
    NAMES = "names"


def diff_answer(diff: "Diff", view: DiffView = DiffView.PATCH, look: str = "mulligan diff --stat") -> Answer:
    """For programs the patch alone, which `git apply` takes; on a terminal a table of what differs below it.

    Where the table is long, `look` is the command that shows all of it.
    """
    from mulligan.api.replies import diff_reply  # here: commands on plans import this module

    match view:
        case DiffView.PATCH:
            blocks: Sequence[Block] = [Patch(diff.patch, _cut_summary(diff, look))]
        case DiffView.STAT:
            blocks = [*map(Line, stat_lines(diff))]
        case DiffView.NAMES:
            blocks = [Line(name) for name, _ in _named(diff)]
    reply = diff_reply(diff)
    if view is not DiffView.PATCH:  # what a patch lacks is of no interest
        kept = [
            text for text in reply.messages if not (isinstance(text, Advice) and _WHOLE_PATCH in text.steps)
        ]
        reply = replace(reply, messages=kept)
    return replace(Answer.drawn(reply, blocks), paged=True)


def _named(diff: "Diff") -> "Iterator[tuple[str, FileDiff | FolderDiff]]":
    """Yield what differs with its path, as the patch has it: of several resources with the name of its own."""
    several = len({each.resource for each in (*diff.files, *diff.folders)}) > 1
    for each in (*diff.files, *diff.folders):
        name = _name(each) if isinstance(each, FileDiff) else f"{each.path}/"
        yield f"{each.resource}/{name}" if several else name, each


def stat_lines(diff: "Diff") -> "Iterator[str]":
    """Yield a line for each path with how much of it differs, as `git diff --stat` does, and the sum."""
    named = list(_named(diff))
    if not named:
        return
    room = max((columns(name) for name, _ in named if columns(name) <= _NAMES), default=0)
    most = max((file.insertions or 0) + (file.deletions or 0) for file in diff.files) if diff.files else 0
    digits = max(len(str(most)), len("Bin"))
    for name, each in named:
        yield f"{name}{' ' * (room - columns(name))} | {_extent(each, most, digits)}"
    yield _sum(diff)


def _extent(each: "FileDiff | FolderDiff", most: int, digits: int) -> str:
    if isinstance(each, FolderDiff):
        return f"folder {each.status.value}"
    if each.insertions is None or each.deletions is None:
        return "Bin"
    scale = min(1.0, _GRAPH / most) if most else 1.0
    plus, minus = (ceil(lines * scale) for lines in (each.insertions, each.deletions))
    return f"{each.insertions + each.deletions:>{digits}} {'+' * plus}{'-' * minus}".rstrip()


def _cut_summary(diff: "Diff", look: str) -> tuple[Line | Table, ...]:
    if not diff.files and not diff.folders:
        return ()
    table, count = _summary(diff)
    assert isinstance(table, Table)
    return (*cut(table, look), count)


def short_diff(diff: "Diff", handle: str) -> tuple[Block, ...]:
    """A difference for a glance: the patch where it is short, else the first paths and where to see all."""
    aside = f" ({counted(diff.hidden, 'cache file')} not shown)" if diff.hidden else ""
    if not diff.files and not diff.folders:
        return (Line(f"nothing differs{aside}"),)
    if diff.patch and diff.patch.count(b"\n") <= _SHORT_PATCH:
        return (Patch(diff.patch, _summary(diff)),)
    short = _cut_summary(diff, f"mulligan diff --stat {handle}")
    return (*short, Line(f"all lines: mulligan diff {handle}"))


def _summary(diff: "Diff") -> tuple[Line | Table, ...]:
    if not diff.files and not diff.folders:
        return ()
    rows = [
        (f.status.value, f.resource, _name(f), _count(f.insertions), _count(f.deletions)) for f in diff.files
    ]
    rows += [(f.status.value, f.resource, f"{f.path}/", "", "") for f in diff.folders]
    table = Table(("STATUS", "RESOURCE", "PATH", "+", "-"), tuple(rows))
    return table, Line(_sum(diff), title=True)


def _sum(diff: "Diff") -> str:
    insertions = sum(file.insertions or 0 for file in diff.files)
    deletions = sum(file.deletions or 0 for file in diff.files)
    files = counted(len(diff.files), "file differs", "files differ")
    return f"{files}: {counted(insertions, 'line')} inserted, {deletions} deleted"


def _name(file: "FileDiff") -> str:
    return file.path if file.old_path is None else f"{file.old_path} => {file.path} ({file.similarity} %)"


def _count(lines: int | None) -> str:
    return "binary" if lines is None else str(lines)
