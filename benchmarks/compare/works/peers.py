"""Peers that keep the rows of steps: how they are driven, and what they say."""

import json
from pathlib import Path
from typing import Any

from benchmarks.compare.contestants.packages import python_environment, version_of
from benchmarks.compare.processes import run
from benchmarks.compare.works.bench import Bench

_DRIVERS = Path(__file__).parent.parent / "drivers"


def dbos(bench: Bench, place: Path, journal_mode: str, synchronous: str, steps: int) -> Any:
    """Measure a DBOS workflow of that many steps, and listing its steps."""
    return _drive(bench, place, "dbos", [journal_mode, synchronous, str(steps)], "dbos")


def langgraph(bench: Bench, place: Path, synchronous: str, steps: int) -> Any:
    """Measure a LangGraph thread of that many steps, saved by SqliteSaver, and listing its checkpoints."""
    packages = ("langgraph", "langgraph-checkpoint-sqlite")
    return _drive(bench, place, "langgraph", [synchronous, str(steps)], *packages)


def versions(bench: Bench, name: str, *packages: str) -> str:
    """The versions of packages that were installed for a peer, in words."""
    python = python_environment(bench.installed / name, bench.budget, *packages)
    return ", ".join(f"{package} {version_of(python, package, bench.budget)}" for package in packages)


def _drive(bench: Bench, place: Path, name: str, arguments: list[str], *packages: str) -> Any:
    python = python_environment(bench.installed / name, bench.budget, *packages)
    place.mkdir()
    bench.disk.settle()
    program = str(_DRIVERS / f"{name}_steps.py")
    done = run([str(python), program, str(place), *arguments], bench.budget, cwd=place)
    return json.loads(done.output.splitlines()[-1])
