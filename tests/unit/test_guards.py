"""What is asked before an act: the guards of the plan that it is done for, in whatever thread, and no other's."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

import mulligan
from mulligan.adapters.engine.threads import ThreadEngine
from mulligan.adapters.plan_locks import FilePlanLocks
from mulligan.boundaries import act
from mulligan.domain.text.ids import PlanId
from mulligan.errors import PlanTakenOver
from mulligan.ports import Ended, Observer, StopRequest, Unobserved
from mulligan.wiring.system_clock import SystemClock
from tests.support.homes import home_of
from tests.support.patience import PATIENCE

ONE, OTHER, CHILD = (PlanId(f"01K0000000000000000000000{n}") for n in (1, 2, 3))


def pass_an_act() -> None:
    """Come to a boundary."""
    with act("pack.sync"):
        pass


def refused(work: Callable[[], object]) -> str | None:
    """The plan that work is refused for."""
    try:
        work()
    except PlanTakenOver as exc:
        return str(exc.facts["plan_id"])
    return None


@pytest.fixture
def locks(tmp_path: Path) -> FilePlanLocks:
    return FilePlanLocks(folder=tmp_path / "locks", clock=SystemClock(), stop=None)


def take(folder: Path, plan_id: str) -> None:
    """Take a plan from whoever holds it, as one does that cannot end the process."""
    (folder / "locks" / f"{plan_id}.lock").unlink()


def test_a_plan_that_was_taken_stops_the_thread_that_works_on_it_and_no_other(
    locks: FilePlanLocks, tmp_path: Path
) -> None:
    both_hold, one_is_taken = threading.Barrier(3, timeout=PATIENCE), threading.Event()

    def work_on(plan_id: PlanId) -> str | None:
        with locks.hold(plan_id):
            pass_an_act()
            both_hold.wait()
            assert one_is_taken.wait(30)
            return refused(pass_an_act)

    with ThreadPoolExecutor(2) as pool:
        taken, left = pool.submit(work_on, ONE), pool.submit(work_on, OTHER)
        both_hold.wait()
        take(tmp_path, ONE)
        one_is_taken.set()
        assert (taken.result(30), left.result(30)) == (ONE, None)
    assert refused(pass_an_act) is None


def test_the_thread_of_a_child_is_stopped_with_its_parent_and_not_with_a_sibling(
    locks: FilePlanLocks, tmp_path: Path
) -> None:
    found: dict[PlanId, list[str | None]] = {}

    def run_child(plan_id: PlanId, retries: int, observer: Observer, stop: StopRequest) -> Ended:
        with locks.hold(plan_id):
            if plan_id == OTHER:
                take(tmp_path, OTHER)
            found[plan_id] = [refused(pass_an_act)]
            if plan_id == CHILD:
                take(tmp_path, ONE)
                found[plan_id].append(refused(pass_an_act))
        return Ended(plan_id=plan_id, error=None, messages=())

    with locks.hold(ONE), ThreadEngine(run_child, StopRequest()).crew(Unobserved()) as crew:
        for child in (OTHER, CHILD):
            crew.start(child, retries=0)
            crew.next_ended()
        assert refused(pass_an_act) == ONE
    assert found == {OTHER: [OTHER], CHILD: [None, ONE]}


def test_sessions_side_by_side_are_each_guarded_in_whatever_thread_they_are_called(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    project = mulligan.init(tmp_path)
    resources = {"app": mulligan.directory("app")}
    with (
        ThreadPoolExecutor(1) as pool,
        project.session("left", resources=resources) as left,
        ExitStack() as stack,
    ):
        right = stack.enter_context(project.session("right", resources=resources))
        pool.submit(right.checkpoint, "before").result(30)
        take(home_of(tmp_path), right.plan_id)
        assert refused(lambda: pool.submit(right.checkpoint, "here").result(30)) == right.plan_id
        left.checkpoint("beside it")
        pool.submit(left.checkpoint, "in another thread").result(30)
        assert refused(stack.close) == right.plan_id
        with left.step("goes on"):
            (left.path("app") / "new").write_text("new")
    assert project.status("left").state == "complete"
    labels = {c.label for name in ("left", "right") for c in project.checkpoints.list(name)}
    assert labels == {None, "before", "beside it", "in another thread"}
