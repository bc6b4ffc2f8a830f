"""Forks of a sandbox, from nothing and from a parked copy, beside a copy of the tree."""

import json
import shutil
import sys
from pathlib import Path

from benchmarks.compare.processes import run, surroundings
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import Bench, Tally
from benchmarks.trees import make_repository

_DRIVER = Path(__file__).parent.parent / "drivers" / "sandbox_forks.py"


def forks(bench: Bench) -> Work:
    """A fork of a sandbox that is in the page cache, in turns with `cp -a`."""
    tally = Tally()
    tree, copy = bench.place / "tree", bench.place / "copy"
    with tally.part("forks"):
        tree.mkdir()
        make_repository(tree, bench.files, ignored=False)
        for turn in range(min(3, bench.repeats)):
            home = bench.place / f"home-{turn}"
            bench.disk.settle()
            command = [sys.executable, str(_DRIVER), str(tree), str(home), "2"]
            found = json.loads(run(command, bench.budget, env=surroundings()).output)
            for how, seconds in found.items():
                for each in seconds:
                    tally.add(f"{how} fork", each)
            shutil.rmtree(home, ignore_errors=True)  # it may still tidy up in the background
            bench.disk.settle()
            command = ["cp", "-a", "--reflink=auto", str(tree), str(copy)]
            tally.add("cp -a", run(command, bench.budget).seconds)
            shutil.rmtree(copy)
    return Work(
        key="forks",
        title="forking a sandbox, from nothing (cold) and from a parked copy (warm)",
        files=bench.files,
        sides=tally.sides(),
        how="SandboxKind.fork in a process that runs, synced, in turns with cp -a of the tree, which syncs"
        " nothing",
        failures=tally.failures,
    )
