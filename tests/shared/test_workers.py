"""Plans that are submitted to a queue are run by workers: to their end, once, and whatever becomes of a worker."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mulligan.config.database_address import parts_of
from tests.commands.program import answer_of, ask, data_of, start
from tests.support.queue_world import becomes, is_closed, plan_file, rows_of, shared_project, state_of
from tests.support.shared_database import new_address
from tests.support.worker_thread import ThreadWorker, wait_until, working

CHILDREN = """
name: family
steps:
  - {name: begin, run: echo begun >> notes.txt}
  - name: children
    subplans:
      mode: parallel
      plans:
        - {name: one, steps: [{name: write, run: echo 1 > one.txt}]}
        - {name: two, steps: [{name: write, run: echo 2 > two.txt}]}
        - {name: three, steps: [{name: write, run: echo 3 > three.txt}]}
"""


@pytest.fixture(scope="module")
def address() -> str:
    return new_address()


@pytest.fixture(scope="module")
def project(address: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared project; its tests use it one after the other."""
    return shared_project(tmp_path_factory.mktemp("queues") / "project", address)


@pytest.fixture(scope="module")
def worker(project: Path) -> Iterator[ThreadWorker]:
    with working(project, slots=2) as worker:
        yield worker


@contextmanager
def only_place_taken(project: Path, worker: ThreadWorker, address: str, name: str) -> Iterator[None]:
    """Have a plan that takes the only place of the queue while the block lasts; then places for all."""
    limit_to_one(project, address)
    go = project.parent / f"{name}-may-end"
    file = plan_file(project, name, f"until test -e {go}; do sleep 0.05; done")
    first = data_of(project, "submit", file)
    wait_until(lambda: worker.heard.events("plan begun", first["plan_id"]), "another one has the only place")
    yield
    go.touch()
    data_of(project, "worker", "limit", "default", "none")


def limit_to_one(project: Path, address: str) -> None:
    """Let one plan of the queue run at once, and wait until the worker follows."""
    data_of(project, "worker", "limit", "default", "1")
    queues = f"SELECT concurrency FROM {parts_of(address).schema}_queue.queues WHERE name = 'default'"
    wait_until(lambda: rows_of(address, queues) == [(1,)], "the worker follows")


def test_a_plan_is_run_by_a_worker_and_applied_by_hand(
    project: Path, worker: ThreadWorker, address: str
) -> None:
    done = data_of(project, "plan", "submit", plan_file(project, "greet", "echo hello > greeting.txt"))
    assert (done["queue"], done["number"]) == ("default", 1)
    becomes(project, "greet", "complete")
    assert is_closed(address, done["plan_id"])
    assert [each["step"] for each in worker.heard.events("step_done", done["plan_id"])] == ["step 1"]
    data_of(project, "apply", "--yes", "greet")
    assert (project / "greeting.txt").read_text() == "hello\n"
    assert ask(project, "plan", "submit", "greet")["error"]["kind"] == "plan_already_applied"


def test_the_list_of_workers_has_those_that_are_alive(project: Path, worker: ThreadWorker) -> None:
    (line,) = data_of(project, "worker", "list")["workers"]
    assert (line["worker"], line["pid"], line["slots"]) == (worker.worker.line.worker, os.getpid(), 2)
    assert (line["alive"], line["plans"]) == (True, [])
    assert line["queues"][0] == "default"
    assert line["queues"][1].startswith("host:")


def test_children_go_to_any_worker_and_are_merged(project: Path, worker: ThreadWorker) -> None:
    (project / "family.yaml").write_text(CHILDREN)
    data_of(project, "submit", "family.yaml")
    becomes(project, "family", "complete")
    sandbox = Path(data_of(project, "status", "family")["sandboxes"][0]["path"])
    assert sorted(
        path.name for path in sandbox.glob("*.txt") if path.name in ("one.txt", "two.txt", "three.txt")
    )
    assert all((sandbox / f"{name}.txt").exists() for name in ("one", "two", "three"))
    assert len(worker.heard.events("plan begun")) >= 2


def test_children_that_fail_or_wait_stop_their_parent(project: Path, worker: ThreadWorker) -> None:
    broken = CHILDREN.replace("name: family", "name: broken").replace("echo 2 > two.txt", "exit 3")
    (project / "broken.yaml").write_text(broken)
    data_of(project, "submit", "broken.yaml")
    becomes(project, "broken", "errored")
    assert "two" in data_of(project, "status", "broken")["error"]["message"]
    assert worker.heard.events("step_failed")


def test_a_failed_plan_has_the_retries_that_it_was_given(
    project: Path, worker: ThreadWorker, tmp_path: Path, address: str
) -> None:
    once = tmp_path / "once"
    file = plan_file(project, "second-time", "true", f"test -e {once} || {{ touch {once}; exit 1; }}")
    done = data_of(project, "submit", file, "--retries", "1")
    becomes(project, "second-time", "complete")
    assert len(worker.heard.events("step_failed", done["plan_id"])) == 1
    wait_until(lambda: is_closed(address, done["plan_id"]), "it is closed")


def test_a_plan_that_fails_stays_until_it_is_submitted_again(
    project: Path, worker: ThreadWorker, address: str
) -> None:
    done = data_of(project, "submit", plan_file(project, "fails", "exit 1"))
    becomes(project, "fails", "errored")
    wait_until(lambda: is_closed(address, done["plan_id"]), "it is closed")
    assert data_of(project, "submit", "fails")["number"] == 2
    wait_until(lambda: len(worker.heard.events("step_failed", done["plan_id"])) == 2, "it ran again")


def test_what_cannot_run_is_recorded_with_the_reason(project: Path, worker: ThreadWorker) -> None:
    """A worker finds, after the plan was recorded, that its folder is gone."""
    elsewhere = project / "elsewhere"
    elsewhere.mkdir()
    resources = "{data: {type: fs-directory, location: elsewhere}}"
    text = f"name: nowhere\nresources: {resources}\nsteps: [{{name: a, run: 'true'}}]\n"
    (project / "nowhere.yaml").write_text(text)
    data_of(project, "plan", "create", "nowhere.yaml")
    elsewhere.rmdir()
    data_of(project, "submit", "nowhere")
    becomes(project, "nowhere", "errored")
    assert "elsewhere" in data_of(project, "status", "nowhere")["error"]["message"]
    assert worker.failure is None


def test_a_plan_is_cancelled_wherever_it_runs(project: Path, worker: ThreadWorker, address: str) -> None:
    done = data_of(project, "submit", plan_file(project, "endless", "sleep 1000"))
    wait_until(lambda: worker.heard.events("step_started", done["plan_id"]), "it runs")
    (line,) = data_of(project, "worker", "list")["workers"]
    assert line["plans"] == [done["plan_id"]]
    data_of(project, "cancel", "endless")
    assert state_of(project, "endless") == "cancelled"
    wait_until(lambda: is_closed(address, done["plan_id"]), "it is closed")
    follows = data_of(project, "submit", plan_file(project, "follows", "true"))
    becomes(project, "follows", "complete")
    assert worker.heard.events("plan left", follows["plan_id"])


def test_a_queue_with_a_limit_runs_no_more_at_once(project: Path, worker: ThreadWorker, address: str) -> None:
    assert data_of(project, "worker", "limit", "default", "1") == {"queue": "default", "slots": 2, "plans": 1}
    parts = parts_of(address)
    queues = f"SELECT concurrency FROM {parts.schema}_queue.queues WHERE name = 'default'"
    wait_until(lambda: rows_of(address, queues) == [(1,)], "the worker follows")
    # The worker reads the limit each time that it looks for plans: what it is in the middle of has the old one.
    data_of(project, "submit", plan_file(project, "unlimited", "true"))
    becomes(project, "unlimited", "complete")
    ids = [
        data_of(project, "submit", plan_file(project, f"limited-{n}", "sleep 0.3"))["plan_id"]
        for n in (1, 2, 3)
    ]
    for number in (1, 2, 3):
        becomes(project, f"limited-{number}", "complete")
    wait_until(lambda: all(worker.heard.events("plan left", each) for each in ids), "all were left")
    told = [
        (event, facts["plan"]) for event, facts in worker.heard.lines if event in ("plan begun", "plan left")
    ]
    running = 0
    for event, plan in told:
        if plan in ids:
            running += 1 if event == "plan begun" else -1
            assert running <= 1
    assert data_of(project, "worker", "limit", "default", "none")["plans"] is None


def test_an_entry_that_was_lost_is_made_again(project: Path, worker: ThreadWorker, address: str) -> None:
    """Rows are the truth: the queue may forget everything."""
    entries = f"{parts_of(address).schema}_queue.workflow_status"
    with only_place_taken(project, worker, address, "before"):
        lost = data_of(project, "submit", plan_file(project, "lost", "true"))
        rows_of(address, f"DELETE FROM {entries} WHERE workflow_uuid LIKE '{lost['plan_id']}%'")
    becomes(project, "lost", "complete")
    assert worker.heard.events("entered again", lost["plan_id"])


def test_a_plan_of_a_worker_that_died_is_taken(project: Path, worker: ThreadWorker, address: str) -> None:
    """Nobody holds the lock of the worker that an entry names."""
    entries = f"{parts_of(address).schema}_queue.workflow_status"
    with only_place_taken(project, worker, address, "meanwhile"):
        orphan = data_of(project, "submit", plan_file(project, "orphan", "true"))
        rows_of(
            address,
            f"UPDATE {entries} SET status = 'PENDING', executor_id = '01ARZ3NDEKTSV4RRFFQ69G5FAV' "
            f"WHERE workflow_uuid LIKE '{orphan['plan_id']}%'",
        )
        wait_until(lambda: worker.heard.events("taken", orphan["plan_id"]), "it is taken")
    becomes(project, "orphan", "complete")
    taken = f"SELECT taken FROM submissions WHERE plan_id = '{orphan['plan_id']}'"
    assert rows_of(address, taken) == [(1,)]


def test_a_plan_that_ended_five_workers_is_given_to_no_other(
    project: Path, worker: ThreadWorker, address: str
) -> None:
    with only_place_taken(project, worker, address, "first-of-two"):
        deadly = data_of(project, "submit", plan_file(project, "deadly", "true"))
        rows_of(address, f"UPDATE submissions SET taken = 5 WHERE plan_id = '{deadly['plan_id']}'")
    becomes(project, "deadly", "errored")
    assert data_of(project, "status", "deadly")["error"]["message"] == "it was taken from 5 workers"
    assert data_of(project, "submit", "deadly")["number"] == 2
    becomes(project, "deadly", "complete")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["submit", "fine.yaml", "--queue", "not a name"], "usage_wrong"),
        (["submit", "missing"], "plan_not_found"),
        (["worker", "--queue", "a/b"], "usage_wrong"),
        (["worker", "--slots", "2", "list"], "usage_wrong"),
        (["worker", "limit", "default", "many"], "usage_wrong"),
    ],
)
def test_what_makes_no_sense_is_refused(project: Path, words: list[str], kind: str) -> None:
    plan_file(project, "fine", "true")
    assert ask(project, *words)["error"]["kind"] == kind


def test_a_project_in_a_file_has_no_queues(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    plan_file(tmp_path, "mine", "true")
    for words in (
        ["submit", "mine.yaml"],
        ["worker"],
        ["worker", "list"],
        ["worker", "limit", "default", "1"],
    ):
        answer = ask(tmp_path, *words)
        assert (answer["exit_code"], answer["error"]["kind"]) == (3, "project_not_shared")
    assert data_of(tmp_path, "list")["plans"] == []
    assert answer_of(start(tmp_path, "worker"))["error"]["kind"] == "project_not_shared"
