"""The time until the first step of a plan is done."""

import shutil

from benchmarks.compare.contest import copy_tree
from benchmarks.compare.processes import run
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import GIT, ONE_STEP, Bench, Tally, make_project
from benchmarks.trees import make_repository

_BYTES_PER_FILE = 20_000


def first_step(bench: Bench) -> Work:
    """`plan execute` of one small step beside a copy that is committed to git."""
    tally = Tally()
    original, project, copy = (bench.place / name for name in ("original", "project", "copy"))
    with tally.part("first step"):
        original.mkdir()
        make_repository(original, bench.files, ignored=False, size_bytes=bench.files * _BYTES_PER_FILE)
        make_project(original, ONE_STEP)
        for _ in range(3):
            copy_tree(original, project, bench.budget)
            bench.disk.settle()
            tally.add("mulligan", bench.mulligan(project, "plan", "execute", "plan.yaml").seconds)
            shutil.rmtree(project)
            bench.clear_homes()
            bench.disk.settle()
            seconds = run(["cp", "-a", "--reflink=auto", str(original), str(copy)], bench.budget).seconds
            for command in (["init", "--quiet"], ["add", "-A"], ["commit", "--quiet", "-m", "start"]):
                seconds += run([*GIT, *command], bench.budget, cwd=copy).seconds
            tally.add("cp and git", seconds)
            shutil.rmtree(copy)
    return Work(
        key="first-step",
        title="time to the end of the first step",
        files=bench.files,
        sides=tally.sides(),
        how="plan execute of one write_file step, in turns with cp -a, git init, git add -A, git commit; "
        f"{_BYTES_PER_FILE} bytes a file on average, nothing ignored",
        failures=tally.failures,
    )
