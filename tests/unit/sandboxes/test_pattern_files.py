"""A folder's own file of patterns is read as a whole, or refused by name."""

import os
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.sandboxes.folder.excluded_copies import IGNORE_FILE, patterns_in
from mulligan.errors import SystemFailed


def test_without_a_file_there_are_no_patterns(tmp_path: Path) -> None:
    assert patterns_in(tmp_path) == ()
    (tmp_path / IGNORE_FILE).mkdir()
    assert patterns_in(tmp_path) == ()


def test_one_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / IGNORE_FILE).write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(SystemFailed) as caught:
        patterns_in(tmp_path)
    assert caught.value.facts["path"] == str(tmp_path / IGNORE_FILE)


def test_one_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / IGNORE_FILE).write_text("*.log\n")
    opened = Path.open

    def denied(path: Path, *how: Any, **more: Any) -> Any:
        if path.name == IGNORE_FILE:
            raise PermissionError(13, os.strerror(13), str(path))
        return opened(path, *how, **more)

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(SystemFailed) as caught:
        patterns_in(tmp_path)
    assert caught.value.facts["reason"] == "Permission denied"
