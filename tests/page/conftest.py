"""A project in which much has happened, with names and outputs that mean harm; tests look at it and change nothing."""

from pathlib import Path

import pytest

from tests.report.eventful import eventful_project


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of that project. It is looked at by all tests of this room."""
    folder = tmp_path_factory.mktemp("page") / "eventful"
    folder.mkdir()
    eventful_project(folder).close()
    return folder
