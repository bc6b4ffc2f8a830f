"""Chaos: several plans of one project run at once, and their processes are killed at random moments.

Each plan is started again until it is complete; then it must have ended as one that was left alone. The seed
decides when and whom: `python -m tests.faults.chaos --minutes 30 --seed 7`.
"""

import argparse
import itertools
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from mulligan.api.project import Project
from mulligan.domain.plans.plan import State
from tests.faults.processes import processes_with
from tests.faults.projects import Watching, nothing, services_in
from tests.faults.trials import picture_without_times
from tests.support.homes import homes_beside, homes_for

PLANS = 3
SWEEPER = "gc"  # sweeps the store all the while, and is killed too
LIFE = (0.1, 1.2)  # until a process is killed, as a part of what a whole run takes by itself
FEW = 5  # kills that a sweep must have survived
ROUNDS = 12  # within which they must have happened
LIVES = 6  # processes of one plan, the last of which is left alone
ENDS = (0, 3, -signal.SIGKILL)  # 3: it was killed when it had done all, and is complete
PLAN = """\
name: NAME
config: {max_checkpoints_per_plan: 6}
resources: {code: {type: fs-directory, location: code}, data: {type: fs-directory, location: data}}
steps:
  - {name: one, tool: shell, args: {command: 'rm -r old; mkdir -p a/b; echo 1 > a/b/c; ln a/b/c a/d; chmod 700 tool'}}
  - {name: pick, decision: {question: Which?, chosen: NAME}}
  - {name: two, tool: write_file, resource: data, args: {path: NAME, content: 'NAME'}}
  - {name: three, tool: shell, retries: 1, args: {command: 'echo 3 >> a/d; (setsid sleep 20 &); rm gone'}}
  - {name: four, tool: shell, args: {command: 'rm -r a; mkdir a; ln -s ../tool a/tool; sleep 0.05'}, checkpoint: four}
  - {name: five, tool: shell, resource: data, args: {command: 'cat NAME NAME > twice; rm large'}}
"""


@dataclass(slots=True)
class Survived:
    """What a sweep came through."""

    kills: int = 0
    plans: int = 0


def sweep(folder: Path, rng: random.Random, until: float) -> Survived:
    """Run rounds of plans until that moment and until something was killed; raises AssertionError for any other end.

    On a busy machine a round may end before the moments that were drawn for its deaths: more rounds follow then.
    """
    survived = Survived()
    homes_beside(folder / "0").mkdir(mode=0o700)  # beside the folder of each round, and none of the user's
    for number in itertools.count():
        if survived.kills >= FEW and time.monotonic() >= until:
            return survived
        assert number < ROUNDS or survived.kills >= FEW, "hardly anything was killed: the test shows nothing"
        _round(folder / str(number), rng, survived)
    raise AssertionError


def _round(folder: Path, rng: random.Random, survived: Survived) -> None:
    names = [f"p{number}" for number in range(PLANS)]
    whole = _make_project(folder, names)
    waiting = set(names)
    starts = dict.fromkeys([*names, SWEEPER], 0)
    running: dict[str, subprocess.Popen[bytes]] = {}
    deaths: dict[str, float] = {}
    while waiting:
        sweeper = [SWEEPER] if starts[SWEEPER] < LIVES else []
        for name in sorted({*waiting, *sweeper} - running.keys()):
            starts[name] += 1
            assert starts[name] <= LIVES, f"no progress of {name}, although it was left alone"
            running[name] = _start(folder, name)
            deaths[name] = time.monotonic() + (
                whole * rng.uniform(*LIFE) if starts[name] < LIVES else math.inf
            )
        time.sleep(0.005)
        for name, process in list(running.items()):
            if process.poll() is None and time.monotonic() > deaths[name]:
                process.kill()
                process.wait()
                survived.kills += 1
            if process.poll() is not None:
                assert process.returncode in ENDS, f"{name}: exit code {process.returncode}"
                del running[name]
                if process.returncode != -signal.SIGKILL:
                    waiting.discard(name)
    for process in running.values():
        process.wait()
    _check(folder, names)
    survived.plans += len(names)


def _make_project(folder: Path, names: list[str]) -> float:
    """Make it, and run one of its plans undisturbed; gives how long that took."""
    for place in (folder / "code" / "old", folder / "data"):
        place.mkdir(parents=True)
    for name in ("gone", "tool", "old/file"):
        (folder / "code" / name).write_text(name)
    (folder / "data" / "large").write_bytes(os.urandom(300_000))
    services = services_in(folder)
    project = Project(services=services, observer=Watching(nothing))
    for name in [*names, "alone"]:
        (folder / f"{name}.yaml").write_text(PLAN.replace("NAME", name))
        project.create(folder / f"{name}.yaml")
    services.adapters.database.close()
    begun = time.monotonic()
    assert _start(folder, "alone").wait() == 0
    return time.monotonic() - begun


def _start(folder: Path, name: str) -> "subprocess.Popen[bytes]":
    words = ["gc"] if name == SWEEPER else ["plan", "execute", name]
    argv = [sys.executable, "-m", "mulligan", *words]
    environment = {**os.environ, "CHAOS": str(folder), "MULLIGAN_HOME": homes_for(folder)}
    with (folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(argv, cwd=folder, env=environment, stdout=log, stderr=log)


def _check(folder: Path, names: list[str]) -> None:
    services = services_in(folder)
    project = Project(services=services, observer=Watching(nothing))
    for name in names:
        status = project.status(name)
        assert status.state is State.COMPLETE, name
        assert _end(project, name) == _end(project, "alone"), name
        with services.adapters.database.reading() as db:
            assert not db.intents.list(status.plan_id), name
    assert not project.checkpoints.verify().damaged
    project.gc()
    assert project.gc(dry_run=True).bytes_freed == 0
    services.adapters.database.close()
    assert processes_with("CHAOS", str(folder)) == []


def _end(project: Project, name: str) -> object:
    """The files of a plan's sandboxes, with the plan's own name taken out."""
    found = repr([picture_without_times(Path(s.path)) for s in project.status(name).sandboxes])
    return found.replace(name, "NAME")


def main() -> None:
    """Sweep for some minutes and tell what was survived."""
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        rng = random.Random(options.seed)
        survived = sweep(Path(folder), rng, time.monotonic() + 60 * options.minutes)
    print(f"kills survived: {survived.kills}, by {survived.plans} plans")


if __name__ == "__main__":
    main()
