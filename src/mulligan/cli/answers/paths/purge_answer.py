"""The answer of a purge of paths for people: what was purged, and where the bytes still are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.api.operations.command_words import in_commands
from mulligan.cli.answers.answer import Answer, Line
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from mulligan.api.results import Purge

_SHOWN = 12  # numbers of checkpoints in a line


def purge_answer(purge: Purge) -> Answer:
    """Answer with what was purged, or would be."""
    total = sum(len(plan.checkpoints) for plan in purge.plans)
    verb = "would be purged from" if purge.dry_run else "purged from"
    lines = [Line(f"{', '.join(purge.paths)}: {verb} {counted(total, 'checkpoint')}", title=True)]
    for plan in purge.plans:
        shown = " ".join(f"@{number}" for number in plan.checkpoints[:_SHOWN])
        more = f" and {len(plan.checkpoints) - _SHOWN:,} more" if len(plan.checkpoints) > _SHOWN else ""
        lines.append(Line(f"  {plan.handle}: {shown}{more}"))
    if purge.bytes_freed is not None:
        lines.append(Line(f"{counted(purge.bytes_freed, 'byte')} freed in the store"))
    for left in purge.remaining:
        whose = f"{left.handle}: " if left.handle else ""
        lines.append(Line(f"left: {whose}{left.path}: {left.reason}; {in_commands(left.remedy)}"))
    return Answer(data=purge, blocks=lines, messages=purge.messages)
