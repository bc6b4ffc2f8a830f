"""Shared projects: steps with rows in PostgreSQL, near and far, and checkpoints with packs in an object store."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import count, pairwise
from pathlib import Path

from benchmarks.compare.contest import copy_tree
from benchmarks.compare.results import Failure, Work
from benchmarks.compare.works.bench import Bench, Tally, make_project

_STEPS = 40
_LEFT_OUT = 5  # at the start: what is loaded and opened once
_LINK = Path(__file__).parent.parent / "drivers" / "slow_link.py"
_STEP = Path(__file__).parent.parent / "drivers" / "plan_step.py"
_schemas = count(1)

# The servers are those of the tests. They are imported where they are started: ASV imports every module of `benchmarks`
# to find its suites, and cannot import `tests`.


def shared_steps(bench: Bench) -> Work:
    """A plan of many small steps: rows in a file, in a server of this machine, in one that is 1 ms away."""
    from tests.support.postgres_keeper import binaries

    tally = Tally()
    if binaries() is None:
        tally.failures.append(_without("PostgreSQL"))
    else:
        with tally.part("steps"), _server() as (near, far):
            for number in range(max(2, bench.repeats)):  # in turns: the machine is not the same all the time
                for side, address in (("SQLite", None), ("PostgreSQL", near), ("PostgreSQL, 1 ms away", far)):
                    for seconds in _steps(bench, bench.place / f"{number} {side}", address):
                        tally.add(f"step, {side}", seconds)
    return Work(
        key="shared-steps",
        title="a step in a shared project",
        files=None,
        sides=tally.sides(),
        how=f"{_STEPS} steps that write a small file each, from the start of one to the start of the next, in turns; a"
        " server with fsync, through a socket, and through a proxy that delays by 0.5 ms in each direction",
        failures=tally.failures,
    )


def shared_checkpoints(bench: Bench) -> Work:
    """Checkpoints of a running plan, rows in PostgreSQL and packs in SeaweedFS."""
    from tests.support.postgres_keeper import binaries
    from tests.support.seaweed import program as seaweed_program

    tally = Tally()
    if binaries() is None or seaweed_program() is None:
        tally.failures.append(_without("PostgreSQL or SeaweedFS"))
    else:
        with tally.part("checkpoints"), _server() as (near, _), _store() as environ:
            _checkpoints(bench, tally, near, environ)
    return Work(
        key="shared-checkpoints",
        title="checkpoint of a folder, packs in SeaweedFS",
        files=bench.files,
        sides=tally.sides(),
        how="StepContext.checkpoint in a Python step of a running plan, seen from the step; the upload is waited for",
        failures=tally.failures,
    )


def _steps(bench: Bench, project: Path, address: str | None) -> list[float]:
    project.mkdir()
    make_project(
        project,
        [
            {"name": f"s{n}", "tool": "write_file", "args": {"path": f"out/{n % 20}", "content": f"{n}"}}
            for n in range(_STEPS)
        ],
    )
    if address is not None:
        bench.mulligan(project, "init", "--database", f"{address}&schema=b{next(_schemas)}")
    bench.disk.settle()
    bench.mulligan(project, "plan", "execute", "plan.yaml")
    events = bench.mulligan_data(project, "plan", "log")["events"]
    begun = [datetime.fromisoformat(e["created_at"]) for e in events if e["type"] == "step_started"]
    return [(later - one).total_seconds() for one, later in list(pairwise(begun))[_LEFT_OUT:]]


def _checkpoints(bench: Bench, tally: Tally, address: str, environ: Mapping[str, str]) -> None:
    from tests.support.s3_server import BUCKET

    assert bench.repository is not None
    project = bench.place / "project"
    copy_tree(bench.repository.folder, project, bench.budget)
    shutil.copy(_STEP, project / "bench_step.py")
    sources = [os.fspath(path) for path in bench.repository.sources]
    (project / "bench_sources.json").write_text(json.dumps(sources))
    arguments = {"function": "bench_step:checkpoints", "kwargs": {"repeats": bench.repeats}}
    make_project(project, [{"name": "measure", "tool": "python", "args": arguments}])
    store = f"s3://{BUCKET}/bench{next(_schemas)}"
    database = f"{address}&schema=b{next(_schemas)}"
    bench.mulligan(project, "init", "--database", database, "--store", store, **environ)
    bench.disk.settle()
    bench.mulligan(project, "plan", "execute", "plan.yaml", **environ)
    events = json.loads(bench.mulligan(project, "plan", "log", "--format", "json", **environ).output)["data"]
    for event in events["events"]:
        if event["type"] == "log":
            for side, seconds in json.loads(event["data"]["message"]):
                tally.add(side, seconds)


@contextmanager
def _server() -> Generator[tuple[str, str]]:
    """Start a durable server; yield its address, and the one through a slow link."""
    from tests.support.postgres_keeper import Server

    folder = Path(tempfile.mkdtemp(prefix="mulligan-bench-pg-"))
    port = _free_port()
    server = Server(folder, "listen_addresses=127.0.0.1", f"port={port}")
    try:
        server.make()
        server.start()
        through = _free_port()
        link = subprocess.Popen(
            [sys.executable, str(_LINK), str(through), str(port), "0.0005"], stdout=subprocess.PIPE
        )
        try:
            assert link.stdout is not None
            link.stdout.readline()
            yield (
                f"postgresql://tester@/postgres?host={folder}&port={port}",
                f"postgresql://tester@127.0.0.1:{through}/postgres?sslmode=disable",
            )
        finally:
            link.kill()
            link.wait()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _store() -> Generator[dict[str, str]]:
    from tests.support.seaweed import Seaweed

    folder = Path(tempfile.mkdtemp(prefix="mulligan-bench-s3-"))
    server = Seaweed(folder)
    try:
        server.start()
        yield server.environ
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _without(what: str) -> Failure:
    return Failure(measure=what, command="", output=f"{what} is not installed here", excused=True)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
