"""The answer with what the steps of a plan printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.api.replies import outputs_reply
from mulligan.cli.answers.answer import Answer, Block, Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.api.results import PlanStatus, StepOutput


def output_answer(status: PlanStatus, outputs: Sequence[StepOutput]) -> Answer:
    """Answer as the steps printed it: stdout on stdout, stderr on stderr."""
    blocks: list[Block] = [Output(each.printed.stdout, each.printed.stderr) for each in outputs]
    reply = outputs_reply(status, outputs)
    notes = () if blocks else (f"no step of {status.handle} printed anything that is recorded",)
    return Answer(data=reply.data, blocks=blocks, messages=notes)
