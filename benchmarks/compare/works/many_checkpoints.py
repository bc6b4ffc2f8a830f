"""What a long history costs: listing it, and pruning nearly all of it."""

import shutil
from pathlib import Path

from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import Bench, Tally, make_project

_STEP = Path(__file__).parent.parent / "drivers" / "plan_step.py"
_TENTH = 10
_KEPT = 50


def many_checkpoints(bench: Bench) -> Work:
    """`checkpoint list` and `checkpoint prune` beside the same with a tenth of the checkpoints."""
    tally = Tally()
    with tally.part("checkpoints"):
        for count, beside in ((bench.files // _TENTH, ", a tenth"), (bench.files, "")):
            project = bench.place / f"of {count}"
            project.mkdir()
            shutil.copy(_STEP, project / "bench_step.py")
            arguments = {"function": "bench_step:label", "kwargs": {"count": count}}
            make_project(project, [{"name": "label", "tool": "python", "args": arguments}])
            limit = f"sandbox.checkpoint.max-checkpoints-per-plan={10 * bench.files}"
            bench.mulligan(project, "plan", "execute", "-c", limit, "plan.yaml")
            for _ in range(bench.repeats):
                listed = bench.mulligan(project, "checkpoint", "list", "--format", "json")
                tally.add(f"list{beside}", listed.seconds)
            bench.disk.settle()
            prune = ("checkpoint", "prune", "latest", "--keep", str(_KEPT))
            tally.add(f"prune to {_KEPT}{beside}", bench.mulligan(project, *prune).seconds)
    return Work(
        key="many-checkpoints",
        title="checkpoint list, checkpoint prune --keep 50, of so many checkpoints",
        files=bench.files,
        sides=tally.sides(),
        how="labelled checkpoints of a small folder, all taken in one step; beside a tenth as many",
        failures=tally.failures,
    )
