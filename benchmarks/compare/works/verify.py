"""Reading and proving all that is stored."""

from benchmarks.compare.contestants.restic import Restic
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import ONE_STEP, Bench, Tally, make_project
from benchmarks.trees import make_repository


def verify(bench: Bench) -> Work:
    """`checkpoint verify` beside `restic check --read-data` of the same tree."""
    tally = Tally()
    project, store = bench.place / "project", bench.place / "restic"
    with tally.part("mulligan checkpoint verify"):
        project.mkdir()
        make_repository(project, bench.files)
        make_project(project, ONE_STEP)
        bench.mulligan(project, "plan", "execute", "plan.yaml")
        sandbox = bench.mulligan_data(project, "plan", "status")["sandboxes"][0]["path"]
        for _ in range(bench.repeats):
            bench.disk.settle()
            tally.add("mulligan", bench.mulligan(project, "checkpoint", "verify").seconds)
            tally.add("mulligan --quick", bench.mulligan(project, "checkpoint", "verify", "--quick").seconds)
        if bench.group_wanted("restic"):
            with tally.part("restic check --read-data", of_peer=True):
                restic = Restic()
                restic.install(bench.installed, bench.budget)
                store.mkdir()
                with restic.open(bench.place / sandbox, store, bench.budget) as session:
                    session.snapshot()
                    for _ in range(bench.repeats):
                        bench.disk.settle()
                        tally.add("restic", session.check())
    return Work(
        key="verify",
        title="checkpoint verify: read and prove all data",
        files=bench.files,
        sides=tally.sides(),
        how="beside restic check --read-data on a repository that holds the same tree",
        failures=tally.failures,
    )
