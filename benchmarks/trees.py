"""Trees of files to measure on: seeded, with sizes like a real repository with its dependencies."""

import os
import random
from pathlib import Path

# Large trees take minutes to make: they are for the full run, not for every run of the checks.
SIZES = (1_000, 10_000, 100_000) if "BENCH_LARGE" in os.environ else (200, 2_000)

PLAN = """
name: bench
steps:
  - name: start
    tool: write_file
    args: {path: started, content: "yes"}
"""


def make_tree(folder: Path, files: int, seed: int = 7) -> list[Path]:
    """Write that many files, most of them small, some of them not, some ten to a folder."""
    chance = random.Random(seed)
    made: list[Path] = []
    for number in range(files):
        place = folder / f"d{number // 400:03}" / f"e{number // 20 % 20:02}"
        if number % 20 == 0:
            place.mkdir(parents=True, exist_ok=True)
        size = int(min(200_000, chance.lognormvariate(7.5, 1.4)))
        file = place / f"file{number}.txt"
        file.write_bytes(chance.randbytes(size // 2).hex().encode())
        made.append(file.relative_to(folder))
    return made


def change(folder: Path, files: list[Path], count: int, mark: int) -> None:
    """Change some files, spread over the tree."""
    step = max(1, len(files) // count)
    for file in files[::step][:count]:
        (folder / file).write_text(f"changed {mark}\n")
