"""The answer of a bisection for people: a line for each trial while it goes on, then the change that broke it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mulligan.api.document import harmless
from mulligan.api.replies import bisect_reply
from mulligan.cli.answers.answer import Answer, Block, Line
from mulligan.cli.answers.diff_answer import stat_lines
from mulligan.cli.answers.plain_words import moment
from mulligan.cli.terminal.times import lasting
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mulligan.api.results import Bisection, FirstBad, Trial
    from mulligan.cli.invocation import Invocation
    from mulligan.domain.trees.diff import Diff

_MOMENT = 40  # columns


def follow(invocation: Invocation) -> tuple[Callable[[Trial], None], Callable[[bytes], None]]:
    """Return what shows trials, and what shows the output of the command where that is asked for, on stderr."""
    from mulligan.domain.text.inert_text import Inert  # here: few commands run another one

    inert = Inert(sys.stderr.encoding) if sys.stderr.isatty() else None

    def show(data: bytes) -> None:
        sys.stderr.flush()
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()

    def tried(trial: Trial) -> None:
        if not invocation.format.is_document:
            invocation.live.pause()
            show(f"{harmless(_trial_line(trial))}\n".encode(sys.stderr.encoding, "backslashreplace"))

    def printed(data: bytes) -> None:
        if invocation.verbose_option:
            invocation.live.pause()
            show(inert.piece(data) if inert is not None else data)

    return tried, printed


def _trial_line(trial: Trial) -> str:
    when = moment(trial.checkpoint_type, trial.step_index, trial.label)
    status = f" ({trial.exit_status})" if trial.result == "failed" else ""
    return f"  @{trial.number:<5} {when:<{_MOMENT}} {trial.result + status:<13} {lasting(trial.duration_ms)}"


def bisect_answer(found: Bisection, look: Callable[[str, str], Diff] | None) -> Answer:
    """Answer with the first checkpoint that fails, its step, tool call and decision, and what changed there."""
    tried = f"{counted(len(found.trials), 'trial')} over {counted(found.groups, 'checkpoint')}"
    first = found.first_bad
    if first is None or look is None:
        blocks: list[Block] = [Line(f"{found.handle}: not found, {tried}", title=True)]
        return Answer.drawn(bisect_reply(found), blocks)
    old, new = f"{found.handle}@{first.previous}", f"{found.handle}@{first.number}"
    when = moment(first.checkpoint_type, first.step_index, first.label)
    blocks = [Line(f"{new} is the first that fails: {when}", title=True), Line(f"{tried}; {old} passes")]
    blocks += map(Line, _causes(first))
    blocks += map(Line, stat_lines(look(old, new)))
    blocks.append(Line(f"all lines: mulligan diff {old} {new}"))
    return Answer.drawn(bisect_reply(found), blocks)


def _causes(first: FirstBad) -> Iterator[str]:
    if first.step is None:
        yield "no step ran in between: it was edited by hand, or taken over"
    else:
        yield f"step: {first.step}"
    if first.tool_call is not None:
        yield f"tool call: {first.tool_call['about']}"
    if first.decision is not None:
        facts = first.decision
        yield f"after the decision {facts['handle']}: {facts['question']} {facts['chosen']}"
