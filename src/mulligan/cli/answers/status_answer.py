"""The status of a plan, for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mulligan.api.operations.command_words import in_commands
from mulligan.cli.answers.answer import Answer, Block, Line, Table, cut, cut_lines
from mulligan.cli.answers.plain_words import STEP_STATES, TAKEN, in_words, standing
from mulligan.cli.terminal.times import lasting
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.plans.step import StepStatus
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from datetime import datetime

    from mulligan.api.results import Execution, PlanStatus, Tried
    from mulligan.errors import MulliganError


_MOST_NAMED = 10  # paths in one line


def status_answer(
    status: PlanStatus,
    error: MulliganError | None,
    messages: Sequence[str] = (),
    *,
    when: Callable[[datetime], str] | None = None,
    went_on: str = "went on",
) -> Answer:
    """Answer with the state of a plan, and what stopped it; with `when`, which formats times, in full."""
    blocks: list[Block] = [Line(title(status), title=True)]
    if when is not None:
        timing = status.timing
        blocks.append(Line(f"recorded {when(timing.created_at)}, last changed {when(timing.updated_at)}"))
        blocks += [Line(f"forked from {status.forked_from.word}")] if status.forked_from else []
        blocks += _in_full(status)
    if status.resumed_from is not None:
        resumed = status.resumed_from
        kept = f"; what was there is kept in {resumed.discarded}" if resumed.discarded else ""
        blocks.append(Line(f"{went_on} from {resumed.checkpoint_id}, step {resumed.step_index + 1}{kept}"))
        if resumed.edited:
            blocks.append(Line(f"with what was edited since: {_some(resumed.edited)}"))
    blocks += cut_lines(
        [f"conflict in {c['resource']}: {c['path']} ({c['reason']})" for c in status.conflicts]
    )
    if error is None and status.error is not None:
        if status.waiting is None or status.waiting["reason"] != "question":  # which the title has
            first, *more = _stopped(status, status.error.message).splitlines() or [""]
            blocks += [Line(f"stopped: {first}"), *(Line(f"  {line}") for line in more)]
        blocks.append(Line(f"next: {in_commands(status.error.hint)}"))
    elif error is None:
        blocks += _next(status)
    return Answer(
        data=status,
        blocks=blocks,
        names=names_of(status),
        messages=[*status.messages, *messages],
        error=error,
    )


def _stopped(status: PlanStatus, message: str) -> str:
    """Say what stopped a plan, with the number of the step that it is at."""
    at = next((s.index for s in status.steps if s.status is not StepStatus.DONE), len(status.steps))
    return in_words(message, at)


def _some(paths: Sequence[str]) -> str:
    """Name some of many paths."""
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(paths[:_MOST_NAMED]) + more


def executed_answer(
    status: PlanStatus,
    execution: Execution,
    tried: Callable[[str, Execution], Tried | None] = lambda _plan, _execution: None,
) -> Answer:
    """Answer with the state of a plan after it was executed; its steps were shown while it ran.

    `tried` returns what the execution made of a try, whose variants are the answer.
    """
    if status.execution.child_plans and (found := tried(status.plan_id, execution)) is not None:
        from mulligan.cli.answers.plans.variant_answer import tried_answer  # here: few plans are tries

        return tried_answer(found, status)
    from mulligan.api.replies import execution_reply  # here: a look at a plan executes nothing

    reply = execution_reply(status, execution)
    return Answer.drawn(reply, status_answer(status, reply.error).blocks, names_of(status))


def title(status: PlanStatus) -> str:
    """Describe a plan in one line: `tune: failed at step 2 (tests)`."""
    attempt = f", attempt {status.attempt}" if status.attempt > 1 else ""
    return f"{status.plan_id}: {standing(status)}{attempt}"


def names_of(status: PlanStatus) -> Mapping[str, str]:
    """Return the words for the ids that a status has."""
    names: dict[str, str] = {status.plan_id: status.handle}
    if status.last_checkpoint_id is not None and status.last_checkpoint_number is not None:
        names[status.last_checkpoint_id] = f"{status.handle}@{status.last_checkpoint_number}"
    return names


def _in_full(status: PlanStatus) -> Iterator[Line | Table]:
    rows = tuple(
        (
            str(s.index + 1),
            s.shown,
            TAKEN if s.taken else STEP_STATES[s.status],
            "" if s.duration_ms is None else lasting(s.duration_ms),
        )
        for s in status.steps
    )
    yield from cut(Table(("#", "STEP", "STATUS", "TOOK"), rows), f"mulligan log {status.plan_id}")
    for s in status.sandboxes:
        on = f", on {s.host}" if s.host is not None else ""
        yield Line(f"sandbox of {s.resource}: {s.path}{on}")
    if (holder := status.holder) is not None:
        on = "" if holder.host is None else f" on {holder.host}"
        lease = "" if holder.lease_seconds is None else f", lease {holder.lease_seconds:g} s"
        yield Line(f"process {holder.pid}{on} works on it{lease}")
    yield from (
        Line(f"attempt {c.attempt} by correction {c.correction_id}: {c.guidance}") for c in status.corrections
    )
    if status.last_checkpoint_id:
        count = counted(status.execution.checkpoints, "checkpoint")
        yield Line(f"{count}, the plan is at {status.last_checkpoint_id}")


def _next(status: PlanStatus) -> Iterator[Line]:
    """Name what can be done with a plan that nothing stopped."""
    if status.parent_plan_id is not None:
        return
    match status.phase, status.state:
        case Phase.STRATEGIZE, State.COMPLETE:
            yield Line(f"next: run it with `mulligan plan execute {status.plan_id}`")
        case Phase.EXECUTE, State.COMPLETE if any(
            s.strategy is not Strategy.IN_PLACE for s in status.sandboxes
        ):
            yield Line(
                f"next: `mulligan diff {status.plan_id}` shows what changed, "
                f"`mulligan apply {status.plan_id}` applies it"
            )
        case Phase.EXECUTE, State.QUEUED:
            yield Line(f"next: `mulligan resume {status.plan_id}` runs on")
        case _:
            return
