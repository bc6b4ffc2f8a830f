"""The process table: what the system says of any process. One that ended meanwhile says nothing."""

import os
import time
from collections.abc import Iterator, Sequence

_NAMESPACES = ("pid", "user", "mnt")
_PARENT, _SESSION, _TERMINAL, _FLAGS = 1, 3, 4, 6  # fields of stat, counted from the state
_KERNEL_THREAD = 0x00200000
_STARTING = 1.0  # seconds for a program that is being started to have its variables


def all_processes() -> list[int]:
    """Return the ids of all processes; none where there is no /proc."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:
        return []


def environment(pid: int) -> list[bytes]:
    """Return what a process was started with; nothing of another user's process."""
    return _environ(pid).split(b"\0")


def has_variable(pid: int, name: str) -> bool:
    """Return whether a process was started with a variable of that name."""
    return f"\0{name}=".encode() in b"\0" + _environ(pid)


def command_line(pid: int) -> str:
    """Return how a process was started, for people."""
    return _read(pid, "cmdline")[:4096].replace(b"\0", b" ").strip().decode(errors="replace")


def ancestors(pid: int) -> Iterator[int]:
    """Return the process itself, its parent, and so on."""
    line: set[int] = set()
    while pid > 0 and pid not in line:
        line.add(pid)
        yield pid
        pid = _stat(pid, _PARENT)


def session_of(pid: int) -> int:
    """Return the session of a process, which is the id of the process that began it; 0 for one that is gone."""
    return _stat(pid, _SESSION)


def has_terminal(pid: int) -> bool:
    """Return whether a process has a terminal, as programs do that a user started in a shell."""
    return _stat(pid, _TERMINAL) != 0


def is_kernel_thread(pid: int) -> bool:
    """Return whether a process is a part of the kernel, which nobody started."""
    return bool(_stat(pid, _FLAGS) & _KERNEL_THREAD)


def is_restricted_further(pid: int) -> bool:
    """Return whether a process has given up more rights than this one, in the same namespaces.

    A process that a launcher confined cannot undo that. Programs that users confine in other ways, with
    containers, bubblewrap or snaps, have namespaces of their own.
    """
    theirs, filters = _read(pid, "status"), b"Seccomp_filters"
    return (
        _number(theirs, b"NoNewPrivs") == 1
        and _number(theirs, filters) > _number(_read(os.getpid(), "status"), filters)
        and _namespaces(pid) == _namespaces(os.getpid())
    )


def sees(pid: int, shown: Sequence[tuple[str, str]]) -> bool:
    """Return whether a process is in a mount namespace that shows one of these files at the path beside it.

    Only a launcher of mulligan makes one, and all that it starts is in there: no process leaves it on its own. A path
    that leads this process to the file too shows nothing.
    """
    if _link(f"/proc/{pid}/ns/mnt") in ("", _link("/proc/self/ns/mnt")):
        return False
    return any(
        _is_same(f"/proc/{pid}/root{place}", file) and not _is_same(place, file) for file, place in shown
    )


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samestat(os.stat(one), os.stat(other))
    except OSError:
        return False


def uses(pid: int, folders: Sequence[str]) -> bool:
    """Return whether a process uses one of these folders: works in it, or runs, maps or has open a file of it."""
    inside = tuple(f"{folder.rstrip('/')}/" for folder in folders)
    return any(f"{path}/".startswith(inside) for path in _places(pid)) or _has_mapped(pid, inside)


def _has_mapped(pid: int, inside: Sequence[str]) -> bool:
    """Return whether a process has mapped a file below these paths. Maps are long, and hardly ever name one."""
    starts = tuple(os.fsencode(path).replace(b"\n", b"\\012") for path in inside)
    maps = _read(pid, "maps")
    if not any(start[:-1] in maps for start in starts):
        return False
    return any(
        (line[line.find(b"/") :] + b"/").startswith(starts) for line in maps.splitlines() if b"/" in line
    )


def _places(pid: int) -> Iterator[str]:
    for name in ("cwd", "root", "exe"):
        yield _link(f"/proc/{pid}/{name}")
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        descriptors = []
    for descriptor in descriptors:
        yield _link(f"/proc/{pid}/fd/{descriptor}")


def _environ(pid: int) -> bytes:
    """Return the variables of a process. While a program is being started in it, it has none yet, and no words."""
    limit = time.monotonic() + _STARTING
    while not (found := _read(pid, "environ")) and not _read(pid, "cmdline") and _link(f"/proc/{pid}/exe"):
        if time.monotonic() > limit:
            break
        time.sleep(0.001)
    return found


def _number(status: bytes, name: bytes) -> int:
    words = status.partition(b"\n" + name + b":")[2].split(maxsplit=1)
    return int(words[0]) if words else 0


def _namespaces(pid: int) -> list[str]:
    return [_link(f"/proc/{pid}/ns/{name}") for name in _NAMESPACES]


def _stat(pid: int, field: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[field]) if len(fields) > field else 0


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""
