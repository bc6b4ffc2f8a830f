"""A rollback as a command, beside what a user of git would type."""

from benchmarks.compare.contest import FifteenPaths, copy_tree
from benchmarks.compare.processes import CommandFailed, run
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import GIT, ONE_STEP, Bench, Tally, make_project
from benchmarks.trees import make_repository


def rollback(bench: Bench) -> Work:
    """`plan rollback --yes` of fifteen paths beside `git reset --hard` and `git clean -fd`."""
    tally = Tally()
    project, checkout = bench.place / "project", bench.place / "checkout"
    with tally.part("rollback"):
        project.mkdir()
        repository = make_repository(project, bench.files, ignored=False)
        copy_tree(project, checkout, bench.budget)
        for command in (["init", "--quiet"], ["add", "-A"], ["commit", "--quiet", "-m", "start"]):
            run([*GIT, *command], bench.budget, cwd=checkout)
        make_project(project, ONE_STEP)
        bench.mulligan(project, "plan", "execute", "plan.yaml")
        found = bench.mulligan_data(project, "plan", "status")
        sandbox, plan = bench.place / found["sandboxes"][0]["path"], found["plan_id"]
        for _ in range(bench.repeats):
            paths = FifteenPaths(sandbox, repository.sources)
            paths.make()
            bench.disk.settle()
            tally.add("mulligan", bench.mulligan(project, "plan", "rollback", "--yes", plan, "first").seconds)
            _expect_restored(paths, "mulligan plan rollback")
            paths = FifteenPaths(checkout, repository.sources)
            paths.make()
            bench.disk.settle()
            seconds = run(["git", "reset", "--quiet", "--hard"], bench.budget, cwd=checkout).seconds
            seconds += run(["git", "clean", "--quiet", "-fd"], bench.budget, cwd=checkout).seconds
            tally.add("git", seconds)
            _expect_restored(paths, "git reset, git clean")
    return Work(
        key="rollback",
        title="plan rollback --yes of 15 paths as a process",
        files=bench.files,
        sides=tally.sides(),
        how="in turns with git reset --hard, git clean -fd in a checkout of the same tree, nothing in it ignored",
        failures=tally.failures,
    )


def _expect_restored(paths: FifteenPaths, command: str) -> None:
    wrong = paths.left_wrong()
    if wrong:
        raise CommandFailed(command, f"not as before: {wrong}")
