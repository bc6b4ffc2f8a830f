"""Many plans on several workers, which are killed, stopped and cut off meanwhile, as is PostgreSQL.

`python -m tests.shared.chaos --plans 200 --workers 4 --faults 30` prints what was survived, as JSON. Afterwards every
plan is complete, no step that was recorded as done began again, every sandbox holds what its steps wrote, exactly once,
and `doctor` finds nothing.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg

import mulligan
from mulligan.config.database_address import parts_of
from tests.commands.program import data_of
from tests.support.patience import PATIENCE
from tests.support.postgres_keeper import Server
from tests.support.queue_world import shared_project
from tests.support.worker_thread import wait_until

LEASE = 4  # seconds: stopped and cut-off workers lose their plans while the run lasts
ROOT = Path(__file__).parents[2]


class World:
    """A server, a link to it, a project, and its workers."""

    def __init__(self, folder: Path, *, workers: int, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        place = folder / "server"
        place.mkdir()
        self.server = Server(place, "max_connections=200")
        self.server.make()
        self.server.start()
        self.link = subprocess.Popen(
            [sys.executable, "-m", "tests.support.tcp_link", str(place / ".s.PGSQL.5432")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self.link.stdout is not None
        port = int(self.link.stdout.readline())
        self.address = f"postgresql://tester@127.0.0.1:{port}/postgres?schema=chaos&lease={LEASE}"
        self.direct = f"postgresql://tester@/postgres?host={place}"
        self.project = shared_project(folder / "project", self.address)
        self.workers: list[subprocess.Popen[bytes]] = []
        self.wanted = workers
        self.started = 0
        self.faults: Counter[str] = Counter()

    def staff(self) -> None:
        """Have as many workers as wanted."""
        self.workers = [each for each in self.workers if each.poll() is None]
        while len(self.workers) < self.wanted:
            self.started += 1
            command = [sys.executable, "-m", "mulligan", "worker", "--format", "json"]
            with (self.folder / f"worker-{self.started}.log").open("wb") as log:
                self.workers.append(
                    subprocess.Popen(command, cwd=self.project, stdout=log, stderr=subprocess.STDOUT)
                )

    def ready(self) -> int:
        """Return how many workers took up work so far."""
        return sum('"event": "ready"' in log.read_text() for log in self.folder.glob("worker-*.log"))

    def told(self, word: str) -> int:
        """Tell the link something."""
        assert self.link.stdin is not None
        assert self.link.stdout is not None
        self.link.stdin.write(f"{word}\n")
        self.link.stdin.flush()
        return len(self.link.stdout.readline())

    def strike(self, kind: str) -> None:
        """Let something happen."""
        self.faults[kind] += 1
        while not (alive := [each for each in self.workers if each.poll() is None]):
            self.staff()  # all of them ended at their start, such as while the database was away
        victim = self.random.choice(alive)
        match kind:
            case "worker killed":
                victim.kill()
                victim.wait()
            case "worker stopped":  # for longer than the lease
                victim.send_signal(signal.SIGSTOP)
                time.sleep(LEASE + 3)
                victim.send_signal(signal.SIGCONT)
            case "worker asked to stop":
                victim.terminate()
            case "database killed":
                self.server.stop(signal.SIGQUIT)
                self.server.start()
            case "connections reset":
                self.told("reset")
            case "link cut":
                self.told("hole")
                time.sleep(LEASE + 1)
                self.told("mend")
                self.told("reset")
            case _:
                raise ValueError(kind)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Ask the server itself."""
        schema = parts_of(self.address).schema
        with psycopg.connect(self.direct, options=f"-c search_path={schema}", autocommit=True) as raw:
            return raw.execute(statement.encode()).fetchall()

    def left(self) -> int:
        """Return how many plans are not complete."""
        try:
            wanted = "SELECT COUNT(*) FROM plans WHERE phase <> 'execute' OR state <> 'complete'"
            return int(self.rows(wanted)[0][0])
        except psycopg.OperationalError:
            return -1

    def end(self) -> None:
        """End all that was started."""
        for each in self.workers:
            each.send_signal(signal.SIGCONT)
            each.kill()
            each.wait()
        self.link.kill()
        self.link.wait()
        self.server.stop()


KINDS = (
    *("worker killed",) * 5,
    *("database killed", "worker stopped", "worker asked to stop", "connections reset", "link cut"),
)


def submit(world: World, plans: int, submitted: list[str]) -> None:
    """Submit plans of three steps; every tenth has children. The server may be away: then once more."""
    project = mulligan.open(world.project)
    for number in range(plans):
        name = f"p{number}"
        words = [f"echo {letter} >> notes.txt; sleep 0.2" for letter in "abc"]
        steps: list[dict[str, Any]] = [{"name": f"s{n}", "run": word} for n, word in enumerate(words)]
        if number % 10 == 0:
            children = [
                {"name": f"k{n}", "steps": [{"name": "w", "run": f"sleep 0.3; echo {n} > kid-{n}.txt"}]}
                for n in (1, 2)
            ]
            steps.insert(1, {"name": "kids", "subplans": {"mode": "parallel", "plans": children}})
        file = world.project / "next.yaml"
        file.write_text(json.dumps({"name": name, "steps": steps}))
        while len(submitted) == number:
            try:
                submitted.append(str(project.submit(file).plan_id))
            except mulligan.errors.MulliganError:
                known = [each.plan_id for each in project.plans() if each.name == name]
                submitted += known[:1]  # the answer was lost, the plan was not
    project.close()


def repeated(world: World) -> list[str]:
    """Return the steps that began again although they were recorded as done, and were not taken back."""
    found: list[str] = []
    done: set[tuple[str, int]] = set()
    wanted = "('step_started', 'step_done', 'rollback')"
    for plan, kind, data in world.rows(
        f"SELECT plan_id, type, data_json FROM events WHERE type IN {wanted} ORDER BY plan_id, seq"
    ):
        if kind == "rollback":
            continue
        key = (plan, json.loads(data)["index"])
        if kind == "step_done":
            done.add(key)
        elif key in done:
            found.append(f"{plan} step {key[1]}")
    return found


def wrong(world: World, handles: list[str]) -> list[str]:
    """Return the plans whose sandbox does not hold what its steps wrote."""
    found: list[str] = []
    for number, handle in enumerate(handles):
        status = data_of(world.project, "status", handle)
        sandbox = Path(status["sandboxes"][0]["path"])
        lines = (sandbox / "notes.txt").read_text().split()
        kids = [(sandbox / f"kid-{n}.txt").exists() for n in (1, 2)] if number % 10 == 0 else [True]
        if lines != ["first", "a", "b", "c"] or not all(kids):
            found.append(f"{handle}: {lines}")
    return found


def stuck(world: World) -> str:
    """Describe the plans that did not end, and what their workers said last."""
    plans = world.rows(
        "SELECT p.handle, p.phase, p.state, p.failure_json, s.number, s.closed, s.taken, p.plan_id FROM plans AS p "
        "LEFT JOIN submissions AS s ON s.plan_id = p.plan_id WHERE p.phase <> 'execute' OR p.state <> 'complete'"
    )
    lines = [str(each) for each in plans]
    schema = parts_of(world.address).schema
    for each in plans:
        entries = f"SELECT workflow_uuid, status, executor_id FROM {schema}_queue.workflow_status"
        lines += [str(row) for row in world.rows(f"{entries} WHERE workflow_uuid LIKE '{each[-1]}%'")]
        for log in sorted(world.folder.glob("worker-*.log")):
            said = [
                line for line in log.read_text().splitlines() if str(each[-1]) in line or "trouble" in line
            ]
            lines += [f"{log.name}: {line[:300]}" for line in said[-6:]]
    return "\n".join(lines)


def run(*, plans: int, workers: int, faults: int, seed: int, patience: float) -> dict[str, Any]:
    """Let it happen; return what was survived."""
    folder = Path(tempfile.mkdtemp(prefix="mulligan-chaos-"))
    folder.chmod(0o755)
    os.environ["MULLIGAN_HOME"] = str(folder / "homes")
    world = World(folder, workers=workers, seed=seed)
    try:
        world.staff()
        wait_until(lambda: world.ready() >= workers or world.staff(), "the workers are ready")
        begun = time.monotonic()
        handles: list[str] = []
        submitting = threading.Thread(target=submit, args=(world, plans, handles))
        submitting.start()
        pause = 0.5
        while sum(world.faults.values()) < faults and (submitting.is_alive() or world.left() != 0):
            time.sleep(world.random.uniform(pause, 4 * pause))
            world.strike(world.random.choice(KINDS))
            world.staff()
        while submitting.is_alive():
            world.staff()
            submitting.join(0.5)
        until = time.monotonic() + patience + 2 * plans
        while (left := world.left()) != 0:
            world.staff()
            assert time.monotonic() < until, f"{left} plans did not end\n{stuck(world)}"
            time.sleep(0.5)
        took = time.monotonic() - begun
        lines = [line for log in folder.glob("worker-*.log") for line in log.read_text().splitlines()]
        said = Counter(re.findall(r'"event": "([a-z_ ]+)"', "\n".join(lines)))
        return {
            "plans": plans,
            "workers": workers,
            "seed": seed,
            "faults": dict(world.faults),
            "seconds": round(took, 1),
            "workers_started": world.started,
            "runs_begun": said["plan begun"],
            "taken_from_the_dead": said["taken"],
            "entered_again": said["entered again"],
            "steps_repeated": repeated(world),
            "sandboxes_wrong": wrong(world, handles),
            "doctor": data_of(world.project, "doctor")["findings"],
        }
    finally:
        world.end()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Run it as the command line says."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--plans", type=int, default=200)
    words.add_argument("--workers", type=int, default=4)
    words.add_argument("--faults", type=int, default=30)
    words.add_argument("--patience", type=float, default=PATIENCE)
    words.add_argument("--seed", type=int, default=int(time.time()))
    given = words.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended first
    result = run(
        plans=given.plans,
        workers=given.workers,
        faults=given.faults,
        seed=given.seed,
        patience=given.patience,
    )
    print(json.dumps(result, indent=2))
    return 1 if result["steps_repeated"] or result["sandboxes_wrong"] or result["doctor"] else 0


if __name__ == "__main__":
    sys.exit(main())
