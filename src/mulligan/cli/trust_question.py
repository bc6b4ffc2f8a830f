"""The question whether the project's tools.py may run, where a command needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.api.results import FileStanding
    from mulligan.cli.invocation import Invocation

_Result = TypeVar("_Result")
_OTHERWISE = "read the file, then allow it to run with `mulligan tool trust --yes`"


def trusting(invocation: Invocation, project: Project, act: Callable[[], _Result]) -> _Result:
    """Do it; where that needs a tools.py that is not trusted yet, ask on the terminal and do it then."""

    def ask(standing: FileStanding, why: str) -> bool:
        if invocation.can_ask:
            ask_for_trust(invocation, standing, why)
        return invocation.can_ask

    from mulligan.api.operations import tool_trust  # here: few commands run tools

    return tool_trust.trusting(project, act, ask)


def ask_for_trust(invocation: Invocation, standing: FileStanding, why: str) -> None:
    """Show which content would run, none of it run, and ask; Declined without a yes."""
    from mulligan.cli.answers.answer import Answer, Line

    lines = [
        Line(why),
        Line(f"file:    {standing.path}, {standing.size_bytes} bytes"),
        Line(f"sha256:  {standing.sha256}"),
        Line("It is code that runs as you, when plans are checked and run. Read it first."),
    ]
    invocation.show(Answer(data=None, blocks=lines))
    invocation.confirm("Trust this content?", otherwise=_OTHERWISE)
