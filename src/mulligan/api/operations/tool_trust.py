"""Asks whether the project's tools.py may run, where an operation needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from mulligan.errors import ToolsUntrusted

if TYPE_CHECKING:
    from mulligan.adapters.tools.user_tools.tool_discovery import FileStanding
    from mulligan.api.project import Project

_Result = TypeVar("_Result")


def trusting(
    project: Project, act: Callable[[], _Result], ask: Callable[[FileStanding, str], bool]
) -> _Result:
    """Do it; where that needs a tools.py that is not trusted yet, ask, and on a yes trust that content and do it.

    `ask` gets the file with its hash, and why it is needed; none of it has run.
    """
    try:
        return act()
    except ToolsUntrusted as exc:
        standing = project.tools.standing()
        if not ask(standing, exc.text):
            raise
    project.tools.trust(standing.sha256)
    return act()
