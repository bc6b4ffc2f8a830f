"""The preparation of variants: eight sandboxes of one tree, from parked copies, beside one."""

from dataclasses import replace

from benchmarks.compare.results import Failure, Work
from benchmarks.compare.works.bench import Bench, Tally, commit_all
from benchmarks.trees import make_repository

_MANY = 8


def variants(bench: Bench) -> Work:
    """`try` with a command that does nothing, in eight variants and in one."""
    tally = Tally()
    with tally.part("variants"):
        _run(bench, tally)
    return Work(
        key="variants",
        title="try with eight variants of a tree, from parked copies",
        files=bench.files,
        sides=tally.sides(),
        how="mulligan try -n 8 -- true, in turns with mulligan try -n 1 -- true, after as many sandboxes were parked",
        failures=[_known(failure) for failure in tally.failures],
    )


def _run(bench: Bench, tally: Tally) -> None:
    project = bench.place / "project"
    project.mkdir()
    make_repository(project, bench.files, ignored=False)
    commit_all(bench, project)
    bench.mulligan(project, "init")
    bench.mulligan(project, "config", "set", "sandbox.pool", str(_MANY))
    bench.mulligan(project, "config", "set", "sandbox.cleanup", "on_terminal")
    for number in range(min(3, bench.repeats) + 1):
        for count, side in ((_MANY, f"{_MANY} variants"), (1, "1 variant")):
            bench.disk.settle()
            name = f"{side} {number}".replace(" ", "-")
            done = bench.mulligan(project, "try", "--name", name, "-n", str(count), "--", "true")
            if number:  # the first one parks what the others begin with
                tally.add(side, done.seconds)
            # It parks the copy that is its own, for the next one; to remove the plan would remove all parked copies.
            bench.mulligan(project, "cancel", name)


def _known(failure: Failure) -> Failure:
    """A version without the command is not a failure of the comparison."""
    return replace(failure, excused="there is no command 'try'" in failure.output)
