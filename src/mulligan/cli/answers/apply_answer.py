"""Answers of apply and unapply."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan.api.replies import application_reply
from mulligan.cli.answers.answer import Answer, Block, Line, Table, cut, cut_lines
from mulligan.cli.answers.status_answer import names_of, title
from mulligan.domain.resources.resource import MergeUnit
from mulligan.domain.text.plural import counted
from mulligan.domain.trees.diff import FileStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.api.results import Application, AppliedResource, PlanStatus

_NAMED = 5  # paths of a commit that are listed; the table has all
_OF_WHOLES = {FileStatus.ADDED: "made", FileStatus.DELETED: "removed"}


def apply_answer(status: PlanStatus, done: Application, *, done_as: str) -> Answer:
    """Answer with the changes of the real resources, or what prevented them."""
    would = "would be " if done.dry_run else ""
    blocks: list[Block] = [Line(title(status), title=True)]
    if done.conflicts:
        rows = tuple((c.resource, c.path, c.reason) for c in done.conflicts)
        blocks += cut(Table(("RESOURCE", "PATH", "CONFLICT"), rows), "see them with --format json")
    for each in done.applied:
        blocks.append(Line(f"{would}{done_as} in {each.resource}: {_extent(each, done)}"))
        blocks += commit_lines(each, dry_run=done.dry_run)
        blocks += cut_lines([f"in the working tree only: {text}" for text in _gathered(each.uncommitted)])
    rows = tuple((f.status.value, f.resource, f.path) for f in (*done.files, *done.folders))
    if rows:
        table = Table(("CHANGE", "RESOURCE", "PATH"), rows)
        blocks += cut(table, f"mulligan diff --stat {status.handle}")
    answer = Answer.drawn(application_reply(status, done), blocks, names_of(status))
    question = question_of("Apply" if done_as == "applied" else "Take back", done.applied)
    return replace(answer, question=question, settled=_is_settled(done))


def _gathered(uncommitted: Sequence[str]) -> Sequence[str]:
    """Return one line for many paths with the same reason: the table names the paths."""
    paths = Counter(text.rpartition(": ")[2] for text in uncommitted)
    lines = dict[str, None]()
    for text in uncommitted:
        reason = text.rpartition(": ")[2]
        many = paths[reason] > _NAMED
        lines[f"{counted(paths[reason], 'path')}, of each: {reason}" if many else text] = None
    return list(lines)


def _is_settled(done: Application) -> bool:
    """Return whether nothing real changes, and nothing but caches stays behind: there is nothing to ask."""
    if not done.applied:
        return not done.conflicts  # it worked in place
    changes = done.files or done.folders or any(each.branch for each in done.applied)
    about_caches = sum(each.hidden > 0 for each in done.applied)  # each has a message
    return not changes and len(done.messages) == about_caches


def commit_lines(applied: AppliedResource, *, dry_run: bool) -> list[Line]:
    """Say which commit a git checkout gets, that its branch moves back, or that it gets none."""
    if applied.moved_back is not None:
        be = "would move" if dry_run else "moved"
        return [
            Line(
                f"branch {applied.branch} {be} back to {applied.moved_back[:12]}: no other ref has the commit"
            )
        ]
    if applied.branch is not None:
        named = f"{applied.commit[:12]} " if applied.commit else ""
        be = "would be committed" if dry_run else f"commit {named}".rstrip()
        paths = counted(len(applied.committed), "path")
        listed = f": {', '.join(applied.committed)}" if len(applied.committed) <= _NAMED else ""
        return [Line(f"{be} on {applied.branch} as {applied.subject!r}, {paths}{listed}")]
    if applied.type.traits.has_commits and applied.files and not applied.uncommitted:
        return [Line(f"no commit{' would be made' if dry_run else ''}: HEAD and index stay as they are")]
    return []


def question_of(verb: str, applied: Sequence[AppliedResource]) -> str:
    """Return the question before an apply or unapply, which names the commits that it makes."""
    commits = [f"commit {each.subject!r} on {each.branch}" for each in applied if each.subject is not None]
    moves = [f"move {each.branch} back" for each in applied if each.moved_back is not None]
    return f"{verb}, and {' and '.join((*commits, *moves))}?" if commits or moves else ""


def _extent(applied: AppliedResource, done: Application) -> str:
    """Say how much of a resource changes, in lines where it is merged by lines."""
    traits = applied.type.traits
    if traits.merged_by is MergeUnit.LINE:
        return f"{counted(applied.files, 'file')}, +{applied.insertions} -{applied.deletions}"
    states = [file.status for file in done.files if file.resource == applied.resource]
    return f"{traits.noun} {_OF_WHOLES.get(states[0], 'changed') if states else 'unchanged'}"
