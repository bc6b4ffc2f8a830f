"""Plans in the queue of a shared project: how soon a worker starts one, takes one over, and how many it runs."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.compare.drivers.database_server import binaries, database_server
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import Bench, Tally

_WORKERS = 2


def queues(bench: Bench) -> Work:
    """Submit to start, the take-over of a killed worker's plan, and many plans of one step on two workers.

    `bench.files` is the number of those plans.
    """
    tally = Tally()
    if binaries() is not None:
        with (
            tally.part("mulligan worker"),
            database_server(bench.place / "server") as address,
        ):
            project = bench.place / "project"
            project.mkdir()
            (project / "notes.txt").write_text("first\n")
            bench.mulligan(project, "init", "--database", f"{address}&schema=bench")
            _measure(bench, project, tally)
    return Work(
        key="queues",
        title="a shared project: submit to start, take-over, plans of one step on two workers",
        files=None,
        sides=tally.sides(),
        how=f"real PostgreSQL with fsync; the last two are seconds for each of {bench.files} plans",
        failures=tally.failures,
    )


def _measure(bench: Bench, project: Path, tally: Tally) -> None:
    import mulligan

    os.environ["MULLIGAN_HOME"] = str(bench.homes)
    file = project / "one.json"
    file.write_text(json.dumps({"name": "one", "steps": [{"name": "step", "run": "true"}]}))
    slow = project / "slow.json"
    slow.write_text(json.dumps({"name": "slow", "steps": [{"name": "step", "run": "sleep 8"}]}))
    with _workers(bench, project) as workers:
        opened = mulligan.open(project)
        for _ in range(max(bench.repeats, 5)):
            submitted = time.time()
            plan = str(opened.submit(file).plan_id)
            submitted_end = time.time()
            tally.add("submit", submitted_end - submitted)
            tally.add("submit to start", _when(workers, plan, "plan begun") - submitted_end)
            _when(workers, plan, "plan left")
        for _ in range(min(bench.repeats, 3)):
            plan = str(opened.submit(slow).plan_id)
            _when(workers, plan, "step_started")
            line = next(each for each in opened.workers() if plan in each.plans)
            victim = next(each for each in workers if each.process.pid == line.pid)
            victim.process.kill()
            victim.process.wait()
            killed = time.time()
            workers.remove(victim)
            tally.add("kill to take-over", _when(workers, plan, "plan begun") - killed)
            opened.cancel(plan)
            workers.append(_Worker(bench, project))
        begun = time.monotonic()
        for _ in range(bench.files):
            opened.submit(file)
        tally.add("submit one of many", (time.monotonic() - begun) / bench.files)
        while any(
            each.state.value != "complete" or each.phase.value != "execute"
            for each in opened.plans(limit=bench.files)
        ):
            if bench.budget.left() < 1:
                raise TimeoutError(f"{bench.files} plans")
            time.sleep(0.5)
        tally.add("run one of many", (time.monotonic() - begun) / bench.files)
        opened.close()


class _Worker:
    """A worker, and what it says."""

    def __init__(self, bench: Bench, project: Path) -> None:
        self.log = bench.place / f"worker-{time.monotonic_ns()}.log"
        environ = {**os.environ, "MULLIGAN_HOME": str(bench.homes)}
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mulligan", "worker", "--slots", "4", "--format", "json"],
                cwd=project,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=environ,
            )
        while '"ready"' not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)

    def lines(self) -> list[dict[str, Any]]:
        """Return what it said."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith('{"time"')]


@contextmanager
def _workers(bench: Bench, project: Path) -> Iterator[list[_Worker]]:
    workers: list[_Worker] = []
    try:
        for _ in range(_WORKERS):
            workers.append(_Worker(bench, project))  # noqa: PERF401 - those started are ended if one fails
        yield workers
    finally:
        for each in workers:
            each.process.kill()
            each.process.wait()


def _when(workers: list[_Worker], plan: str, event: str) -> float:
    """Wait until a worker says so of a plan; return when it did."""
    from datetime import datetime

    until = time.monotonic() + 120
    while time.monotonic() < until:
        for each in workers:
            for line in each.lines():
                if line.get("plan") == plan and line["event"] == event:
                    return datetime.fromisoformat(line["time"]).timestamp()
        time.sleep(0.01)
    raise TimeoutError(f"{event} of {plan}")
