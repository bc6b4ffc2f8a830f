"""Finding and ending what a killed runner left running.

The processes of a call carry the plan's and the call's id in their environment, and children inherit it.
"""

import os
import signal
import time

from mulligan.errors import SystemFailed

LAUNCHER_MARK = "MULLIGAN_LAUNCHER"
PATIENCE = 5.0  # seconds for launchers to finish by themselves, and then for the killed to be gone


def end_marked(name: str, value: str) -> tuple[str, ...]:
    """End every process marked so, but this one and those above it; describes each when all are gone.

    A launcher whose runner died ends everything below it, also what wiped its environment: so it comes
    first and is given time. Where there is no /proc nothing can be found, and nothing is ended.
    """
    mark = f"{name}={value}".encode()
    found: dict[int, str] = {}
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        pids = _marked(mark)
        launchers = [pid for pid in pids if f"{LAUNCHER_MARK}=1".encode() in _environment(pid)]
        found |= {pid: _describe(pid) for pid in pids if pid not in launchers and pid not in found}
        if not launchers:
            break
        time.sleep(0.005)
    found |= _kill(mark)
    return tuple(found.values())


def _kill(mark: bytes) -> dict[int, str]:
    """Kill what carries the mark until nothing does, for a child may be born while we look."""
    found: dict[int, str] = {}
    limit = time.monotonic() + PATIENCE
    while pids := _marked(mark):
        if time.monotonic() > limit:
            raise SystemFailed(
                path=f"process {pids[0]}",
                reason="a killed run left it behind, and it cannot be ended",
                hint=f"end it yourself (`kill -9 {pids[0]}`, as its owner), then try again",
            )
        for pid in pids:
            found.setdefault(pid, _describe(pid))
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue  # gone by itself, or told above when the time is up
        time.sleep(0.005)
    return found


def _marked(mark: bytes) -> list[int]:
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:
        return []
    spared = _line_of_ancestors()
    return [pid for pid in pids if pid not in spared and mark in _environment(pid)]


def _environment(pid: int) -> list[bytes]:
    """What a process was started with; nothing for one that has ended or is another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _line_of_ancestors() -> set[int]:
    line: set[int] = set()
    pid = os.getpid()
    while pid > 0 and pid not in line:
        line.add(pid)
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            break
    return line


def _describe(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = file.read(4096).replace(b"\0", b" ").strip().decode(errors="replace")
    except OSError:
        command = ""
    return f"process {pid} ({command or 'ended meanwhile'})"
