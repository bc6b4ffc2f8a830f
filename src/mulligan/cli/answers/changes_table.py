"""The paths that a return touches, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Line, Table
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from mulligan.api.results import Impact, RevertedChange

_OBJECTS = ".git/objects/"


def changes_line(paths: int, impact: Impact, *, dry_run: bool) -> Line:
    """Describe how much a return touches and takes back, or would."""
    calls = counted(impact.tool_calls_undone, "tool call")
    decisions = counted(impact.decisions_discarded, "decision")
    be = "to be " if dry_run else ""
    return Line(f"{counted(paths, 'path')} {be}changed; {calls}, {decisions} {be}taken back")


def changes_table(changes: Sequence[RevertedChange]) -> Table:
    """One row a path; what git stores as objects, which says nothing to people, in one row for all."""
    rows = [(c.action.value, c.resource, c.file) for c in changes if not c.file.startswith(_OBJECTS)]
    objects = Counter((c.action.value, c.resource) for c in changes if c.file.startswith(_OBJECTS))
    rows += [
        (action, resource, f"{_OBJECTS}... ({counted(n, 'path')})")
        for (action, resource), n in objects.items()
    ]
    return Table(("ACTION", "RESOURCE", "PATH"), tuple(rows))
