"""Variants of a try at once beside one of them: what it takes to prepare them."""

from benchmarks.compare.contest import copy_tree
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import Bench, Tally
from benchmarks.compare.works.children import seconds_of_step
from benchmarks.trees import make_repository

_VARIANTS = 8


def variants(bench: Bench) -> Work:
    """Eight variants that do nothing, in turns with one, where an earlier try left parked copies."""
    tally = Tally()
    tree = bench.place / "tree"
    with tally.part("variants"):
        tree.mkdir()
        make_repository(tree, bench.files, ignored=False)
        project = bench.place / "project"
        copy_tree(tree, project, bench.budget)
        bench.mulligan(project, "try", "-n", str(_VARIANTS), "--", "true")
        for _ in range(min(3, bench.repeats)):
            for count in (1, _VARIANTS):
                bench.disk.settle()
                bench.mulligan(project, "try", "-n", str(count), "--", "true")
                events = bench.mulligan_data(project, "plan", "log")["events"]
                tally.add("1 variant" if count == 1 else f"{count} variants", seconds_of_step(events))
    return Work(
        key="variants",
        title=f"{_VARIANTS} variants of a try, and one",
        files=bench.files,
        sides=tally.sides(),
        how="the step that runs the variants, whose command is `true`: sandboxes, groups and their release; an earlier"
        " try left parked copies, and `plan.max-parallel` is the default",
        failures=tally.failures,
    )
