"""System calls that fail or are the last, over all that write: `nox -s syscalls`.

There are tens of thousands, so they are struck in an order that a seed shuffles, and it can be cut: `--shard 2/8` is a
part, `--minutes 20` stops in time, and the next call continues where the last one stopped as long as the code is the
same. What was found is in `build/syscalls`, and summed up in `build/syscalls.json`.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.faults.every_passing import ROOT, code
from tests.faults.syscall_shim import ALONE, TOGETHER, ways
from tests.faults.syscall_trials import Fault, Found, NeverFired, Trials
from tests.faults.syscall_world import COMMANDS
from tests.shims import compiled

NEVER, WRONG = "never fired", "WRONG"
_SURE = 0.95  # of the calls: two runs of one command differ by a few, as threads and caches will have it
_MEMORY = Path("/dev/shm")


def faults_of(trials: Trials, commands: Iterable[str]) -> Iterator[Fault]:
    """List all that can strike."""
    for name in commands:
        for number, call in enumerate(trials.undisturbed[name].calls, 1):
            for how in ways(call):
                yield Fault(command=name, number=number, how=how)


def sample(trials: Trials, seed: int, size: int) -> list[Fault]:
    """Choose faults of all commands, the same for a seed: the more calls a command makes, the more of them are its.

    The first two are the two kinds of death, whatever the numbers of calls are.
    """
    chance = random.Random(seed)
    chosen: list[Fault] = []
    names = [command.name for command in COMMANDS]
    weights = [len(trials.undisturbed[name].calls) for name in names]
    deaths = iter((ALONE, TOGETHER))
    for name in [*names, *chance.choices(names, weights, k=max(0, size - len(names)))]:
        calls = trials.undisturbed[name].calls
        number = chance.randrange(1, int(_SURE * len(calls)))
        how = next(deaths, None) or chance.choice(ways(calls[number - 1]))
        chosen.append(Fault(command=name, number=number, how=how))
    return chosen


def state() -> str:
    """Return what distinguishes one state of the code, the library included, from another."""
    return f"{code()}-{compiled('faults').stem.partition('-')[2]}"


class Journal:
    """What came of each fault, in a file that outlives this process."""

    def __init__(self, file: Path) -> None:
        """Read what is there already."""
        self._file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self.found = {entry["fault"]: entry for entry in map(json.loads, lines)}

    def note(self, fault: Fault, found: Found, outcome: str) -> None:
        """Keep it."""
        hit = asdict(found.hit) if found.hit else None
        entry = {
            "fault": str(fault), "outcome": outcome, "hit": hit, "message": found.message, "wrong": found.wrong
        }  # fmt: skip
        self.found[str(fault)] = entry
        with self._file.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def has(self, fault: Fault) -> bool:
        """Return whether it need not be struck again."""
        return str(fault) in self.found and self.found[str(fault)]["outcome"] != WRONG


def strike(trials: Trials, fault: Fault, journal: Journal) -> None:
    """Let one fault strike and write down what came of it."""
    try:
        found = trials.strike(fault)
    except subprocess.TimeoutExpired as exc:
        journal.note(fault, Found(wrong=[f"it hangs: {exc}"]), WRONG)
    except NeverFired as exc:
        sure = fault.number <= _SURE * len(trials.undisturbed[fault.command].calls)
        journal.note(fault, Found(wrong=[str(exc)] if sure else []), WRONG if sure else NEVER)
    else:
        journal.note(fault, found, WRONG if found.wrong else found.outcome)


def run(folder: Path, shard: int, shards: int, until: float, seed: int, commands: Sequence[str]) -> int:
    """Strike with what is left of a shard until the time is up; return how many are wrong."""
    place = folder / state() / f"{shard}-of-{shards}"
    place.mkdir(parents=True, exist_ok=True)
    journal = Journal(place / "found.jsonl")
    memory = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="mulligan-syscalls-", dir=memory) as work:
        trials = Trials(Path(work))
        mine = [
            fault
            for fault in faults_of(trials, commands)
            if zlib.crc32(str(fault).encode()) % shards == shard - 1
        ]
        waiting = [fault for fault in mine if not journal.has(fault)]
        random.Random(seed).shuffle(waiting)
        while waiting and time.monotonic() < until:
            strike(trials, waiting.pop(), journal)
    counts = Counter(entry["outcome"] for entry in journal.found.values())
    print(f"shard {shard}/{shards}: faults {len(mine)}, left {len(waiting)}, {dict(counts)}; see {place}")
    return counts[WRONG]


def summarise(folder: Path, report: Path) -> Counter[str]:
    """Write the counts of all shards, and what is wrong, into one document."""
    entries = [
        json.loads(line)
        for file in sorted((folder / state()).glob("*/found.jsonl"))
        for line in file.read_text().splitlines()
    ]
    last = {entry["fault"]: entry for entry in entries}
    counts = Counter(str(entry["outcome"]) for entry in last.values())
    by_command: dict[str, Counter[str]] = {}
    for entry in last.values():
        by_command.setdefault(entry["fault"].partition(":")[0], Counter())[entry["outcome"]] += 1
    wrong = [entry for entry in last.values() if entry["outcome"] == WRONG]
    document = {"faults": len(last), "outcomes": counts, "commands": by_command, "wrong": wrong}
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(document, indent=1) + "\n")
    return counts


def main() -> None:
    """Run one shard, or several beside each other."""
    parser = argparse.ArgumentParser(prog="syscalls", description=__doc__)
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="which of how many parts")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="stop after that; continue next time"
    )
    parser.add_argument("--seed", type=int, default=0, help="the order in which faults strike")
    parser.add_argument(
        "--command",
        action="append",
        choices=[c.name for c in COMMANDS],
        help="only this one; can be repeated",
    )
    parser.add_argument("--processes", type=int, default=1, help="parts of the shard that run at once")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "syscalls")
    options = parser.parse_args()
    if shutil.which("cc") is None:
        parser.error("this needs a C compiler, `cc`")
    commands = options.command or [command.name for command in COMMANDS]
    shard, shards = map(int, options.shard.split("/"))
    if options.processes == 1:
        until = time.monotonic() + 60 * options.minutes
        wrong = run(options.folder, shard, shards, until, options.seed, commands)
        summarise(options.folder, options.folder.with_suffix(".json"))
        sys.exit(bool(wrong))
    words = ["--minutes", str(options.minutes), "--folder", str(options.folder), "--seed", str(options.seed)]
    words += [word for name in options.command or () for word in ("--command", name)]
    parts = [f"{shard + shards * n}/{shards * options.processes}" for n in range(options.processes)]
    running = [subprocess.Popen([sys.executable, "-m", __spec__.name, "--shard", p, *words]) for p in parts]
    codes = [process.wait() for process in running]
    counts = summarise(options.folder, options.folder.with_suffix(".json"))
    print(f"faults survived: {counts.total() - counts[WRONG] - counts[NEVER]}, wrong: {counts[WRONG]}")
    sys.exit(any(codes))


if __name__ == "__main__":
    main()
