"""Answers of apply and unapply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.api.replies import application_reply
from mulligan.cli.answers.answer import Answer, Line, Table
from mulligan.domain.resources.resource import MergeUnit
from mulligan.domain.text.plural import counted
from mulligan.domain.trees.diff import FileStatus

if TYPE_CHECKING:
    from mulligan.api.results import Application, AppliedResource, PlanStatus

_OF_WHOLES = {FileStatus.ADDED: "made", FileStatus.DELETED: "removed"}


def apply_answer(status: PlanStatus, done: Application, *, done_as: str) -> Answer:
    """Answer with the changes of the real resources, or what prevented them."""
    would = "would be " if done.dry_run else ""
    title = f"plan {status.name} ({status.plan_id}) is {status.phase}/{status.state}"
    blocks: list[Line | Table] = [Line(title, title=True)]
    if done.conflicts:
        rows = tuple((c.resource, c.path, c.reason) for c in done.conflicts)
        blocks.append(Table(("RESOURCE", "PATH", "CONFLICT"), rows))
    for each in done.applied:
        commit = f", commit {each.commit}" if each.commit else ""
        blocks.append(Line(f"{would}{done_as} in {each.resource}: {_extent(each, done)}{commit}"))
        blocks += [Line(f"in the working tree only: {text}") for text in each.uncommitted]
    rows = tuple((f.status.value, f.resource, f.path) for f in (*done.files, *done.folders))
    if rows:
        blocks.append(Table(("CHANGE", "RESOURCE", "PATH"), rows))
    return Answer.drawn(application_reply(status, done), blocks)


def _extent(applied: AppliedResource, done: Application) -> str:
    """Say how much of a resource changes, in lines where it is merged by lines."""
    traits = applied.type.traits
    if traits.merged_by is MergeUnit.LINE:
        return f"{counted(applied.files, 'file')}, +{applied.insertions} -{applied.deletions}"
    states = [file.status for file in done.files if file.resource == applied.resource]
    return f"{traits.noun} {_OF_WHOLES.get(states[0], 'changed') if states else 'unchanged'}"
