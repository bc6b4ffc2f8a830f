"""What tests of graphs with files share: a project, a session, and savers on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

import mulligan
from mulligan.langgraph import MulliganSaver
from tests.graphs.small_graphs import project_in, session_of

KINDS = ("own", "in memory")


@pytest.fixture
def project(tmp_path: Path) -> mulligan.Project:
    return project_in(tmp_path)


@pytest.fixture
def session(project: mulligan.Project) -> Iterator[mulligan.Session]:
    with session_of(project) as session:
        yield session


@pytest.fixture(params=KINDS)
def saver(
    request: pytest.FixtureRequest, project: mulligan.Project, session: mulligan.Session
) -> MulliganSaver:
    other = InMemorySaver() if request.param == "in memory" else None
    return MulliganSaver(project, files=session, saver=other)


@pytest.fixture
def own(project: mulligan.Project, session: mulligan.Session) -> MulliganSaver:
    return MulliganSaver(project, files=session)


@pytest.fixture
def log(session: mulligan.Session) -> Path:
    return session.path() / "log"
