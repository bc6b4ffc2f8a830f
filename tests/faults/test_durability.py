"""What a row names outlasts a power cut: bytes, and the entries of every folder on the way to them."""

import os
from pathlib import Path

import pytest

from tests.faults.projects import project_in

PLAN = "name: p\nsteps:\n  - {name: one, tool: write_file, args: {path: one, content: '1'}}\n"


def test_every_folder_on_the_way_to_the_packs_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[Path] = set()
    really = os.fsync

    def noted(fd: int) -> None:
        synced.add(Path(f"/proc/self/fd/{fd}").readlink())
        really(fd)

    monkeypatch.setattr(os, "fsync", noted)
    (tmp_path / "plan.yaml").write_text(PLAN)
    project_in(tmp_path).execute(tmp_path / "plan.yaml")

    home = tmp_path / ".mulligan"
    assert {tmp_path, home, home / "store", home / "store" / "packs"} <= synced
