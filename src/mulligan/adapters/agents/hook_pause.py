"""The mark in a project home that switches the hooks of agents off."""

from pathlib import Path

from mulligan.boundaries import act
from mulligan.errors import SystemFailed
from mulligan.osfiles.folders import sync_folder

_MARK = "paused"


def is_paused(home: Path) -> bool:
    """Return whether the hooks do nothing in the project with that home."""
    return (home / _MARK).exists()


def set_paused(home: Path, *, paused: bool) -> None:
    """Switch the hooks of a project off, or on again, durably."""
    try:
        with act("agent.pause"):
            if paused:
                (home / _MARK).touch(mode=0o600)
            else:
                (home / _MARK).unlink(missing_ok=True)
            sync_folder(home)
    except OSError as error:
        raise SystemFailed(path=str(home), reason=error.strerror or str(error)) from error
