"""A shared project, and a server of one's own for what a server does."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.program import data_of
from tests.support.postgres_keeper import Server, binaries
from tests.support.shared_database import WHY_NOT, is_whole_run, new_address


@pytest.fixture
def address() -> str:
    """The address of a project that is yet to be made."""
    return new_address()


@pytest.fixture
def project(address: str, tmp_path: Path) -> Path:
    """A shared project with a file."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("first\n")
    data_of(folder, "init", "--database", address)
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `nox -s shared` what starts servers of its own, which takes seconds each, and what asks for it."""
    if not is_whole_run():
        own = {"own_server", "own_bucket", "whole_run"}
        items[:] = [item for item in items if own.isdisjoint(getattr(item, "fixturenames", ()))]


@pytest.fixture
def whole_run() -> None:
    """Ask for a test to be left to `nox -s shared`: what it tries, a sample tries too."""


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that a test may end, with the durability of an ordinary one."""
    if binaries() is None:
        pytest.skip(WHY_NOT)
    folder = Path(tempfile.mkdtemp(prefix="mulligan-pg-own-"))
    server = Server(folder)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
