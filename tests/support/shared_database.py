"""PostgreSQL for tests: one server for all processes of a run, and a schema of its own for each that asks."""

import fcntl
import itertools
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE
from tests.support.postgres_keeper import binaries

WHY_NOT = "PostgreSQL is not installed here: scripts/postgresql installs it on Debian"
_ROOT = Path(__file__).parents[2]
_PLACE = "MULLIGAN_TEST_SERVER"
_numbers = itertools.count(1)
_held: list[object] = []  # the lock that says that this process uses the server


def is_whole_run() -> bool:
    """Return whether all tests of shared projects are asked for, and not a sample."""
    return os.environ.get("MULLIGAN_SHARED") == "all"


def new_address() -> str:
    """Return the address of a project that is yet to be made."""
    return f"{server_address()}&schema=t_{os.getpid()}_{next(_numbers)}"


def server_address() -> str:
    """Return the address of a database on the server of this run; skip the test where there is no PostgreSQL."""
    if binaries() is None:
        pytest.skip(WHY_NOT)
    return f"postgresql://tester@/postgres?host={server()}"


def place_of_run() -> Path | None:
    """Choose the folder of this run's server; return it for the process that is to remove it in the end."""
    if _PLACE in os.environ:
        return None
    place = Path(tempfile.mkdtemp(prefix="mulligan-pg-"))
    place.chmod(0o755)  # the server runs as another user where root runs the tests
    os.environ[_PLACE] = str(place)  # for the processes of the run
    return place


@cache
def server() -> Path:
    """Return the folder of the server of this run, which the first process that asks starts."""
    place = Path(os.environ[_PLACE])
    folder = place / "server"
    with (place / "starting").open("wb") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        users = (place / "users").open("ab")
        fcntl.flock(users, fcntl.LOCK_SH)  # waits for a server that is being ended
        _held.append(users)
        if not (folder / "ready").exists():
            command = [sys.executable, "-m", "tests.support.postgres_keeper", str(place)]
            with (place / "log").open("ab") as log:
                keeper = subprocess.Popen(
                    command,
                    cwd=_ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=log,  # and not that of a process whose output is read to its end
                    stderr=log,
                    start_new_session=True,
                    env=_unmeasured(),
                )
            _held.append(keeper)
            _wait_for((folder / "ready").exists, keeper)
    return folder


def use_shared_rows() -> None:
    """With MULLIGAN_SHARED_ROWS in the environment, let the projects of all tests have their rows in PostgreSQL."""
    if "MULLIGAN_SHARED_ROWS" not in os.environ:
        return
    folder = Path(__file__).parent / "shared_rows"
    os.environ["MULLIGAN_ROWS_SERVER"] = server_address()
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(folder) not in paths:  # else Python has loaded it already
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), *paths]))
        runpy.run_path(str(folder / "sitecustomize.py"))


def _unmeasured() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


def _wait_for(fact: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE
    while not fact():
        assert process.poll() is None, "the server could not be started"
        assert time.monotonic() < until, "the server did not start"
        time.sleep(0.02)
