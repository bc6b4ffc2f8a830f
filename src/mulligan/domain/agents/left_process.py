"""Processes that calls of agents left running."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from msgspec import Struct

from mulligan.domain.plans.tool import ToolCall

TICKS = timedelta(milliseconds=30)  # within which the start of a process is known


class RunningProcess(Struct, frozen=True, kw_only=True):
    """A process that a command of an agent's session started."""

    pid: int
    ticks: int  # at which it started, since the machine did: with the pid it names one process
    started_at: datetime
    begun_at: datetime  # of marked processes: when the first one of its line did that still runs
    command: str  # for people


class LeftProcess(Struct, frozen=True, kw_only=True):
    """A process that still runs, with the call that started it. The fields are named as in the JSON output."""

    pid: int
    command: str
    call: str  # as `undo --only` names it
    started_at: datetime
    ended: bool = False  # on request


class CallTime(Struct, frozen=True, kw_only=True):
    """The time in which a call may have started processes."""

    name: str
    call: ToolCall
    until: datetime | None  # None: it has no end yet


def left_by(
    processes: Iterable[RunningProcess], calls: Iterable[CallTime]
) -> Iterator[tuple[RunningProcess, CallTime]]:
    """Yield the processes that started while one of these calls was open, with the newest such call."""
    newest_first = sorted(calls, key=lambda each: each.call.started_at, reverse=True)
    for process in processes:
        for each in newest_first:
            begun = each.call.started_at - TICKS <= process.begun_at
            if begun and (each.until is None or process.begun_at <= each.until + TICKS):
                yield process, each
                break
