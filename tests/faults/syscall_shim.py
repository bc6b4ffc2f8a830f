"""The preloaded library that lets one system call fail, from the side of the tests: tests/shims/faults.c."""

import errno
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.shims import preloaded

_LAYOUT = struct.Struct("<QQiiIiQQ32s512s")  # as `struct control` there
ALONE, TOGETHER = "KILL-ALONE", "KILL"
_DEATHS = {ALONE: -1, TOGETHER: -2}
LASTING = "+"

_NO_ROOM = ("ENOSPC", "EDQUOT")
_WRITES = (*_NO_ROOM, "EIO")
_NAMES = (*_NO_ROOM, "EIO", "EROFS", "EACCES")
_GOES = ("EIO", "EROFS", "EACCES")
_MODES = ("EIO", "EROFS", "EPERM")
_OPENS = (*_NAMES, "EMFILE", "EINTR", "ENOMEM")
# How each call can fail; those that are not here change the mode, owner or time of a file.
_FAILURES = {
    **dict.fromkeys(
        ("write", "writev", "pwrite64", "pwrite", "copy_file_range", "sendfile64"), (*_WRITES, "EINTR")
    ),
    **dict.fromkeys(("fallocate64", "posix_fallocate64", "ftruncate64", "ftruncate", "truncate64"), _WRITES),
    **dict.fromkeys(("fsync", "fdatasync", "syncfs"), ("EIO", "ENOSPC")),
    **dict.fromkeys(("open", "openat", "fopen", "mkstemp64", "mkdtemp"), _OPENS),
    **dict.fromkeys(("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"), _NAMES),
    **dict.fromkeys(("mkdir", "mkdirat", "fsetxattr", "setxattr", "ioctl"), _NAMES),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), _GOES),
    "flock": ("ENOLCK", "EINTR"),
    "send": ("EINTR",),  # a write to a pipe or a socket
}
_CAN_LAST = (*_NO_ROOM, "EIO", "EROFS", "EACCES", "EMFILE")


def ways(call: str) -> list[str]:
    """Return how a call can fail: by an errno, once or from then on, or by the death of its process."""
    errors = _FAILURES.get(call, _MODES)
    return [ALONE, TOGETHER, *errors, *(f"{name}{LASTING}" for name in errors if name in _CAN_LAST)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A system call that was struck."""

    call: str
    path: str
    count: int  # of all calls of the command, as far as it came

    def __str__(self) -> str:
        return f"{self.call} {self.path}"


class Control:
    """The file that the processes of a command share."""

    def __init__(self, folder: Path) -> None:
        """Keep it in this folder, which no step may write."""
        self._file = folder / "control"
        self._log = folder / "calls"

    def arm(self, number: int, how: str) -> None:
        """Let the Nth call fail in some way; 0: none."""
        name = how.removesuffix(LASTING)
        value = _DEATHS.get(name) or (getattr(errno, name) if name else 0)
        self._file.write_bytes(_LAYOUT.pack(0, number, value, how.endswith(LASTING), 0, 0, 0, 0, b"", b""))

    def environment(self, settings: Mapping[str, str], *, listed: bool) -> dict[str, str]:
        """Return the environment of a command that it is for; `listed`: all its calls are written down."""
        self._log.unlink(missing_ok=True)
        log = {"FAULTS_LOG": str(self._log)} if listed else {}
        return preloaded("faults", {**settings, **log, "FAULTS_CONTROL": str(self._file)})

    def calls(self) -> list[str]:
        """Return the calls that were written down, in order."""
        lines = self._log.read_text("utf-8", "surrogateescape").splitlines()
        return [line.partition(" ")[0] for line in lines]

    def hit(self) -> Hit | None:
        """Return what was struck; None: the command made fewer calls."""
        count, _, _, _, fired, _, _, _, call, path = _LAYOUT.unpack(self._file.read_bytes()[: _LAYOUT.size])
        if not fired:
            return None
        return Hit(call=_text(call), path=_text(path), count=count)


def _text(data: bytes) -> str:
    return os.fsdecode(data.partition(b"\0")[0])
