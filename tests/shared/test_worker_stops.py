"""A worker that is asked to stop hands its plans back, and the next one goes on with them."""

from pathlib import Path

from tests.commands.program import data_of
from tests.support.queue_world import becomes, is_closed, plan_file, shared_project
from tests.support.shared_database import new_address
from tests.support.worker_thread import wait_until, working


def test_a_plan_is_handed_back_after_its_step_and_one_that_is_cut_off_runs_it_again(tmp_path: Path) -> None:
    address = new_address()
    project = shared_project(tmp_path / "project", address)
    go, ever = tmp_path / "go", tmp_path / "ever"
    gentle = plan_file(project, "gentle", f"until test -e {go}; do sleep 0.05; done", "sleep 1", "true")
    cut_off = plan_file(project, "cut-off", f"echo x >> notes.txt; until test -e {ever}; do sleep 0.05; done")
    with working(project, slots=2) as first:
        plans = [data_of(project, "submit", file)["plan_id"] for file in (gentle, cut_off)]
        for plan in plans:
            wait_until(lambda plan=plan: first.heard.events("step_started", plan), "it runs")
        first.worker.stop()
        wait_until(lambda: data_of(project, "worker", "list")["workers"][0]["stopping"], "it is stopping")
        go.touch()
        wait_until(lambda: first.heard.events("plan left", plans[0]), "its step is over")
        first.worker.stop()  # and what does not end is cut off
    outcomes = [first.heard.events("plan left", plan)[0]["outcome"] for plan in plans]
    assert outcomes == ["handed back", "handed back"]
    assert data_of(project, "worker", "list")["workers"] == []
    ever.touch()
    with working(project, slots=2) as second:
        for name in ("gentle", "cut-off"):
            becomes(project, name, "complete")
        wait_until(lambda: all(is_closed(address, plan) for plan in plans), "all is closed")
    done = [
        each["index"] for worker in (first, second) for each in worker.heard.events("step_done", plans[0])
    ]
    assert done == [0, 1, 2]
    sandbox = Path(data_of(project, "status", "cut-off")["sandboxes"][0]["path"])
    assert (sandbox / "notes.txt").read_text() == "first\nx\n"
