"""Events are shown once they are recorded and nothing is held: an observer may do as it likes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.adapters.local_packs.flock_leases import FlockLeases
from mulligan.api.project import Project
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.views.history_tree import NodeType
from mulligan.errors import Refused
from mulligan.ports import Lease
from tests.faults.projects import project_in

PLAN = """\
name: a plan
resources: {code: {type: fs-directory, location: code}}
steps:
  - {name: one, tool: write_file, args: {path: one, content: "1"}}
  - {name: pick, decision: {question: Which?, chosen: this, alternatives: [that]}}
  - name: parts
    subplans:
      plans:
        - {name: part, steps: [{name: do, tool: write_file, args: {path: two, content: "2"}}]}
"""
ADDED = """\
name: added
steps:
  - {name: more, tool: write_file, args: {path: more, content: "3"}}
"""


class Lookout:
    """An observer that looks whether the sweep could work at every event; it notes those where it could not."""

    def __init__(self, folder: Path) -> None:
        self._leases = FlockLeases(folder / ".mulligan" / "store")
        self.seen: set[EventType] = set()
        self.held: list[EventType] = []

    def __call__(self, event: Event) -> None:
        self.seen.add(event.type)
        with self._leases.exclusive_if_free(Lease.OBJECTS) as free:
            if not free:
                self.held.append(event.type)


@pytest.fixture
def lookout(tmp_path: Path) -> Lookout:
    return Lookout(tmp_path)


@pytest.fixture
def project(tmp_path: Path, lookout: Lookout) -> Project:
    (tmp_path / "code").mkdir()
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "added.yaml").write_text(ADDED)
    return project_in(tmp_path, lookout)


def run_on(project: Project) -> str:
    return project.execute(project.folder / "plan.yaml").plan_id


def decided(project: Project, plan: str) -> str:
    """The decision of the plan."""
    nodes = list(project.tree(plan).children)
    while nodes[0].type is not NodeType.DECISION:
        nodes = [*nodes[1:], *nodes[0].children]
    return nodes[0].id


def rolled_back(project: Project) -> None:
    project.rollback(run_on(project), "first")


def corrected(project: Project) -> None:
    plan = run_on(project)
    decision = decided(project, plan)
    project.correct(decision, mode="revert", guidance="the other one", choose="that")


def appended(project: Project) -> None:
    plan = run_on(project)
    decision = decided(project, plan)
    project.correct(decision, mode="append", guidance="more", corrected=project.folder / "added.yaml")


def applied(project: Project) -> None:
    plan = run_on(project)
    project.apply(plan)
    project.unapply(plan)


def in_place(project: Project) -> None:
    project.config.set("sandbox.strategy", "in_place")
    file = project.folder / "plan.yaml"
    file.write_text(PLAN[: PLAN.index("  - name: parts")])
    project.undo(project.execute(file).plan_id)


@pytest.mark.parametrize("work", [rolled_back, corrected, appended, applied, in_place])
def test_nothing_is_held_while_an_event_is_shown(
    project: Project, lookout: Lookout, work: Callable[[Project], None]
) -> None:
    work(project)
    assert EventType.CHECKPOINT in lookout.seen
    assert lookout.held == []


def test_a_checkpoint_is_kept_whatever_its_observer_does(tmp_path: Path) -> None:
    class Stubborn(Refused):
        """An error of the observer."""

        message = "no"

    def refuse(event: Event) -> None:
        if event.type is EventType.CHECKPOINT:
            raise Stubborn

    (tmp_path / "code").mkdir()
    (tmp_path / "plan.yaml").write_text(PLAN)
    project = project_in(tmp_path, refuse)
    status = project.execute(tmp_path / "plan.yaml")
    assert (status.error and status.error.message, status.execution.checkpoints) == ("no", 1)
