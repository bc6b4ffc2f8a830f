"""What the tests with real agents share: the packages, one scripted model, and what they measured."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.real_agents.agent_programs import PROGRAMS
from tests.real_agents.measured import Measured
from tests.real_agents.packages import is_installed
from tests.real_agents.scripted_model import ScriptedModel, scripted_model
from tests.real_agents.workplace import Workplace, workplace
from tests.support.page_examples import ROOT

BUILD = ROOT / "build" / "agents"
Opened: TypeAlias = Callable[..., AbstractContextManager[Workplace]]


@pytest.fixture(scope="session")
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as served:
        yield served


@pytest.fixture
def at_work(tmp_path: Path, model: ScriptedModel) -> Opened:
    """Open a project with the hooks of the agent of that name."""

    def opened(name: str, *, served: bool = True) -> AbstractContextManager[Workplace]:
        packages = BUILD / "packages"
        if not is_installed(packages, name):
            pytest.fail(f"{name} is not installed: python -m tests.real_agents.packages {packages} {name}")
        return workplace(tmp_path, PROGRAMS[name], model, packages, served=served)

    return opened


@pytest.fixture(scope="session")
def measured() -> Measured:
    """What the pages get: kept in a file, so that one test can be run again alone."""
    return Measured(BUILD / "measured.json")
