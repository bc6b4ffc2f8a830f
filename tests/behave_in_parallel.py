"""Runs the features in several processes: `python -m tests.behave_in_parallel PROCESSES FOLDER_FOR_REPORTS`."""

import subprocess
import sys
from pathlib import Path


def shares(features: list[Path], processes: int) -> list[list[str]]:
    """Divide features among processes so that each has about as much to do, by the length of the files."""
    found: list[tuple[int, list[str]]] = [(0, []) for _ in range(processes)]
    for feature in sorted(features, key=lambda path: path.stat().st_size, reverse=True):
        size, names = min(found, key=lambda share: share[0])
        found.remove((size, names))
        found.append((size + feature.stat().st_size, [*names, str(feature)]))
    return [names for _, names in found if names]


def main() -> int:
    """Run all; show what each printed when it is over, and fail if one failed."""
    processes, reports = int(sys.argv[1]), sys.argv[2]
    options = ["--junit", f"--junit-directory={reports}", "--format=progress"]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "behave", *options, *names],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for names in shares(sorted(Path("features").glob("*.feature")), processes)
    ]
    for process in running:
        print(process.communicate()[0])
    return max(process.returncode for process in running)


if __name__ == "__main__":
    sys.exit(main())
