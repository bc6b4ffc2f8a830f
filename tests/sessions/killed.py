"""Kills a program in a session and starts it again: `python -m tests.sessions.killed FOLDER [FAULT|MOMENT]...`.

Without any, at every boundary that it passes. Each trial is two forks of this process: one dies, the other goes on.
What a user would see afterwards is checked here; a line for each trial goes to stdout.
"""

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import mulligan

STEPS = ("one", "two", "three")
MOMENTS = ("inside one", "after one", "inside two", "after two", "inside three")


def program(folder: Path, moment: str = "") -> None:
    """An agent's loop that can be started again at any time; `moment` is where it dies by itself."""
    project = mulligan.open(folder)
    unfinished = [p.plan_id for p in project.plans() if (p.phase, p.state) != ("execute", "complete")]
    if project.plans() and not unfinished:
        return
    resources = {"app": mulligan.directory("app")}
    session = (
        project.session(resume=unfinished[0]) if unfinished else project.session("work", resources=resources)
    )
    with session:
        for name in STEPS:
            if not session.done(name):
                work(folder, session, name, moment)
            die(moment, f"after {name}")
            if name == "two" and not (folder / "rolled back").exists():
                session.checkpoint("mark")
                (folder / "rolled back").touch()
                session.rollback("first")
                for again in STEPS:
                    work(folder, session, again, moment)
                break


def work(folder: Path, session: mulligan.Session, name: str, moment: str) -> None:
    """One step, which fails the first time where it is the second."""
    try:
        with session.step(name):
            note(folder, f"begun {name}")
            (session.path() / name).write_text(name)
            session.state[name] = True
            session.record_decision("Go on?", chosen=name)
            die(moment, f"inside {name}")
            if name == "two" and not (folder / "failed").exists():
                (folder / "failed").touch()
                raise ValueError(name)
        note(folder, f"left {name}")
    except ValueError:
        note(folder, "failed two")
        work(folder, session, name, moment)


def note(folder: Path, line: str) -> None:
    """Remember outside of all sandboxes what was done."""
    with (folder / "notes").open("a") as file:
        file.write(line + "\n")


def die(moment: str, here: str) -> None:
    """End as by `kill -9`, where this is the moment."""
    if moment == here:
        os.kill(os.getpid(), signal.SIGKILL)


def in_a_fork(work: Callable[[], None]) -> int:
    """How a copy of this process ended that did this."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - told, and the status says so
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def make(folder: Path) -> None:
    """A project with something to work on."""
    (folder / "app").mkdir(parents=True)
    (folder / "app" / "old").write_text("old")
    mulligan.init(folder).close()


def trial(folder: Path, where: str) -> str:
    """Die at a boundary or moment, go on, and say what is wrong then."""
    make(folder)
    if where not in MOMENTS:
        os.environ["MULLIGAN_FAULT"] = where
    died = in_a_fork(lambda: program(folder, where))
    os.environ.pop("MULLIGAN_FAULT", None)
    if died != -signal.SIGKILL:
        return f"it did not die: {died}"
    before = notes(folder)
    went_back = (folder / "rolled back").exists()
    if in_a_fork(lambda: program(folder)):
        return "it could not go on"
    lost = () if went_back else [n for n in STEPS if f"left {n}" in before and done_again(folder, before, n)]
    if lost:
        return f"done again: {lost}"
    return "it ended wrongly" if in_a_fork(lambda: check(folder)) else "ok"


def notes(folder: Path) -> list[str]:
    """What was done so far."""
    return (folder / "notes").read_text().splitlines() if (folder / "notes").exists() else []


def done_again(folder: Path, before: list[str], name: str) -> bool:
    """Whether a step was done again that was over; once it is, because the program goes back."""
    return notes(folder)[len(before) :].count(f"begun {name}") > 1


def check(folder: Path) -> None:
    """All is as if nothing had happened."""
    project = mulligan.open(folder)
    (line,) = project.plans()
    status = project.status(line.plan_id)
    assert (status.phase, status.state) == ("execute", "complete"), status
    assert [(s.name, s.status) for s in status.steps] == [(name, "done") for name in STEPS], status.steps
    files = {path.name: path.read_text() for path in Path(status.sandboxes[0].path).iterdir()}
    assert files == {"old": "old", **{name: name for name in STEPS}}, files
    assert not project.checkpoints.verify().damaged


def passings(folder: Path) -> list[str]:
    """Every boundary that the program passes, as faults: the first few passings of each."""
    make(folder)
    os.environ["MULLIGAN_FAULT_LOG"] = str(folder / "log")
    assert in_a_fork(lambda: program(folder)) == 0
    del os.environ["MULLIGAN_FAULT_LOG"]
    passed = (folder / "log").read_text().splitlines()
    acts = dict.fromkeys(line.split()[1] for line in passed)
    first = [f"{when}:{act}:1:SIGKILL" for act in acts for when in ("before", "after")]
    return first + [f"after:group.record:{n + 1}:SIGKILL" for n in range(passed.count("after group.record"))]


def main() -> int:
    """Try them all; the exit status is how many went wrong."""
    home = Path(sys.argv[1])
    make(home / "warm")
    program(home / "warm")  # what is loaded here the forks need not load
    gc.collect()
    wrong = 0
    for number, where in enumerate(sys.argv[2:] or [*passings(home / "0"), *MOMENTS], start=1):
        told = trial(home / str(number), where)
        wrong += told != "ok"
        print(f"{where}: {told}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
