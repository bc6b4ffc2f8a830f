"""What is done while faults strike: a project, and one command after the other in it. The second part is beside it."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

from mulligan.api.project import Project
from mulligan.domain.plans.plan import Phase, State
from mulligan.errors import MulliganError
from tests.faults.scenario_plans import (
    ADDED,
    AGAIN,
    ASKING,
    FAMILY,
    HALF,
    IN_PLACE,
    MAIN,
    SHOWN,
    SMALL,
    STOPPED,
)
from tests.support.homes import home_of

DECISION = "the decision"  # stands for the id that is in the notes
_CORRECT = ("plan", "correct", "--mode", "revert")
_APPEND = ("plan", "correct", "--mode", "append", "--plan", "added.yaml", "--guidance", "more", "--yes")
_MIB = 1 << 20


def notes_in(folder: Path) -> Path:
    """Where steps write down what no rollback takes back."""
    return folder / "notes"


def make_project_folder(folder: Path) -> None:
    """Put the real things and the plan files there."""
    code, data, real, site, kin = (folder / name for name in ("code", "data", "real", "site", "kin"))
    for place in (code / "old", code / "empty", data, real, site, kin, notes_in(folder)):
        place.mkdir(parents=True)
    (code / "gone").write_text("goes")
    (code / "link").symlink_to("gone")
    (code / "tool").write_text("#!/bin/sh\n")
    (code / "old" / "file").write_text("old")
    os.link(code / "old" / "file", code / "other name")
    (data / "large").write_bytes(b"a line of a larger file\n" * (5 * _MIB // 24))  # worth a stat cache
    for name in ("gone", "kept", "other"):
        (real / name).write_text(name)
    os.link(real / "other", real / "other name")
    (kin / "tool").write_text("#!/bin/sh\n")
    (kin / "gone").write_text("goes")
    for name in ("text", "gone"):
        (site / name).write_text(name)
    with closing(sqlite3.connect(site / "rows.db")) as db:
        db.execute("create table t (x)")
    (folder / "main.yaml").write_text(MAIN)
    (folder / "mended.yaml").write_text(MAIN.replace("FIRST", "mended"))
    (folder / "added.yaml").write_text(ADDED)
    (folder / "in-place.yaml").write_text(IN_PLACE)
    (folder / "next.yaml").write_text(IN_PLACE.replace("in-place", "next"))
    (folder / "stopped.yaml").write_text(STOPPED)
    (folder / "half.yaml").write_text(HALF)
    (folder / "again.yaml").write_text(AGAIN)
    (folder / "asking.yaml").write_text(ASKING)
    for name, overlap in (("family", "echo third >> tool"), ("cousins", "echo third > third")):
        text = FAMILY.replace("NAME", name).replace("OVERLAP", overlap)
        (folder / f"{name}.yaml").write_text(text)
    for name in ("killed", "unmade", "dropped"):
        (folder / f"{name}.yaml").write_text(SMALL.replace("NAME", name))
    for name in ("shown", "halfway"):
        (folder / f"{name}.yaml").write_text(SHOWN.replace("NAME", name))


def spelled(word: str, folder: Path) -> str:
    """A word of a command as the program gets it."""
    return (notes_in(folder) / "decision").read_text() if word == DECISION else word


Run = Callable[..., int]  # runs a command to its end; `fault=` lets one strike


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of the scenario."""

    name: str
    words: tuple[str, ...]
    reached: Callable[[Project], bool] | None = None  # None: its exit code 0 tells
    again: tuple[str, ...] = ()  # what goes on with it where it is refused the second time
    prepare: Callable[[Path, Run], object] = lambda _folder, _run: None
    meanwhile: Callable[[Path], AbstractContextManager[None]] = lambda _folder: nullcontext()

    def is_done(self, project: Project, code: int) -> bool:
        """Whether there is nothing left to do."""
        if self.reached is None:
            return code == 0
        try:
            return self.reached(project)
        except MulliganError:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A project and its commands."""

    make: Callable[[Path], None]
    commands: tuple[Command, ...]
    places: tuple[str, ...]  # folders that are compared
    files: tuple[str, ...]  # what is compared by whether it is there


def in_state(name: str, state: State, phase: Phase = Phase.EXECUTE) -> Callable[[Project], bool]:
    """Whether a plan is there."""

    def reached(project: Project) -> bool:
        status = project.status(name)
        return (status.phase, status.state) == (phase, state)

    return reached


def _failed_at_the_gate(project: Project) -> bool:
    error = project.status("main").error
    ran = notes_in(project.folder) / "ran"  # else it failed before the tool was called, by the fault
    return error is not None and error.step == "gate" and "gate" in ran.read_text().split()


def _stands_at_the_milestone(project: Project) -> bool:
    status = project.status("main")
    here = [c.checkpoint_id for c in project.checkpoints.list("main") if c.label == "here"]
    return status.state is State.QUEUED and status.last_checkpoint_id in here


def _stands(project: Project, state: State, *, attempt: int) -> bool:
    status = project.status("main")
    return (status.state, status.attempt) == (state, attempt)


def is_forked(name: str) -> Callable[[Project], bool]:
    """Whether a fork of that name is complete, and the only one."""

    def reached(project: Project) -> bool:
        named = [plan for plan in project.plans() if plan.name == name]
        return len(named) == 1 and project.status(name).last_checkpoint_id is not None

    return reached


def _steps_of(project: Project, name: str) -> int:
    return len(project.status(name).steps)


def _has_run_on(project: Project) -> bool:
    return in_state("half", State.COMPLETE)(project) and _steps_of(project, "half") == 3


def _look_up_the_decision(folder: Path, run: Run) -> None:
    """Note the id of what was picked: only the project knows it."""
    with sqlite3.connect(home_of(folder) / "mulligan.db") as rows:
        picked = rows.execute("SELECT decision_id FROM decisions WHERE superseded = 0 AND type = 'choice'")
        ((decision,),) = picked
    rows.close()
    (notes_in(folder) / "decision").write_text(decision)


def _open_the_gate(folder: Path, run: Run) -> None:
    (notes_in(folder) / "open").touch()


def _leave_things_behind(folder: Path, run: Run) -> None:
    """What killed processes may leave, and a pack that nobody needs."""
    home = home_of(folder)
    (plan_folder, *_) = (home / "sandboxes").iterdir()
    for place in (
        home / "store/rooms/0123",
        plan_folder / "stray",
        home / "scratch" / plan_folder.name / "call",
    ):
        place.mkdir(parents=True)
        (place / "file").write_text("left behind")
    (home / "store" / "caches").mkdir(exist_ok=True)
    (home / "store" / "caches" / "of nothing").write_text("left behind")
    pack = next((home / "store" / "packs").iterdir())
    pack.with_name(f"{'0' * 32}.pack").write_bytes(pack.read_bytes())


def paths_are_back(project: Project) -> bool:
    """Whether the paths are as they were before the plan was applied, and nothing is under way."""
    site = project.folder / "site"
    if (site / "text").read_text() != "text" or (site / "made").exists() or not (site / "gone").exists():
        return False
    with closing(sqlite3.connect(site / "rows.db")) as db:
        rows = db.execute("select count(*) from t").fetchone()
    with closing(sqlite3.connect(project.database)) as db:
        return (rows, db.execute("select count(*) from intents").fetchone()) == ((0,), (0,))


def restore_is(*, undone: bool) -> Callable[[Project], bool]:
    """Whether the restore of paths was undone or not, and nothing is under way."""

    def reached(project: Project) -> bool:
        with closing(sqlite3.connect(project.database)) as db:
            open_ones = db.execute("select count(*) from intents").fetchone()
        (entry,) = (each for each in project.timeline() if each.kind == "restore")
        return open_ones == (0,) and entry.undone is undone

    return reached


def _mend(folder: Path, run: Run) -> None:
    """Bring together what a merge could not."""
    (found,) = [t for t in home_of(folder).glob("sandboxes/*/kin/tool") if "<<<<<<<" in t.read_text()]
    found.write_text("".join(f"{line}\n" for line in found.read_text().splitlines() if line[0] not in "<=>"))


def created(name: str) -> Callable[[Path, Run], object]:
    """A plan that waits."""

    def prepare(folder: Path, run: Run) -> None:
        assert run("plan", "create", f"{name}.yaml") == 0

    return prepare


def _executed(name: str) -> Callable[[Path, Run], object]:
    return lambda _, run: run("plan", "execute", f"{name}.yaml")


def cut_off(name: str, fault: str, *words: str) -> Callable[[Path, Run], object]:
    """A plan whose process died."""

    def prepare(folder: Path, run: Run) -> None:
        run("plan", "create", f"{name}.yaml")
        if words[1] != "execute":
            run("plan", "execute", name)
        assert run(*words, fault=fault) == -9

    return prepare


def _record_a_try(folder: Path, run: Run) -> None:
    """Record a try that has not begun."""
    words = ("try", "-n", "2", "--name", "tried", "--resource", "kin", "--check", "touch junk")
    assert run(*words, "--", "touch", "new", fault="after:plan.create:1:SIGKILL") == -9


def _save_in_the_real_folder(folder: Path, run: Run) -> None:
    """Let someone change a file that no plan touches."""
    (folder / "real" / "mine").write_text("the user's own")


def _after_a_failed_run(folder: Path, run: Run) -> None:
    """Leave a command that failed in place, which the next plan there ends."""
    run("plan", "cancel", "in-place")
    place = ("run", "--in-place", "--resource", "real")
    assert run(*place, "--name", "failed", "--", "sh", "-c", "echo half > half; exit 1") == 1
    run("plan", "create", "next.yaml")


COMMANDS = (
    Command(name="init", words=("init",)),
    Command(
        name="create",
        words=("plan", "create", "main.yaml"),
        reached=lambda project: [p.name for p in project.plans()] == ["main"],
    ),
    Command(name="execute", words=("plan", "execute", "main"), reached=_failed_at_the_gate),
    Command(
        name="checkpoint",
        words=("checkpoint", "create", "main", "--label", "by hand"),
        reached=lambda project: any(c.label == "by hand" for c in project.checkpoints.list("main")),
    ),
    Command(
        name="resume",
        words=("plan", "resume", "--plan", "mended.yaml", "main"),
        reached=in_state("main", State.COMPLETE),
        prepare=_open_the_gate,
    ),
    Command(
        name="rollback",
        words=("plan", "rollback", "--yes", "main", "here"),
        reached=_stands_at_the_milestone,
    ),
    Command(name="go on", words=("plan", "execute", "main"), reached=in_state("main", State.COMPLETE)),
    Command(
        name="correct",
        words=(
            *_CORRECT,
            "--guidance",
            "that instead",
            "--choose",
            "that",
            "--yes",
            "--no-execute",
            DECISION,
        ),
        reached=lambda project: _stands(project, State.QUEUED, attempt=2),
        prepare=_look_up_the_decision,
    ),
    Command(
        name="go on corrected", words=("plan", "execute", "main"), reached=in_state("main", State.COMPLETE)
    ),
    Command(name="bisect", words=("bisect", "main", "--", "test", "-e", "gone")),
    Command(
        name="prune",
        words=("checkpoint", "prune", "main", "--keep", "3"),
        reached=lambda project: len(project.checkpoints.list("main", superseded=True)) == 6,
    ),
    Command(
        name="append",
        words=(*_APPEND, DECISION),
        reached=lambda project: _stands(project, State.COMPLETE, attempt=3),
        prepare=_look_up_the_decision,
    ),
    Command(
        name="fork",
        words=("plan", "fork", "main", "--name", "forked"),
        reached=is_forked("forked"),
    ),
    Command(
        name="try",
        words=("resume", "tried"),
        reached=in_state("tried", State.CONSTRAINED),
        prepare=_record_a_try,
    ),
    Command(
        name="pick",
        words=("try", "pick", "tried.2"),
        reached=in_state("tried", State.COMPLETE),
    ),
    Command(
        name="execute in place",
        words=("plan", "execute", "in-place"),
        reached=in_state("in-place", State.APPLIED, Phase.APPLY),
        prepare=created("in-place"),
    ),
    Command(
        name="undo in place",
        words=("undo", "--yes", "in-place"),
        reached=in_state("in-place", State.QUEUED),
        prepare=_save_in_the_real_folder,
    ),
    Command(
        name="redo in place",
        words=("redo", "--yes"),
        reached=in_state("in-place", State.APPLIED, Phase.APPLY),
    ),
    Command(
        name="roll back in place",
        words=("plan", "rollback", "--yes", "in-place", "first"),
        reached=in_state("in-place", State.QUEUED),
    ),
    Command(
        name="begin after a run that failed",
        words=("plan", "execute", "next"),
        reached=in_state("next", State.APPLIED, Phase.APPLY),
        prepare=_after_a_failed_run,
    ),
    Command(
        name="resume what was killed",
        words=("plan", "resume", "killed"),
        reached=in_state("killed", State.COMPLETE),
        prepare=cut_off("killed", "after:call.run:2:SIGKILL", "plan", "execute", "killed"),
    ),
    Command(
        name="start what was not made",
        words=("plan", "execute", "unmade"),
        reached=in_state("unmade", State.COMPLETE),
        prepare=cut_off("unmade", "after:sandbox.intend:1:SIGKILL", "plan", "execute", "unmade"),
    ),
    Command(
        name="roll back once more",
        words=("plan", "rollback", "--yes", "dropped", "first"),
        reached=in_state("dropped", State.QUEUED),
        prepare=cut_off(
            "dropped", "before:return.ready:1:SIGKILL", "plan", "rollback", "--yes", "dropped", "first"
        ),
    ),
    Command(
        name="apply",
        words=("plan", "apply", "--yes", "shown"),
        reached=in_state("shown", State.APPLIED, Phase.APPLY),
        prepare=_executed("shown"),
    ),
    Command(
        name="take it back",
        words=("plan", "unapply", "--yes", "shown"),
        reached=in_state("shown", State.COMPLETE),
    ),
    Command(
        name="apply once more",
        words=("plan", "apply", "--yes", "halfway"),
        reached=in_state("halfway", State.APPLIED, Phase.APPLY),
        prepare=cut_off("halfway", "after:apply.ready:1:SIGKILL", "plan", "apply", "--yes", "halfway"),
    ),
    Command(
        name="restore paths",
        words=(
            *("restore", "--yes", "--delete", "halfway@1"),
            *("site/text", "site/gone", "site/made", "site/rows.db"),
        ),
        reached=paths_are_back,
    ),
    Command(name="undo a restore", words=("undo", "--yes"), reached=restore_is(undone=True)),
    Command(name="redo a restore", words=("redo", "--yes"), reached=restore_is(undone=False)),
    Command(
        name="apply again",
        words=("plan", "apply", "--yes", "shown"),
        reached=in_state("shown", State.APPLIED, Phase.APPLY),
    ),
    Command(
        name="be stopped",
        words=("plan", "execute", "stopped"),
        reached=in_state("stopped", State.COMPLETE),
        prepare=created("stopped"),
    ),
    Command(
        name="accept",
        words=("plan", "accept", "half"),
        reached=in_state("half", State.COMPLETE),
        prepare=_executed("half"),
    ),
    Command(
        name="run on",
        words=("run", "--on", "half", "--", "sh", "-c", 'echo half.more >> "$PLACE/ran"; echo more > more'),
        reached=_has_run_on,
        again=("plan", "resume", "half"),
    ),
    Command(
        name="keep what fails",
        words=("run", "--on", "half", "--keep", "--", "sh", "-c", "echo most > most; exit 3"),
        reached=lambda project: in_state("half", State.COMPLETE)(project) and _steps_of(project, "half") == 4,
        again=("plan", "resume", "half"),
    ),
    Command(
        name="ask",
        words=("plan", "execute", "asking"),
        reached=in_state("asking", State.CONSTRAINED),
        prepare=created("asking"),
    ),
    Command(
        name="answer",
        words=("plan", "answer", "asking", "that"),
        reached=in_state("asking", State.COMPLETE),
        again=("plan", "resume", "asking"),
    ),
    Command(
        name="execute a family",
        words=("plan", "execute", "family"),
        reached=in_state("family", State.CONSTRAINED),
        prepare=created("family"),
    ),
    Command(
        name="resolve",
        words=("plan", "resolve", "family"),
        reached=in_state("family", State.QUEUED),
        prepare=_mend,
    ),
    Command(name="resume it", words=("plan", "resume", "family"), reached=in_state("family", State.COMPLETE)),
    Command(
        name="resume a killed family",
        words=("plan", "resume", "cousins"),
        reached=in_state("cousins", State.COMPLETE),
        prepare=cut_off("cousins", "after:call.run:2:SIGKILL", "plan", "execute", "cousins"),
    ),
    Command(
        name="roll back a family",
        words=("plan", "rollback", "--yes", "family", "first"),
        reached=in_state("family", State.QUEUED),
    ),
    Command(
        name="remove a plan",
        words=("rm", "--yes", "family"),
        reached=lambda project: all(plan.name != "family" for plan in project.plans()),
    ),
    Command(name="forget paths", words=("forget", "--yes", "code/tool", "site/text")),
    Command(name="configure", words=("config", "set", "plan.max-parallel", "3")),
    Command(name="gc", words=("gc",), prepare=_leave_things_behind),
    Command(name="cancel", words=("plan", "cancel", "main"), reached=in_state("main", State.CANCELLED)),
    Command(
        name="adopt",
        words=("plan", "execute", "again"),
        reached=in_state("again", State.COMPLETE),
        prepare=created("again"),
    ),
)
SCENARIO = Scenario(
    make=make_project_folder, commands=COMMANDS, places=("code", "data", "real", "site", "kin"), files=()
)
