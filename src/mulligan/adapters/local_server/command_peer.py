"""The process that hands over a command, as the kernel describes it: a fork becomes like it, or leaves it alone.

What a client says of itself counts for nothing here. A process that is confined in any way that can be seen, or in a
way that cannot, has to work itself: the local server could do what it may not.
"""

import os
import resource
import signal
from collections.abc import Mapping
from pathlib import Path

# What confines a process, or says who it is: the same here and there.
_ALIKE = (
    "Uid",
    "Gid",
    "Groups",
    "CapInh",
    "CapPrm",
    "CapEff",
    "CapBnd",
    "CapAmb",
    "Seccomp",
    "Seccomp_filters",
)
_NAMESPACES = ("mnt", "user", "pid", "net", "ipc", "uts", "cgroup", "time")
_FREE = "0"
_LIMITS = tuple(value for name, value in sorted(vars(resource).items()) if name.startswith("RLIMIT_"))
# Variables that count before the first line of a program runs: for Python, the loader, libc, and coverage.
_READ_AT_THE_START = (
    "PYTHON",
    "LD_",
    "GLIBC_",
    "MALLOC_",
    "LOCPATH",
    "GCONV_PATH",
    "COVERAGE_",
    "LC_",
    "LANG",
)
_HANDLED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


class PeerDiffers(Exception):
    """This process cannot become like that one. Its text is the reason."""


def read_at_the_start(environ: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the variables that a process which runs already cannot take over."""
    prefixes = tuple(map(os.fsencode, _READ_AT_THE_START))
    return {name: value for name, value in environ.items() if name.startswith(prefixes)}


def become_like(pid: int) -> None:
    """Take over limits, priority, mask and ignored signals of a process; PeerDiffers where that cannot be."""
    try:
        theirs, ours = _status(pid), _status(os.getpid())
        _compare(pid, theirs, ours)
        os.umask(int(theirs["Umask"], 8))
        for limit in _LIMITS:
            wanted = resource.prlimit(pid, limit)
            if resource.getrlimit(limit) != wanted:
                resource.setrlimit(limit, wanted)
        if (nice := os.getpriority(os.PRIO_PROCESS, pid)) != os.getpriority(os.PRIO_PROCESS, 0):
            os.setpriority(os.PRIO_PROCESS, 0, nice)
        if (processors := os.sched_getaffinity(pid)) != os.sched_getaffinity(0):
            os.sched_setaffinity(0, processors)
        _take_over_score(pid)
        _take_over_signals(theirs)
    except (OSError, ValueError, KeyError) as exc:
        raise PeerDiffers(str(exc)) from exc


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text("utf-8", "surrogateescape").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _compare(pid: int, theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    for name in _ALIKE:
        if theirs.get(name) != ours.get(name):
            raise PeerDiffers(f"{name} is another one")
    if theirs["NoNewPrivs"] != _FREE or ours["NoNewPrivs"] != _FREE:
        raise PeerDiffers("one that gained no privileges may be confined in ways that cannot be seen")
    for name in _NAMESPACES:
        if _link(pid, name) != _link(os.getpid(), name):
            raise PeerDiffers(f"its namespace {name} is another one")
    if os.readlink(f"/proc/{pid}/root") != os.readlink("/proc/self/root"):  # noqa: PTH115 - names as they are
        raise PeerDiffers("its root folder is another one")
    if _label(pid) != _label(os.getpid()):
        raise PeerDiffers("its security label is another one")
    if os.sched_getscheduler(pid) != os.sched_getscheduler(0):
        raise PeerDiffers("it is scheduled otherwise")


def _link(pid: int, name: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/{name}")  # noqa: PTH115 - names as they are
    except FileNotFoundError:  # this kernel has no such namespaces
        return ""


def _label(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/attr/current").read_bytes()
    except OSError:  # no security module has an opinion
        return b""


def _take_over_score(pid: int) -> None:
    wanted = Path(f"/proc/{pid}/oom_score_adj").read_text("ascii")
    own = Path("/proc/self/oom_score_adj")
    if own.read_text("ascii") != wanted:
        own.write_text(wanted, "ascii")


def _take_over_signals(theirs: Mapping[str, str]) -> None:
    ignored, blocked = int(theirs["SigIgn"], 16), int(theirs["SigBlk"], 16)
    for number in _HANDLED:
        default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if ignored >> (number - 1) & 1 else default)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = {number for number in range(1, signal.NSIG) if blocked >> (number - 1) & 1}
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
