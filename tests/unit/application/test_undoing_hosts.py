"""What an `undo` may ask of a plan that is on its way back."""

from pathlib import Path

import pytest

from mulligan.api.project import Project
from mulligan.domain.plans.event import EventType
from tests.faults.projects import Watching, nothing, project_in, services_in
from tests.support.homes import home_of

TOOLS = """\
import mulligan

def undo(context, arguments, result):
    context.state["changed"] = True
    print("shown")
    if arguments["asks"] == "decision":
        context.record_decision("Which?", chosen="this")
    if arguments["asks"] == "checkpoint":
        context.checkpoint("now")
    if arguments["asks"] == "spawn":
        context.spawn([])
    context.log("undone")

@mulligan.tool(writes=False, side_effects=["external"], undo=undo)
def publish(context, asks: str):
    context.state["published"] = True
    return None
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (home_of(tmp_path) / "store").mkdir(mode=0o700, parents=True)
    (home_of(tmp_path) / "tools.py").write_text(TOOLS)
    project_in(tmp_path).tools.trust()
    return tmp_path


def rolled_back(folder: Path, asks: str) -> tuple[str, ...]:
    (folder / "plan.yaml").write_text(
        f"name: p\nsteps: [{{name: s, tool: publish, args: {{asks: {asks}}}}}]\n"
    )
    project = project_in(folder)
    project.execute(folder / "plan.yaml")
    return project.rollback("p", "first").messages


class _Listening(Watching):
    """An observer that keeps what tools print."""

    def __init__(self) -> None:
        super().__init__(nothing)
        self.printed = b""

    def output(self, plan_id: str, data: bytes) -> None:
        self.printed += data


def test_an_undo_may_log_and_print_and_leaves_the_memory_alone(folder: Path) -> None:
    (folder / "plan.yaml").write_text(
        "name: p\nsteps: [{name: a, tool: publish, args: {asks: nothing}}, {name: keep, checkpoint: kept},"
        " {name: b, tool: publish, args: {asks: nothing}}]\n"
    )
    services, observer = services_in(folder), _Listening()
    project = Project(services=services, observer=observer)
    project.execute(folder / "plan.yaml")
    assert observer.printed == b""
    assert project.rollback("p", "kept").messages == ()
    logged = [e.data["message"] for e in project.log("p") if e.type is EventType.LOG]
    assert logged == ["undone"]
    assert observer.printed == b"shown\n"
    with services.adapters.database.reading() as db:
        (plan,) = db.plans.list(None)
    assert plan.progress.memory == {"published": True}, "that of the checkpoint, without what the undo wrote"


@pytest.mark.parametrize(
    ("asks", "reason"),
    [
        ("decision", "an undo cannot record a decision: the plan is going back"),
        ("checkpoint", "an undo cannot take a checkpoint: the plan is going back"),
        ("spawn", "an undo cannot run child plans: the plan is going back"),
    ],
)
def test_an_undo_that_asks_for_more_fails_and_the_rollback_is_done(
    folder: Path, asks: str, reason: str
) -> None:
    (message,) = rolled_back(folder, asks)
    assert reason in message
    assert project_in(folder).status("p").state == "queued"
