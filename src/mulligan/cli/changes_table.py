"""How the paths are shown that a return touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mulligan.cli.answer import Table

if TYPE_CHECKING:
    from mulligan.application.impact import RevertedChange

_OBJECTS = ".git/objects/"


def changes_table(changes: Sequence[RevertedChange]) -> Table:
    """One row a path; what git stores as objects, which says nothing to people, in one row for all."""
    rows = [(c.action.value, c.resource, c.file) for c in changes if not c.file.startswith(_OBJECTS)]
    objects = Counter((c.action.value, c.resource) for c in changes if c.file.startswith(_OBJECTS))
    rows += [(action, resource, f"{_OBJECTS}... ({n} paths)") for (action, resource), n in objects.items()]
    return Table(("ACTION", "RESOURCE", "PATH"), tuple(rows))
