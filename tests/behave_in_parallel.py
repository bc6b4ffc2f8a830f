"""Runs the features in several processes: `python -m tests.behave_in_parallel PROCESSES FOLDER_FOR_REPORTS`."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path


def longest_first(features: list[Path]) -> list[Path]:
    """Order features so that none is left for the end that others would have to wait for, by their length."""
    return sorted(features, key=lambda path: path.stat().st_size, reverse=True)


def run(reports: str, feature: Path) -> "subprocess.CompletedProcess[str]":
    """Run one feature."""
    options = ["--junit", f"--junit-directory={reports}", "--format=progress"]
    command = [sys.executable, "-m", "behave", *options, str(feature)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def main() -> int:
    """Run all; show what each printed when it is over, and fail if one failed."""
    processes, reports = int(sys.argv[1]), sys.argv[2]
    features = longest_first([*Path("features").glob("*.feature")])
    code = 0
    with ThreadPoolExecutor(processes) as pool:
        for done in pool.map(partial(run, reports), features):
            print(done.stdout, flush=True)
            code = max(code, abs(done.returncode))
    return code


if __name__ == "__main__":
    sys.exit(main())
