"""Files that are open for writing: a later write would go into a file that lost its name.

The kernel grants a read lease only on a file that no process of any user has open for writing or mapped writable. So
one system call answers for the whole machine. Where leases are unavailable (another owner's file, a network
filesystem, another system) the answer is no, and the comparison after the change remains.
"""

import fcntl
import os
import signal
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from mulligan.errors import FileInUse

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PROC = Path("/proc")
_WRITING = os.O_WRONLY | os.O_RDWR


def is_open_for_writing(folder_fd: int, name: str, probe_fd: int) -> bool:
    """Return whether some process has a file open for writing; `probe_fd` is a folder of ours on its filesystem."""
    return _is_refused(folder_fd, name) and not _is_refused_anywhere(probe_fd)


def writers_of(paths: Iterable[Path]) -> tuple[str, ...]:
    """The processes that have one of these files open for writing, in words, as far as this user may look."""
    wanted: set[tuple[int, int]] = set()
    for path in paths:
        with suppress(OSError):
            st = path.lstat()
            wanted.add((st.st_dev, st.st_ino))
    found: list[str] = []
    for process in _processes():
        with suppress(OSError):  # it ended, or is not ours to look at
            if any(_writes(process, fd, wanted) for fd in os.listdir(_PROC / process / "fd")):
                name = (_PROC / process / "comm").read_text("utf-8", "replace").strip()
                found.append(f"process {process} ({name})")
    return tuple(found)


def inodes_open_for_writing(device: int) -> frozenset[int]:
    """The numbers of the files of a filesystem that other processes have open for writing, as far as we may look."""
    found: set[int] = set()
    own = str(os.getpid())
    for process in (process for process in _processes() if process != own):
        with suppress(OSError):  # it ended, or is not ours to look at
            for fd in os.listdir(f"{_PROC}/{process}/fd"):
                with suppress(OSError):  # it is closed by now
                    st = os.stat(f"{_PROC}/{process}/fd/{fd}")
                    if st.st_dev == device and stat.S_ISREG(st.st_mode) and _is_for_writing(process, fd):
                        found.add(st.st_ino)
    return frozenset(found)


def _processes() -> list[str]:
    return sorted((p for p in os.listdir(_PROC) if p.isdecimal()), key=int) if _PROC.is_dir() else []


def refuse_open(paths: Sequence[Path]) -> None:
    """Refuse to go on where files are open for writing, with the processes that have them open."""
    if paths:
        holders = ", ".join(writers_of(paths)) or "another program"
        raise FileInUse(paths=", ".join(map(str, paths)), holders=holders)


def _is_refused(folder_fd: int, name: str) -> bool:
    """Return whether a read lease is refused because of a writer."""
    if not hasattr(fcntl, "F_SETLEASE"):  # pragma: no cover - not on Linux
        return False
    try:
        fd = os.open(name, _READ, dir_fd=folder_fd)
    except OSError:
        return False  # a symlink, or unreadable, or gone: the comparison after the change decides
    try:
        # A process that opens it for writing now waits until it is closed below; SIGURG is ignored, SIGIO would kill.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False


def _is_refused_anywhere(probe_fd: int) -> bool:
    """Return whether leases are refused on this filesystem even for a file that nobody has open."""
    name = "probe"
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=probe_fd))
    try:
        return _is_refused(probe_fd, name)
    finally:
        os.unlink(name, dir_fd=probe_fd)


def _writes(process: str, fd: str, wanted: set[tuple[int, int]]) -> bool:
    st = (_PROC / process / "fd" / fd).stat()
    return (st.st_dev, st.st_ino) in wanted and _is_for_writing(process, fd)


def _is_for_writing(process: str, fd: str) -> bool:
    lines = (_PROC / process / "fdinfo" / fd).read_text("ascii", "replace").splitlines()
    flags = next(int(line.split()[1], 8) for line in lines if line.startswith("flags:"))
    return bool(flags & _WRITING)
