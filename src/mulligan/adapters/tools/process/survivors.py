"""Finding and ending what a killed runner left running.

A launcher and its guardian see to it that nothing is left, unless both are killed together with the runner.
The processes of a call carry the plan's and the call's id in their environment, and children inherit it. One
that wiped its environment is found by its control group, where the system let one be made, because it sees a sandbox
in the place of the real folder, or because it is at work in a sandbox and bears the restrictions of confined tools.
What users started themselves is left alone: their shells and editors bear none, also where they are at work in a
sandbox.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence

from mulligan.adapters.tools.launcher import control_groups
from mulligan.adapters.tools.process import process_table as table
from mulligan.adapters.tools.process.confinement import roots_of
from mulligan.adapters.tools.process.environment import PLAN_MARK
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.errors import ProcessSurvives

LAUNCHER_MARK = "MULLIGAN_LAUNCHER"
PATIENCE = 5.0  # seconds for launchers to finish on their own
DEATH_PATIENCE = 30.0  # seconds for killed processes to be gone: one that waits for a disk takes its time


def end_marked(name: str, value: str) -> tuple[str, ...]:
    """End every process marked so, but this one and those above it; describes each when all are gone."""
    return _end(lambda: _marked(name, value))


def end_left_of(plan_id: PlanId, sandboxes: Sequence[Sandbox]) -> tuple[str, ...]:
    """End every process that a killed runner of the plan left; describes each when all are gone.

    ProcessSurvives where one cannot be ended, or may be another's: then nothing may be restored.
    """
    roots = [os.path.realpath(root) for root in roots_of(sandboxes)]
    copies = [each for each in sandboxes if each.strategy is not Strategy.IN_PLACE]
    shown = [(each.path, os.path.realpath(each.location)) for each in copies]

    def left() -> list[int]:
        spared = _spared()
        known = [*_marked(PLAN_MARK, plan_id), *control_groups.members(plan_id)]
        found = (*known, *_confined_in(roots), *_seeing(shown))
        return [*dict.fromkeys(pid for pid in found if pid not in spared)]

    ended = _end(left)
    _refuse_doubtful(roots_of(copies))
    return ended


def _refuse_doubtful(folders: Sequence[str]) -> None:
    """Give processes of unknown origin time to end on their own, then refuse to continue and name one."""
    roots = [os.path.realpath(folder) for folder in folders]
    limit = time.monotonic() + PATIENCE
    while pids := _doubtful_in(roots):
        if time.monotonic() > limit:
            pid = _topmost(pids)
            raise ProcessSurvives(
                pid=pid,
                command=table.command_line(pid),
                reason="is at work in a sandbox, and may be what a killed run left",
                hint=f"if it is, end it (`kill {pid}`), else let it leave {folders[0]}; then try again",
            )
        time.sleep(0.05)


def _topmost(pids: Sequence[int]) -> int:
    """Return one that lives and that no other of these started: the others may be gone in a moment, or now."""
    lines = {pid: {*table.ancestors(pid)} for pid in pids}
    alive = [pid for pid in pids if table.session_of(pid)]
    return next((pid for pid in alive if not lines[pid] & ({*pids} - {pid})), pids[0])


def _end(find: Callable[[], Iterable[int]]) -> tuple[str, ...]:
    """End what is found until nothing is.

    A launcher whose runner died ends everything below it, also what wiped its environment: so it comes first and
    is given time. Where there is no /proc nothing can be found, and nothing is ended.
    """
    found: dict[int, str] = {}
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        pids = list(find())
        launchers = [pid for pid in pids if _is_launcher(pid)]
        found |= {pid: _describe(pid) for pid in pids if pid not in launchers and pid not in found}
        if not launchers:
            break
        time.sleep(0.005)
    found |= _kill(find)
    return tuple(found.values())


def _kill(find: Callable[[], Iterable[int]]) -> dict[int, str]:
    """Kill until nothing is found, for a child may be born while we look."""
    found: dict[int, str] = {}
    limit = time.monotonic() + DEATH_PATIENCE
    while pids := list(find()):
        if time.monotonic() > limit:
            raise ProcessSurvives(
                pid=pids[0],
                command=table.command_line(pids[0]),
                reason="was left by a killed run, and cannot be ended",
                hint=f"end it yourself (`kill -9 {pids[0]}`, as its owner), then try again",
            )
        for pid in pids:
            found.setdefault(pid, _describe(pid))
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue  # it ended meanwhile, or is reported above when the time is up
        time.sleep(0.005)
    return found


def _marked(name: str, value: str) -> list[int]:
    mark, spared = f"{name}={value}".encode(), _spared()
    return [pid for pid in table.all_processes() if pid not in spared and mark in table.environment(pid)]


def _confined_in(roots: Sequence[str]) -> list[int]:
    """Return the processes at work there that a launcher confined and that no longer have a launcher above them."""
    return _unmarked_in(roots, table.is_restricted_further)


def _seeing(shown: Sequence[tuple[str, str]]) -> list[int]:
    """Return the processes that see a sandbox in the place of the real folder, and no longer have a launcher."""
    spared = _spared()
    return [
        pid
        for pid in (table.all_processes() if shown else ())
        if pid not in spared and table.sees(pid, shown) and not _has_launcher(pid)
    ]


def _doubtful_in(roots: Sequence[str]) -> list[int]:
    return _unmarked_in(roots, lambda pid: not _is_users_own(pid))


def _is_users_own(pid: int) -> bool:
    """Return whether a process belongs to a session in which some process has HOME set, as in all sessions of users.

    A step cannot join such a session: its own begins with its command, which is gone or has the mark.
    """
    session = table.session_of(pid)
    line = [each for each in table.ancestors(pid) if table.session_of(each) == session]
    return any(table.has_variable(each, "HOME") for each in (session, *line))


def _unmarked_in(roots: Sequence[str], is_suspect: Callable[[int], bool]) -> list[int]:
    """Return the suspects at work there that have neither a mark nor a launcher.

    What a process has open and mapped is looked at last, and of few: it takes fifty times as long as all else.
    """
    spared = _spared()
    return [
        pid
        for pid in (table.all_processes() if roots else ())
        if pid not in spared
        and not table.is_kernel_thread(pid)
        and not table.has_terminal(pid)
        and is_suspect(pid)
        and not table.has_variable(pid, PLAN_MARK)
        and table.uses(pid, roots)
        and not _has_launcher(pid)
    ]


def _has_launcher(pid: int) -> bool:
    return any(map(_is_launcher, table.ancestors(pid)))


def _is_launcher(pid: int) -> bool:
    return f"{LAUNCHER_MARK}=1".encode() in table.environment(pid)


def _spared() -> set[int]:
    return set(table.ancestors(os.getpid()))


def _describe(pid: int) -> str:
    return f"process {pid} ({table.command_line(pid) or 'ended meanwhile'})"
