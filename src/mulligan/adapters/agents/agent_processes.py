"""Processes that commands of an agent started, recognised by their environment.

Agents hand the id of the session to the commands that they run; one that does not marks them as its own by other
variables. Nothing else counts: a process that may be the user's own is not seen here.
"""

import os
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path

from mulligan.domain.agents.left_process import RunningProcess
from mulligan.domain.text.inert_text import harmless

_SHORTEST_ID = 12  # characters: a shorter one may be the value of anything
_LARGEST = 1 << 20  # bytes of an environment
_SHOWN = 200
_PARENT, _STARTED = 1, 19  # fields of stat, counted from the state
_PATIENCE = 5.0  # seconds for a process to end


def processes_of(
    session: str, marks: Sequence[str], folder: str, now: Callable[[], datetime]
) -> list[RunningProcess]:
    """Return the processes of a session that work in a folder, without this program and all that started it.

    With marks they are those of all sessions of the agent: each has all these variables.
    """
    if len(session) < _SHORTEST_ID:
        return []
    wanted = session.encode("utf-8", "surrogateescape")
    all_of = {mark.encode() for mark in marks}

    def is_marked(pid: int) -> bool:
        variables = _read(pid, "environ").split(b"\0")
        if all_of:
            return all_of.issubset(variables)
        return any(text.partition(b"=")[2] == wanted for text in variables)

    ours, inside = set(_ancestors(os.getpid())), os.path.realpath(folder)
    found: list[RunningProcess] = []
    for pid in _all():
        if pid in ours or not _works_in(pid, inside) or not is_marked(pid) or _is_mulligan(pid):
            continue
        ticks = _stat(pid, _STARTED)
        if not ticks:
            continue
        line = [_stat(each, _STARTED) for each in takewhile(is_marked, _ancestors(pid))] if marks else []
        began = min([ticks, *filter(None, line)])
        moment = now()
        found.append(
            RunningProcess(
                pid=pid,
                ticks=ticks,
                started_at=_moment(ticks, moment),
                begun_at=_moment(began, moment),
                command=_command(pid),
            )
        )
    return found


def end_process(process: RunningProcess) -> bool:
    """End a process, gently first; return whether it is gone. Another process with its number is left alone."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return True
    try:
        if _stat(process.pid, _STARTED) != process.ticks:
            return True
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, number)
            if select.select([descriptor], [], [], _PATIENCE)[0]:
                return True
        return False
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _all() -> list[int]:
    try:
        return sorted(int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
    except OSError:
        return []


def _works_in(pid: int, folder: str) -> bool:
    try:
        cwd = str(Path(f"/proc/{pid}/cwd").readlink()).removesuffix(" (deleted)")
        return Path(f"/proc/{pid}").stat().st_uid == os.geteuid() and f"{cwd}/".startswith(f"{folder}/")
    except OSError:
        return False


def _is_mulligan(pid: int) -> bool:
    """Return whether a process is a hook or server of mulligan, which agents start as well."""
    words = [Path(os.fsdecode(word)).name for word in _read(pid, "cmdline").split(b"\0")[:8]]
    return any(word.startswith("mulligan") for word in words) and ("hook" in words or "serve" in words)


def _command(pid: int) -> str:
    words = _read(pid, "cmdline")[: _SHOWN * 4].replace(b"\0", b" ").strip()
    return harmless(words.decode(errors="replace"))[:_SHOWN]


def _moment(ticks: int, now: datetime) -> datetime:
    """Return when a process started, by the clock of this moment."""
    running = float(Path("/proc/uptime").read_text("ascii").split()[0])
    return now - timedelta(seconds=running - ticks / os.sysconf("SC_CLK_TCK"))


def _ancestors(pid: int) -> Iterator[int]:
    line: set[int] = set()
    while pid > 0 and pid not in line:
        line.add(pid)
        yield pid
        pid = _stat(pid, _PARENT)


def _stat(pid: int, field: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[field]) if len(fields) > field else 0


def _read(pid: int, name: str) -> bytes:
    try:
        with Path(f"/proc/{pid}/{name}").open("rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b""
