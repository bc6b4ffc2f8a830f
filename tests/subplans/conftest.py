"""A project with a folder and a place for notes."""

from pathlib import Path

import pytest

from mulligan.domain.plans.plan import State
from tests.subplans.corrections import PICK
from tests.subplans.families import Family, note, shell


@pytest.fixture
def family(tmp_path: Path) -> Family:
    return Family(tmp_path)


@pytest.fixture
def done(family: Family) -> Family:
    """A plan that decided, wrote a file and is complete."""
    status = family.project().execute(family.write(PICK, shell(f"{note('one')}; echo 1 > one", "one")))
    assert status.state is State.COMPLETE
    return family
