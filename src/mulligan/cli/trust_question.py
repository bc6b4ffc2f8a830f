"""The question whether the project's tools.py may run, where a command needs it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from mulligan.errors import ToolsUntrusted

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.cli.invocation import Invocation

_Result = TypeVar("_Result")
_OTHERWISE = "read the file, then say that it may run with `mulligan tool trust --yes`"


def trusting(invocation: "Invocation", project: "Project", act: Callable[[], _Result]) -> _Result:
    """Do it; where that needs a tools.py that nobody trusted yet, ask on the terminal and do it then."""
    try:
        return act()
    except ToolsUntrusted as exc:
        if not invocation.can_ask:
            raise
        sha256 = ask_for_trust(invocation, project, exc.text)
    project.tools.trust(sha256)
    return act()


def ask_for_trust(invocation: "Invocation", project: "Project", why: str) -> str:
    """Show which content would run, none of it run, and ask; gives its hash."""
    from mulligan.cli.answers.answer import Answer, Line

    standing = project.tools.standing()
    lines = [
        Line(why),
        Line(f"file:    {standing.path}, {standing.size_bytes} bytes"),
        Line(f"sha256:  {standing.sha256}"),
        Line("It is code that runs as you, when plans are checked and run. Read it first."),
    ]
    invocation.show(Answer(data=None, blocks=lines))
    invocation.confirm("Trust this content?", otherwise=_OTHERWISE)
    return standing.sha256 or ""
