"""A filesystem that knows no files without names."""

import os
from pathlib import Path

import pytest


def refuse_nameless_files(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    """Let the system refuse `O_TMPFILE` with this error."""
    opening = os.open

    def open_named(path: str | Path, flags: int, mode: int = 0o777, **more: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(error, os.strerror(error))
        return opening(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", open_named)
