"""Folders are private, durable and measured, also where a system call is missing."""

import ctypes
import os
from pathlib import Path

import pytest

from mulligan.osfiles import folders


def test_where_syncfs_is_missing_everything_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "sync", lambda: synced.append(1))
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    folders.sync_filesystem(0)
    assert synced


def test_a_failing_syncfs_is_an_error() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        folders.sync_filesystem(-1)
