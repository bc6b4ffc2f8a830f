"""A project with a folder and a place for notes."""

from pathlib import Path

import pytest

from tests.subplans.families import Family


@pytest.fixture
def family(tmp_path: Path) -> Family:
    return Family(tmp_path)
