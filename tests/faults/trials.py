"""Trials: a command of the scenario struck by a fault, run again in new processes, and compared with its peer.

An undisturbed run is made once for each folder. The project is kept as it was before each of its
commands, so that a trial starts there; it stands at one path always, because sandboxes are recorded by theirs.
"""

import json
import os
import pickle
import shutil
import sqlite3
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from mulligan.api.project import Project
from mulligan.application.queries.checkpoint_queries import CheckpointView
from mulligan.domain.plans.plan import State
from mulligan.domain.plans.step import StepStatus
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.errors import ProjectNotFound
from mulligan.wiring.services import Services
from tests.faults.processes import processes_with
from tests.faults.projects import Watching, nothing, services_of
from tests.faults.scenario import Command, Scenario, notes_in, spelled
from tests.support.forked_program import run_program
from tests.support.git_world import GIT_ENVIRONMENT, run_git
from tests.support.homes import home_of, homes_beside, homes_for
from tests.support.keeping import keep, put_back
from tests.support.snapshot_world import picture

GIT_USER = {
    **{name: value for name, value in GIT_ENVIRONMENT.items() if name.startswith("GIT_")},
    "GIT_AUTHOR_DATE": "2026-01-02T00:00:00Z",  # equal commits have equal names
    "GIT_COMMITTER_DATE": "2026-01-02T00:00:00Z",
}
_WELL = (State.COMPLETE, State.CONSTRAINED)
_REFUSED = (3, 125)  # 125 by `run`
ATTEMPTS = 3  # more deaths or refusals at the same place are no progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What strikes, as the program reads it."""

    command: str
    when: str
    act: str
    number: int
    how: str

    def __str__(self) -> str:
        return f"{self.when}:{self.act}:{self.number}:{self.how}"


class NeverFired(AssertionError):
    """The command did not come to the boundary as often as that."""


class Trials:
    """An undisturbed run of a scenario, and trials against it."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self._scenario = scenario
        self._folder = folder / "project"
        self._kept = folder / "kept"
        self._log = folder / "passed"
        self._remembered = folder / "undisturbed"
        self._ends: dict[str, Any] = {}
        self._said = ""  # by the last command

    @cached_property
    def passed(self) -> dict[str, Counter[tuple[str, str]]]:
        """How often each command of the undisturbed run passed each boundary, in its first process."""
        if self._remembered.exists():
            passed, self._ends = pickle.loads(self._remembered.read_bytes())
            return passed
        passed, self._ends = {}, {}
        self._folder.mkdir()
        self._kept.mkdir()
        homes_beside(self._folder).mkdir(mode=0o700)
        self._scenario.make(self._folder)
        for command in self._scenario.commands:
            command.prepare(self._folder, self.run)
            self._keep(command.name)
            self._log.unlink(missing_ok=True)
            with command.meanwhile(self._folder):
                code = self.run(*command.words)
            passed[command.name] = Counter(
                (when, act) for when, act in map(str.split, self._log.read_text().splitlines())
            )
            self._complete_command(command, code)
            self._keep("after")
            self._ends[command.name] = self._end()
            self._put_back("after")
        self._remembered.write_bytes(pickle.dumps((passed, self._ends)))
        return passed

    def strike(self, fault: Fault) -> None:
        """Let the fault strike, go on as users are told to, and compare the end with the undisturbed one."""
        assert self.passed
        command = next(c for c in self._scenario.commands if c.name == fault.command)
        self._put_back(command.name)
        self._log.unlink(missing_ok=True)
        with command.meanwhile(self._folder):
            code = self.run(*command.words, fault=str(fault))
        if f"fault {fault.act}" not in self._log.read_text().splitlines():
            raise NeverFired("the fault never fired")
        assert (code == -9) == (fault.how == "SIGKILL"), f"exit code {code}"
        complete, ran = self._complete(), self._ran()
        self._complete_command(command, code)
        if command.words[1:2] != ("rollback",):
            assert {s: self._ran()[s] for s in complete} == {s: ran[s] for s in complete}, "a step ran twice"
        end, wanted = self._end(), self._ends[command.name]
        assert end == wanted, _difference(end, wanted)

    def _complete_command(self, command: Command, code: int) -> None:
        """Run a command again until it has done what it is for."""
        for _ in range(ATTEMPTS):
            if self._is_done(command, code):
                return
            code = self.run(*command.words)
            if code in _REFUSED and command.again:
                code = self.run(*command.again)
        raise AssertionError(f"no progress: exit code {code} of `{' '.join(command.words)}`: {self._said}")

    def run(self, *words: str, fault: str = "") -> int:
        """Run a command to its end; whatever it says, it is an answer and no trace of ours."""
        given_words = [spelled(word, self._folder) for word in words]
        given = {"MULLIGAN_FAULT": fault} if fault else {}
        environment = {
            **os.environ,
            **given,
            "MULLIGAN_FAULT_LOG": str(self._log),
            "MULLIGAN_HOME": homes_for(self._folder),
            **GIT_USER,
            "PLACE": str(notes_in(self._folder)),
            "MULLIGAN_SANDBOX_WRITABLE": str(notes_in(self._folder)),
        }
        done = run_program(["--format", "json", *given_words], folder=self._folder, environment=environment)
        self._said = done.stdout[-1000:].decode()
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        assert fault or done.returncode >= 0, f"{words} ended with {done.returncode}: {done.stderr.decode()}"
        if done.returncode > 0:
            print(*words, done.returncode, self._said)  # shown if the test fails
            error = json.loads(done.stdout).get("error")  # absent: a program ended so
            assert error is None or (error["kind"] != "internal_error" and error["hint"]), done.stdout
        return done.returncode

    @contextmanager
    def _opened(self) -> Generator[tuple[Project, Services]]:
        """The project as it is now, until its files are put back."""
        services = services_of(self._folder)
        try:
            yield Project(services=services, observer=Watching(nothing)), services
        finally:
            services.adapters.database.close()

    def _is_done(self, command: Command, code: int) -> bool:
        try:
            with self._opened() as (project, _):
                return command.is_done(project, code)
        except ProjectNotFound:  # killed before there was one
            return False

    def _keep(self, name: str) -> None:
        keep(self._folder, self._kept / name)

    def _put_back(self, name: str) -> None:
        put_back(self._kept / name, self._folder)

    def _ran(self) -> Counter[str]:
        file = notes_in(self._folder) / "ran"
        return Counter(file.read_text().split()) if file.exists() else Counter()

    def _complete(self) -> list[str]:
        """The steps that are recorded as done."""
        if not home_of(self._folder).is_dir():
            return []
        with self._opened() as (project, _):
            plans = [project.status(line.plan_id) for line in project.plans()]
        return [
            step.name if plan.name == "main" else f"{plan.name}.{step.name}"
            for plan in plans
            for step in plan.steps
            if step.status is StepStatus.DONE
        ]

    def _end(self) -> dict[str, Any]:
        """All that a user can tell one end from another by; asserts that nothing is hurt or left behind."""
        with self._opened() as (project, services):
            end: dict[str, Any] = {}
            home = str(project.home)  # each run makes another one
            end["settings"] = [(e.key, str(e.value).replace(home, "HOME")) for e in project.config.list()]
            names = {os.fsencode(line.plan_id): os.fsencode(line.name) for line in project.plans()}
            for line in project.plans():
                end[line.name] = _end_of_plan(project, line.plan_id)
                with services.adapters.database.reading() as db:
                    assert db.intents.list(line.plan_id) == [], "something is unfinished"
                    calls = [c for c in db.tool_calls.list(line.plan_id) if not c.superseded]
                    end[line.name, "decisions"] = [
                        d.content() for d in db.decisions.list(line.plan_id) if not d.superseded
                    ]
                self._check_commits(project, line.plan_id)
                end[line.name, "calls"] = [(c.step_name, c.tool, c.status, c.output) for c in calls]
            end["restored"] = self._restored(project)
            assert not project.checkpoints.verify().damaged
            project.gc()
            project.gc()  # of what stood in two packs the second goes once the first was proved
            again = project.gc(dry_run=True)
            assert (again.objects_removed, again.packs_removed, again.bytes_freed) == (0, 0, 0)
            assert not again.sandboxes_removed
        end |= {
            name: _named(picture_without_times(self._folder / name), names) for name in self._scenario.places
        }
        end |= {name: (self._folder / name).exists() for name in self._scenario.files}
        home = home_of(self._folder)
        left = [*home.glob("store/rooms/*"), *home.glob("sandboxes/.removed-*"), *home.glob("scratch/*/*")]
        assert left == []
        assert processes_with("PLACE", str(notes_in(self._folder))) == []
        return end

    def _check_commits(self, project: Project, plan_id: str) -> None:
        """Every checkpoint of a checkout is a commit with all that it needs."""
        bare = {s.resource: Path(s.git_dir) for s in project.status(plan_id).sandboxes if s.git_dir}
        for checkpoint in project.checkpoints.list(plan_id, superseded=True):
            if checkpoint.resource in bare:
                there = bare[checkpoint.resource]
                named = run_git(there, "rev-parse", f"refs/checkpoints/{checkpoint.checkpoint_id}").strip()
                assert named == checkpoint.sandbox_ref
        for there in bare.values():
            run_git(there, "rev-list", "--objects", "--all", "--quiet")

    def _restored(self, project: Project) -> list[object]:
        """What the newest checkpoint of the newest plan gives, if there is one."""
        target = self._folder.with_name("restored")
        plans = project.plans()
        if not plans or project.status(plans[-1].plan_id).last_checkpoint_id is None:
            return []
        group = project.checkpoints.list(plans[-1].plan_id)[-1].group_id
        project.checkpoints.restore(group, target)
        found: list[object] = [picture_without_times(target)]
        shutil.rmtree(target)
        return found


def _end_of_plan(project: Project, plan_id: str) -> dict[str, Any]:
    status = project.status(plan_id)
    repositories = [Path(s.git_dir) for s in status.sandboxes if s.git_dir]
    groups = [
        (c.checkpoint_type, c.label, c.step_index, _identity(c, repositories), c.resource)
        for c in project.checkpoints.list(plan_id)
        # What a step left that failed once is superseded when a later death is gone back from.
        if not (status.state in _WELL and c.checkpoint_type is CheckpointType.ON_ERROR)
    ]
    return {
        "state": (status.phase, status.state, status.attempt),
        "steps": [(step.name, step.status) for step in status.steps],
        # What was taken again after a death stands beside what was taken before it, and is the same.
        "groups": [group for group, _ in groupby(sorted(groups, key=str))],
        "sandboxes": {s.resource: picture_without_times(Path(s.path)) for s in status.sandboxes},
    }


def _difference(end: object, wanted: object, place: str = "end") -> str:
    """Where two ends differ, in few words."""
    if not isinstance(end, dict) or not isinstance(wanted, dict):
        return "" if end == wanted else f"{place}: {str(end)[:500]} instead of {str(wanted)[:500]}; "
    one, other = cast("dict[object, object]", end), cast("dict[object, object]", wanted)
    keys = {*one, *other}
    return "".join(_difference(one.get(key), other.get(key), f"{place}.{key!r}") for key in keys)


def _identity(checkpoint: CheckpointView, repositories: list[Path]) -> str:
    """Return what identifies a checkpoint; a git directory holds times and inodes, so there it is the tree."""
    if not repositories:
        return checkpoint.state_hash
    trees = [
        run_git(each, "rev-parse", "-q", f"{checkpoint.sandbox_ref}^{{tree}}", check=False)
        for each in repositories
    ]
    return "".join(trees)


def picture_without_times(path: Path) -> dict[bytes, tuple[object, ...]]:
    """Everything about a folder but when it was written; of a git directory what it says, and what lies about."""
    if path.is_file():
        return {b".": _rows(path)}
    found = {
        name: (*what[:2], _brief(what[2]), *what[4:]) for name, what in picture(path).items() if _tells(name)
    }
    # A database counts how often it was written: what it holds is what is compared.
    return {n: _rows(path / os.fsdecode(n)) if n.endswith(b".db") else what for n, what in found.items()}


def _named(
    picture: Mapping[bytes, tuple[object, ...]], names: Mapping[bytes, bytes]
) -> dict[bytes, tuple[object, ...]]:
    """Return a picture in which pins have the name of their plan instead of its id, which is another each time."""

    def called(text: bytes) -> bytes:
        for plan_id, name in names.items():
            text = text.replace(plan_id, name)
        return text

    return {
        called(path): tuple(called(each) if isinstance(each, bytes) else each for each in what)
        for path, what in picture.items()
    }


def _brief(content: object) -> object:
    """Return the digest of a long content: the ends of all commands are kept."""
    return sha256(content).hexdigest() if isinstance(content, bytes) and len(content) > 100 else content


def _rows(database: Path) -> tuple[object, ...]:
    with closing(sqlite3.connect(database)) as connection:
        return tuple(connection.iterdump())


def _tells(name: bytes) -> bool:
    inside = name.partition(b"/.git/")[2]
    return (
        not inside
        or inside == b"HEAD"
        or inside.endswith((b".lock", b".mulligan"))
        or inside.startswith(b"refs/")
    )
