"""The report of a plan: written into a file, or to stdout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Document, Line
from mulligan.cli.command_words import in_commands
from mulligan.domain.text.plural import counted
from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation

_STDOUT = "-"


def report_answer(invocation: Invocation, plan: str, file: str, *, force: bool) -> Answer:
    """Write the page and say where it is, or give it as the answer."""
    if file == _STDOUT:
        if invocation.format.is_document:
            raise UsageWrong(
                reason="stdout holds one document, and that is the answer", hint="name a FILE for the page"
            )
        page, problems = invocation.project().report_with_problems(plan, in_commands)
        return Answer(data=None, blocks=[Document(page.encode())], messages=problems, warn=bool(problems))
    saved, problems = invocation.project().save_report(plan, Path(file), force=force, words=in_commands)
    return Answer(
        data=saved,
        blocks=[Line(f"{saved.file}: {counted(saved.size_bytes, 'byte')}")],
        messages=problems,
        warn=bool(problems),
    )
