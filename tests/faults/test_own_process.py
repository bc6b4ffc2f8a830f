"""A process can cancel and take over the plans that its own threads run, as it can those of other processes."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mulligan.domain.plans.plan import State
from mulligan.errors import Interrupted, MulliganError, PlanBusy
from tests.faults.projects import go_of, project_in, waiting
from tests.support.homes import home_of
from tests.support.patience import PATIENCE, wait_until

PLAN = """name: p
config: {sandbox.at: own-path}  # steps wait for a file of the real folder
steps:
  - {name: one, tool: shell, args: {command: "echo 1 >> one"}}
  - name: two
    tool: shell
    args: {command: "echo 2 >> two; touch held; until [ -e $MULLIGAN_VAR_GO ]; do sleep 0.02; done"}
  - {name: three, tool: shell, args: {command: "echo 3 >> three"}}
"""


class Running:
    """A plan that another thread runs; how that ended."""

    def __init__(self, run: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._run = run
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._run()
        except MulliganError as exc:
            self.error = exc

    def join(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    """A thread in the middle of the second step."""
    (tmp_path / "plan.yaml").write_text(waiting(PLAN, tmp_path))
    project_in(tmp_path)
    found = Running(lambda: project_in(tmp_path).execute(tmp_path / "plan.yaml"))
    wait_until(lambda: list(home_of(tmp_path).glob("sandboxes/*/workspace/held")), "the step waits")
    yield found
    go_of(tmp_path).touch()
    found.join()


def test_it_is_refused_without_being_asked_for(running: Running, tmp_path: Path) -> None:
    with pytest.raises(PlanBusy):
        project_in(tmp_path).resume("p")


def test_a_plan_of_another_thread_is_cancelled(running: Running, tmp_path: Path) -> None:
    status = project_in(tmp_path).cancel("p", "not needed")
    running.join()
    assert isinstance(running.error, Interrupted)
    assert status.state is State.CANCELLED
    assert not (tmp_path / "two").exists()


def test_a_plan_of_another_thread_is_taken_over(running: Running, tmp_path: Path) -> None:
    def let_go() -> None:
        running.join()
        go_of(tmp_path).touch()

    Running(let_go)
    status, execution = project_in(tmp_path).resume("p", take_over=True)
    assert isinstance(running.error, Interrupted)
    assert execution.error is None
    assert status.state is State.COMPLETE
    (sandbox,) = status.sandboxes
    assert [Path(sandbox.path, name).read_text() for name in ("one", "two", "three")] == ["1\n", "2\n", "3\n"]


def test_a_project_that_was_asked_to_stop_runs_its_next_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(waiting(PLAN, tmp_path))
    project, other = project_in(tmp_path), project_in(tmp_path)
    ended: list[State] = []

    def both() -> None:
        with pytest.raises(Interrupted):
            project.execute(tmp_path / "plan.yaml")
        go_of(tmp_path).touch()
        ended.append(project.execute(tmp_path / "plan.yaml").state)

    found = Running(both)
    wait_until(lambda: list(home_of(tmp_path).glob("sandboxes/*/workspace/held")), "the step waits")
    other.cancel("p")
    found.join()
    assert ended == [State.COMPLETE]
