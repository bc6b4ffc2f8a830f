"""Projects inside one another: of two that would work in place on the same files, one is refused."""

import shutil
from pathlib import Path

import pytest

from mulligan.application.queries.plan_queries import PlanStatus
from mulligan.domain.plans.event import Event
from mulligan.domain.plans.plan import State
from mulligan.errors import DatabaseUnusable, LocationTaken, NextStep
from tests.faults.projects import project_in
from tests.support.homes import home_of

PLAN = """name: p
resources: {here: {type: fs-directory, location: %s, strategy: in_place}}
steps:
  - {name: edit, tool: write_file, args: {path: file, content: "%s"}}
"""
WAITING = "  - {name: wait, tool: shell, args: {command: exit 3}}\n"  # so that a step is left to run


@pytest.fixture
def projects(tmp_path: Path) -> tuple[Path, Path]:
    """A project, and another inside it."""
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "deep" / "inner"
    (inner / "data").mkdir(parents=True)
    (outer / "beside").mkdir()
    return outer, inner


def _execute(project: Path, location: str, more: str = "") -> PlanStatus:
    (project / "plan.yaml").write_text(PLAN % (location, project.name) + more)
    return project_in(project).execute(project / "plan.yaml")


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize(("around", "inside"), [(".", "."), ("deep/inner/data", "."), ("deep", "data")])
def test_a_plan_of_another_project_on_the_same_files_is_refused(
    projects: tuple[Path, Path], turn: int, around: str, inside: str
) -> None:
    pairs = list(zip(projects, (around, inside), strict=True))
    (first, its), (second, other) = pairs[::turn]
    status = _execute(first, its, WAITING)
    with pytest.raises(LocationTaken) as refused:
        _execute(second, other)
    assert refused.value.facts["plan_id"] == status.plan_id
    assert NextStep("cancel", plan=status.plan_id, project=str(first)) in refused.value.next_step.steps
    assert project_in(second).status("p").state is State.COMPLETE, "it has not begun"
    project_in(first).cancel("p")
    assert project_in(second).execute("p").state is State.APPLIED
    project_in(second).rollback("p", "first")  # and its place is its own from then on


def test_other_folders_and_projects_that_are_gone_are_in_nobodys_way(projects: tuple[Path, Path]) -> None:
    outer, inner = projects
    _execute(inner, "data", WAITING)
    assert _execute(outer, "beside").state is State.APPLIED
    shutil.rmtree(home_of(inner))
    home_of(inner).mkdir()  # none that was ever used
    (home_of(outer) / "config.toml").unlink(missing_ok=True)
    assert _execute(outer, ".").state is State.APPLIED


def test_a_plan_of_another_project_that_has_ended_is_in_nobodys_way(projects: tuple[Path, Path]) -> None:
    outer, inner = projects
    assert _execute(inner, "data").state is State.APPLIED
    assert _execute(outer, ".").state is State.APPLIED


def test_of_two_projects_that_start_at_once_one_is_refused(projects: tuple[Path, Path]) -> None:
    outer, inner = projects
    raced: list[PlanStatus] = []

    def be_faster(event: Event) -> None:
        if "to read" in str(event.data) and not raced:  # it has looked, and has not recorded anything yet
            raced.append(_execute(inner, ".", WAITING))

    (outer / "plan.yaml").write_text(PLAN % (".", "outer"))
    status = project_in(outer, be_faster).execute(outer / "plan.yaml")
    assert raced[0].state is State.ERRORED
    assert status.state is State.ERRORED
    assert status.error is not None
    assert str(raced[0].plan_id) in status.error.message
    assert (inner / "file").read_text() == "inner"


def test_a_project_inside_that_nobody_can_ask_is_named(projects: tuple[Path, Path]) -> None:
    outer, inner = projects
    _execute(inner, "data")
    for file in home_of(inner).glob("mulligan.db*"):
        file.write_bytes(b"nonsense" * 1000)
    with pytest.raises(DatabaseUnusable, match="in place") as refused:
        _execute(outer, ".")
    assert str(inner) in refused.value.next_step


COPIED = """name: p
resources: {here: {type: fs-directory, location: .}}
steps:
  - {name: edit, tool: write_file, args: {path: deep/inner/data/new, content: "outer"}}
"""


@pytest.mark.parametrize("known", [False, True])
def test_nothing_is_applied_around_a_project_that_works_in_place(
    projects: tuple[Path, Path], known: bool
) -> None:
    outer, inner = projects
    (outer / "plan.yaml").write_text(COPIED)
    project = project_in(outer)
    project.execute(outer / "plan.yaml")
    for number in range(100 if known else 0):  # with so many files the next process knows of the tree
        (outer / "beside" / str(number)).write_text("text")
    if known:
        assert project_in(outer).apply("p", dry_run=True)[1].applied
    working = _execute(inner, "data", WAITING)
    for dry_run in (True, False):
        with pytest.raises(LocationTaken) as refused:
            project_in(outer).apply("p", dry_run=dry_run)
        assert refused.value.facts["plan_id"] == working.plan_id
    assert not (inner / "data" / "new").exists()
    assert project_in(outer).status("p").state is State.COMPLETE
    project_in(inner).cancel("p")
    assert project_in(outer).apply("p")[1].applied
    assert (inner / "data" / "new").read_text() == "outer"
