"""A server and a project for each test."""

from pathlib import Path

import pytest

from tests.remotes.remote_world import GIT_CONFIG, RemoteWorld


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RemoteWorld:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_CONFIG)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    made = RemoteWorld(tmp_path / "w")
    made.root.mkdir()
    made.make()
    return made
