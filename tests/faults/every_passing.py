"""Every passing of every boundary, by every command of both scenarios, struck in every way: `nox -s faults`.

It takes hours, so it can be cut: `--shard 2/8` is a part, `--minutes 20` stops in time, and the next call goes on
where the last one stopped as long as the code is the same. What was found is in `build/faults`.
"""

import argparse
import hashlib
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mulligan.boundaries import ACTS
from tests.faults.both import BothTrials
from tests.faults.trials import Fault, NeverFired

ROOT = Path(__file__).parents[2]
SURVIVED, NEVER, FAILED = "survived", "never fired", "FAILED"


def faults_of(trials: BothTrials) -> Iterator[Fault]:
    """All that can strike."""
    for command, passed in trials.passed.items():
        for when, act in sorted(passed):
            hows = ("SIGKILL", "SIGTERM", *ACTS[act][0].split()) if when == "before" else ("SIGKILL",)
            for number in range(1, passed[when, act] + 1):
                for how in hows:
                    yield Fault(command=command, when=when, act=act, number=number, how=how)


def is_in(fault: Fault, shard: int, shards: int) -> bool:
    """Whether a fault belongs to a shard; told by its own words, as passings are not the same in every run."""
    return zlib.crc32(f"{fault.command} {fault}".encode()) % shards == shard - 1


class Journal:
    """What came of each fault, in a file that outlives this process."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self.found = dict(line.split("\t")[:2] for line in lines)

    def note(self, fault: Fault, found: str, why: str = "") -> None:
        """Keep it."""
        name = f"{fault.command}: {fault}"
        self.found[name] = found
        with self._file.open("a") as file:
            file.write(f"{name}\t{found}\t{' '.join(why.split())}\n")

    def has(self, fault: Fault) -> bool:
        """Whether it need not be struck again."""
        return self.found.get(f"{fault.command}: {fault}", FAILED) != FAILED


def strike(trials: BothTrials, fault: Fault, journal: Journal) -> None:
    """Let one fault strike and write down what came of it."""
    try:
        trials.strike(fault)
    except NeverFired:
        # How often caches are written and packs joined is not the same in every run: only the first is sure.
        sure = fault.number == 1
        journal.note(fault, FAILED if sure else NEVER, "it never fired" if sure else "")
    except AssertionError as exc:
        journal.note(fault, FAILED, str(exc)[:2000])
    else:
        journal.note(fault, SURVIVED)


def code() -> str:
    """What tells one state of the code from another."""
    files = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "tests" / "faults").glob("*.py")])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def run(folder: Path, shard: int, shards: int, until: float) -> int:
    """Strike with what is left of a shard; gives how many failed or are left."""
    place = folder / code() / f"{shard}-of-{shards}"
    place.mkdir(parents=True, exist_ok=True)
    trials, journal = BothTrials(place), Journal(place / "found.tsv")
    mine = [fault for fault in faults_of(trials) if is_in(fault, shard, shards)]
    waiting = [fault for fault in mine if not journal.has(fault)]
    while waiting and time.monotonic() < until:
        strike(trials, waiting.pop(0), journal)
    counts = Counter(journal.found.values())
    told = ", ".join(f"{word} {counts[word]}" for word in (SURVIVED, NEVER, FAILED))
    print(
        f"shard {shard}/{shards}: faults {len(mine)}, {told}, left {len(waiting)}; see {place / 'found.tsv'}"
    )
    return counts[FAILED] + len(waiting)


def main() -> None:
    """Run one shard, or several beside each other."""
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="which of how many parts")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="stop after that; go on next time"
    )
    parser.add_argument("--processes", type=int, default=1, help="parts of the shard that run at once")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "faults")
    options = parser.parse_args()
    shard, shards = map(int, options.shard.split("/"))
    if options.processes == 1:
        sys.exit(bool(run(options.folder, shard, shards, time.monotonic() + 60 * options.minutes)))
    words = ["--minutes", str(options.minutes), "--folder", str(options.folder)]
    parts = [f"{shard + shards * n}/{shards * options.processes}" for n in range(options.processes)]
    running = [subprocess.Popen([sys.executable, "-m", __spec__.name, "--shard", p, *words]) for p in parts]
    codes = [process.wait() for process in running]
    sys.exit(any(codes))


if __name__ == "__main__":
    main()
