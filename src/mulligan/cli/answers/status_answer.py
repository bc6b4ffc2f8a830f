"""The status of a plan, for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Line, Table
from mulligan.cli.command_words import in_commands
from mulligan.cli.terminal.times import lasting
from mulligan.domain.plans.plan import Phase, State

if TYPE_CHECKING:
    from datetime import datetime

    from mulligan.api.results import Execution, PlanStatus
    from mulligan.errors import MulliganError


def status_answer(
    status: PlanStatus,
    error: MulliganError | None,
    messages: Sequence[str] = (),
    *,
    when: Callable[[datetime], str] | None = None,
    went_on: str = "went on",
) -> Answer:
    """Answer with the status of a plan, and what stopped it; `when` formats times."""
    attempt = f", attempt {status.attempt}" if status.attempt > 1 else ""
    title = f"plan {status.name} ({status.plan_id}) is {status.phase}/{status.state}{attempt}"
    rows = tuple(
        (str(s.index), s.name, s.status.value, "" if s.duration_ms is None else lasting(s.duration_ms))
        for s in status.steps
    )
    blocks: list[Line | Table] = [Line(title, title=True)]
    if when is not None:
        timing = status.timing
        blocks.append(Line(f"recorded {when(timing.created_at)}, last changed {when(timing.updated_at)}"))
    blocks.append(Table(("#", "STEP", "STATUS", "TOOK"), rows))
    blocks += [Line(f"sandbox of {s.resource}: {s.path}") for s in status.sandboxes]
    blocks += [
        Line(f"attempt {c.attempt} by correction {c.correction_id}: {c.guidance}") for c in status.corrections
    ]
    if status.last_checkpoint_id:
        count = status.execution.checkpoints
        blocks.append(Line(f"last checkpoint {status.last_checkpoint_id} of {count}"))
    if status.resumed_from is not None:
        resumed = status.resumed_from
        kept = f"; what was there is kept in {resumed.discarded}" if resumed.discarded else ""
        blocks.append(Line(f"{went_on} from {resumed.checkpoint_id} at step {resumed.step_index}{kept}"))
    blocks += [Line(f"conflict in {c['resource']}: {c['path']} ({c['reason']})") for c in status.conflicts]
    if error is None and status.error is not None:
        blocks.append(Line(f"stopped: {status.error.message}"))
        blocks.append(Line(f"next: {in_commands(status.error.hint)}"))
    if status.phase is Phase.STRATEGIZE and status.state is State.COMPLETE and status.parent_plan_id is None:
        blocks.append(Line(f"next: run it with `mulligan plan execute {status.plan_id}`"))
    return Answer(data=status, blocks=blocks, messages=[*status.messages, *messages], error=error)


def executed_answer(status: PlanStatus, execution: Execution) -> Answer:
    """Answer with the status of a plan after it was executed."""
    from mulligan.api.replies import execution_reply  # here: a look at a plan executes nothing

    reply = execution_reply(status, execution)
    return Answer.drawn(reply, status_answer(status, reply.error).blocks)
