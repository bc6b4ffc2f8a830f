"""A rollback, as a command and inside a session, beside what a user of git would type."""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import mulligan
from benchmarks.compare.contest import FifteenPaths, copy_tree
from benchmarks.compare.processes import CommandFailed, run
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import ONE_STEP, Bench, Tally, commit_all, make_project, serving
from benchmarks.trees import Repository, make_repository


def rollback(bench: Bench) -> Work:
    """`plan rollback --yes` of fifteen paths beside `git reset --hard` and `git clean -fd`."""
    tally = Tally()
    project, checkout = bench.place / "project", bench.place / "checkout"
    with tally.part("rollback"):
        project.mkdir()
        repository = make_repository(project, bench.files, ignored=False)
        copy_tree(project, checkout, bench.budget)
        commit_all(bench, checkout)
        make_project(project, ONE_STEP)
        bench.mulligan(project, "plan", "execute", "plan.yaml")
        found = bench.mulligan_data(project, "plan", "status")
        sandbox, plan = bench.place / found["sandboxes"][0]["path"], found["plan_id"]
        for side in ("mulligan", "mulligan, server running"):
            with serving(bench, project) if side != "mulligan" else nullcontext():
                for _ in range(bench.repeats):
                    paths = FifteenPaths(sandbox, repository.sources)
                    paths.make()
                    bench.disk.settle()
                    done = bench.mulligan(project, "plan", "rollback", "--yes", plan, "first")
                    tally.add(side, done.seconds)
                    _expect_restored(paths, "mulligan plan rollback")
                    tally.add("git", _reset(bench, checkout, repository))
    return Work(
        key="rollback",
        title="plan rollback --yes of 15 paths as a process",
        files=bench.files,
        sides=tally.sides(),
        how="with the local server and without it, in turns with git reset --hard, git clean -fd in a checkout of the"
        " same tree, nothing in it ignored",
        failures=tally.failures,
    )


def _reset(bench: Bench, checkout: Path, repository: Repository) -> float:
    """Change fifteen paths of a checkout; return the seconds that git needs to bring them back."""
    paths = FifteenPaths(checkout, repository.sources)
    paths.make()
    bench.disk.settle()
    seconds = run(["git", "reset", "--quiet", "--hard"], bench.budget, cwd=checkout).seconds
    seconds += run(["git", "clean", "--quiet", "-fd"], bench.budget, cwd=checkout).seconds
    _expect_restored(paths, "git reset, git clean")
    return seconds


def session_rollback(bench: Bench) -> Work:
    """`Session.rollback` of fifteen paths beside `git read-tree -u --reset` and `git clean`."""
    tally = Tally()
    with tally.part("session rollback"):
        _run(bench, tally)
    return Work(
        key="session-rollback",
        title="rollback of 15 paths inside a session",
        files=bench.files,
        sides=tally.sides(),
        how="Session.rollback, seen from the program, in turns with git read-tree -u --reset HEAD, git clean -fd in a"
        " checkout of the same tree, nothing in it ignored",
        failures=tally.failures,
    )


def _run(bench: Bench, tally: Tally) -> None:
    project, checkout = bench.place / "project", bench.place / "checkout"
    project.mkdir()
    repository = make_repository(project, bench.files, ignored=False)
    copy_tree(project, checkout, bench.budget)
    commit_all(bench, checkout)
    with _homes(bench), mulligan.init(project).session("bench") as session:
        session.checkpoint("start")
        for _ in range(bench.repeats):
            paths = FifteenPaths(session.path(), repository.sources)
            paths.make()
            bench.disk.settle()
            began = time.perf_counter()
            session.rollback("start")
            tally.add("mulligan", time.perf_counter() - began)
            _expect_restored(paths, "Session.rollback")
            paths = FifteenPaths(checkout, repository.sources)
            paths.make()
            bench.disk.settle()
            seconds = run(["git", "read-tree", "-u", "--reset", "HEAD"], bench.budget, cwd=checkout).seconds
            seconds += run(["git", "clean", "--quiet", "-fd"], bench.budget, cwd=checkout).seconds
            tally.add("git", seconds)
            _expect_restored(paths, "git read-tree, git clean")


@contextmanager
def _homes(bench: Bench) -> Generator[None]:
    """Have the homes of projects where the bench has them."""
    before = os.environ.get("MULLIGAN_HOME")
    os.environ["MULLIGAN_HOME"] = str(bench.homes)
    try:
        yield
    finally:
        del os.environ["MULLIGAN_HOME"]
        if before is not None:
            os.environ["MULLIGAN_HOME"] = before


def _expect_restored(paths: FifteenPaths, command: str) -> None:
    wrong = paths.left_wrong()
    if wrong:
        raise CommandFailed(command, f"not as before: {wrong}")
