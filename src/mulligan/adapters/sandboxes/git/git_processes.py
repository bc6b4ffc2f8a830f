"""Git processes at work on a repository, as far as this machine shows them."""

import os
from collections.abc import Collection
from pathlib import Path

# They wait for questions, and hold no lock.
_WAITING = frozenset(
    {b"cat-file", b"check-attr", b"check-ignore", b"credential-cache--daemon", b"fsmonitor--daemon"}
)
_SLACK = 2.0  # seconds: start times are rounded


def git_at_work(places: Collection[Path], before: float) -> bool:
    """Return whether a git process that was started before a time may be at work in one of these folders."""
    try:
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:
        return True  # nothing can be seen
    tops = [os.fsencode(place.resolve()) for place in places]
    return any(_is_at_work(pid, tops, before) for pid in pids)


def _is_at_work(pid: str, tops: Collection[bytes], before: float) -> bool:
    try:
        words = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
        if not _is_git(pid, words[0]) or _WAITING.intersection(words):
            return False
        if _started(pid) > before + _SLACK:
            return False
        cwd = os.readlink(os.fsencode(f"/proc/{pid}/cwd"))
    except (FileNotFoundError, ProcessLookupError):
        return False  # it has ended
    except PermissionError:
        return True  # another user's: where it works cannot be seen
    return any(cwd == top or cwd.startswith(top + b"/") or any(top in word for word in words) for top in tops)


def _is_git(pid: str, name: bytes) -> bool:
    """Return whether a process runs git. One that is just being started has its program, but no words yet."""
    if name:
        return os.path.basename(name).startswith(b"git")
    try:
        program = os.readlink(os.fsencode(f"/proc/{pid}/exe"))
    except PermissionError:
        return False  # of the kernel, or of another user: the second look sees its words
    return os.path.basename(program).startswith(b"git")


def _started(pid: str) -> float:
    """When a process was started, in seconds since the epoch, as far as the kernel says."""
    # What follows the name, which may hold anything: the state, and 18 numbers before the one that is wanted.
    fields = Path("/proc", pid, "stat").read_bytes().rpartition(b")")[2].split()
    booted = next(line for line in Path("/proc/stat").read_bytes().splitlines() if line.startswith(b"btime "))
    return int(booted.split()[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
