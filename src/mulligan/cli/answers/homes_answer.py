"""Answers of `projects`: the homes of all projects, and those that were removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Line, Table
from mulligan.domain.text.plural import counted
from mulligan.domain.text.sizes import size_text

if TYPE_CHECKING:
    from mulligan.api.results import FoundHome, ProjectList, PrunedProjects

_WORDS = {
    "in_use": "",
    "folder_gone": "folder is gone",
    "replaced": "folder has another home",
    "unreachable": "folder cannot be reached",
}
When = Callable[[datetime], str]


def projects_answer(found: ProjectList, when: When) -> Answer:
    """Draw all homes."""
    limit = f" of {size_text(found.limit_bytes)}" if found.limit_bytes else ""
    total = Line(
        f"{counted(len(found.projects), 'project')}, {size_text(found.size_bytes)}{limit} in {found.folder}"
    )
    unneeded = sum(not each.state.is_needed for each in found.projects)
    them = "it" if unneeded == 1 else "them"
    prune = f"{counted(unneeded, 'home')} not needed: `mulligan projects prune` removes {them}"
    messages = [prune] if unneeded else []
    messages += [
        f"{each.home} stays: its folder cannot be reached; if it is gone for good, `rm -rf {quote(each.home)}`"
        for each in found.projects
        if each.state == "unreachable"
    ]
    if found.limit_bytes and found.size_bytes > found.limit_bytes:
        messages.append("they hold more than core.disk-limit: new plans are refused")
    return Answer(data=found, blocks=[*_table(found.projects, when), total], messages=messages)


def pruned_answer(done: PrunedProjects, when: When) -> Answer:
    """Draw the homes that were removed, or would be."""
    would = "would be " if done.dry_run else ""
    if not done.removed and not done.busy:
        return Answer(data=done, blocks=[Line("every home is needed: nothing to remove")])
    said = f"{counted(len(done.removed), 'home')} {would}removed, {size_text(done.bytes_freed)} {would}freed"
    busy = [f"{home} stays: processes work in it" for home in done.busy]
    return Answer(data=done, blocks=[*_table(done.removed, when), Line(said)], messages=busy)


def _table(homes: Sequence[FoundHome], when: When) -> list[Table]:
    rows = tuple(
        (each.folder or "-", size_text(each.size_bytes), when(each.last_used), _WORDS[each.state], each.home)
        for each in homes
    )
    return [Table(("FOLDER", "SIZE", "LAST USED", "", "HOME"), rows)] if rows else []
