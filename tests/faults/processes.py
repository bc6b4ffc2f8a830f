"""Looking for processes by what they were started with."""

from pathlib import Path


def processes_with(name: str, value: str) -> list[int]:
    """The processes that have a variable with that value in their environment."""
    mark = f"{name}={value}".encode()
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if mark in environment.split(b"\0"):
                found.append(int(entry.name))
    return found
