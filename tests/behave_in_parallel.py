"""Runs the features in several processes: `python -m tests.behave_in_parallel PROCESSES FOLDER_FOR_REPORTS`."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

GROUPS = 3  # of features for each process: each loads the program once


def grouped(features: list[Path], count: int) -> list[list[Path]]:
    """Divide features into groups of about the same length, counted in bytes."""
    groups: list[list[Path]] = [[] for _ in range(count)]
    for feature in sorted(features, key=_size, reverse=True):
        min(groups, key=lambda group: sum(map(_size, group))).append(feature)
    return groups


def _size(feature: Path) -> int:
    return feature.stat().st_size


def run(reports: str, features: list[Path]) -> "subprocess.CompletedProcess[str]":
    """Run some features, one after the other."""
    options = ["--junit", f"--junit-directory={reports}", "--format=progress"]
    command = [sys.executable, "-m", "behave", *options, *map(str, features)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def main() -> int:
    """Run all; show what each group printed when it is over, and fail if one failed."""
    processes, reports = int(sys.argv[1]), sys.argv[2]
    groups = grouped([*Path("features").glob("*.feature")], processes * GROUPS)
    code = 0
    with ThreadPoolExecutor(processes) as pool:
        for done in pool.map(partial(run, reports), groups):
            print(done.stdout, flush=True)
            code = max(code, abs(done.returncode))
    return code


if __name__ == "__main__":
    sys.exit(main())
