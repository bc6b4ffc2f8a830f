"""Who holds a lock on a file, as far as the system tells."""

import os
from pathlib import Path

_LOCKS = Path("/proc/locks")


def holders_of(file: os.stat_result) -> tuple[str, ...]:
    """The processes that hold a lock on this file, each in words; empty where nobody can tell."""
    wanted = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    try:
        lines = _LOCKS.read_text("ascii", "replace").splitlines()
    except OSError:  # pragma: no cover - not on Linux
        return ()
    words = [line.split() for line in lines]
    pids = {fields[-4] for fields in words if len(fields) >= 8 and fields[-3] == wanted}
    return tuple(f"process {pid} ({_name(pid)})" for pid in sorted(pids, key=int) if int(pid) > 0)


def _name(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return "gone meanwhile"
