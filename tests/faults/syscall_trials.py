"""Trials: a command of which one system call fails or is the last, looked at as it stands, and run again.

Each state is made once; trials begin from copies of it, at the one path that its sandboxes are recorded by.
"""

import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from mulligan.api.project import Project
from mulligan.domain.plans.plan import State
from mulligan.errors import MulliganError
from mulligan.wiring.services import Services
from tests.faults.projects import Watching, nothing, services_of
from tests.faults.syscall_shim import Control, Hit
from tests.faults.syscall_world import COMMANDS, Command, left_in, make_project_folder, seen_in
from tests.faults.trials import GIT_USER, picture_without_times
from tests.support.homes import homes_beside, homes_for
from tests.support.keeping import keep, put_back
from tests.support.patience import PATIENCE

_ATTEMPTS = 3  # more refusals are no progress
_BY_NAME = {command.name: command for command in COMMANDS}
_UNFINISHED = (
    "restore_incomplete",
)  # says that something is between two states, and which command finishes it
_KILLED = -9
_PATH = re.compile(r"[\s\"']/[^/\s]")  # from the root: not "Input/output error"


class NeverFired(AssertionError):
    """The command made fewer system calls than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Which system call of a command is struck, and how."""

    command: str
    number: int
    how: str

    def __str__(self) -> str:
        return f"{self.command}: {self.number} {self.how}"


@dataclass(slots=True)
class Found:
    """What came of a fault; `wrong` is what a user is promised otherwise."""

    outcome: str = ""
    hit: Hit | None = None
    message: str = ""
    wrong: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class _Undisturbed:
    """A command that nothing struck: its calls, what users see before and after it, and its end."""

    calls: list[str]
    before: dict[str, object]
    after: dict[str, object]
    end: dict[str, object]


class Trials:
    """Commands that were run undisturbed once, and trials against them."""

    def __init__(self, folder: Path) -> None:
        """Work in this folder; what is there of earlier trials is used again."""
        self._folder = folder / "project"
        self._kept = folder / "kept"
        self._remembered = folder / "undisturbed"
        self._control = Control(folder)

    @cached_property
    def undisturbed(self) -> dict[str, _Undisturbed]:
        """Every command, run once."""
        if self._remembered.exists():
            return pickle.loads(self._remembered.read_bytes())
        self._folder.mkdir()
        self._kept.mkdir()
        homes_beside(self._folder).mkdir(mode=0o700)
        make_project_folder(self._folder)
        for words in (("init",), ("plan", "create", "plan.yaml"), ("plan", "create", "place.yaml")):
            assert self._run(words).returncode == 0
        self._keep("created")
        found: dict[str, _Undisturbed] = {}
        for command in COMMANDS:
            self._put_back(command.begin)
            command.prepare(self._folder)
            before = seen_in(self._folder)
            self._keep(command.name)
            self._control.arm(0, "")
            done = self._run(command.words, self._control.environment({}, listed=True))
            assert done.returncode == 0, done.stdout
            after = seen_in(self._folder)
            if command.end is not None:
                self._keep(command.end)
            found[command.name] = _Undisturbed(
                calls=self._control.calls(), before=before, after=after, end=self._end()
            )
        self._remembered.write_bytes(pickle.dumps(found))
        return found

    def strike(self, fault: Fault) -> Found:
        """Let a fault strike; look at what users have then, go on as they are told to, and compare the end."""
        whole, command = self.undisturbed[fault.command], _BY_NAME[fault.command]
        self._put_back(command.name)
        self._control.arm(fault.number, fault.how)
        done = self._run(command.words, self._control.environment({}, listed=False))
        found = Found(hit=self._control.hit())
        if found.hit is None:
            raise NeverFired(f"{fault}: the fault never fired")
        if done.returncode == _KILLED:
            found.outcome = "killed"
        else:
            found.outcome = "failed" if done.returncode else "done all the same"
            self._look_at_rest(command, whole, done, found)
        self._go_on(command, done.returncode, found)
        if not found.wrong or found.wrong[-1][:2] != "no":
            self._compare(whole, found)
        return found

    def _look_at_rest(
        self, command: Command, whole: _Undisturbed, done: "subprocess.CompletedProcess[str]", found: Found
    ) -> None:
        """Look at what a command that failed, and said so, left."""
        error: dict[str, Any] = {}
        if "Traceback" in done.stderr:
            found.wrong.append(f"a trace: {done.stderr[-1500:]}")
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            found.wrong.append(f"not an answer: {done.stdout[-500:]!r} {done.stderr[-500:]!r}")
        else:
            error = answer.get("error") or {}
        if error:
            found.message = f"{error['kind']}: {error['message']}"
            if error["kind"] == "internal_error":
                found.wrong.append(f"a mistake of its own: {error['message']}")
            if not error["hint"]:
                found.wrong.append(f"an error without a next step: {error['message']}")
            if not self._names_a_path(error, done, found):
                found.wrong.append(f"a message without a path: {error['message']}")
        if not command.all_or_none:
            return
        seen = seen_in(self._folder)
        names = [name for name in seen if whole.before[name] != whole.after[name]]
        old = [name for name in names if seen[name] == whole.before[name]]
        new = [name for name in names if seen[name] == whole.after[name]]
        same = [name for name in seen if name not in names]
        odd = [name for name in same if seen[name] != whole.before[name]]
        if odd or (len(old) != len(names) and len(new) != len(names)):
            between = sorted({*names, *odd} - {*old, *new})
            state = f"half a state: before {old}, after {new}, between {between}"
            if error.get("kind") in _UNFINISHED or self._says_so(command):
                found.outcome = "unfinished, and said so"
            else:
                found.wrong.append(f"{state}; {found.message}")

    @staticmethod
    def _names_a_path(error: dict[str, Any], done: "subprocess.CompletedProcess[str]", found: Found) -> bool:
        """Return whether an error names a path, unless it is that of a process that was killed."""
        assert found.hit is not None
        if found.hit.call == "send" or "was killed" in error["message"]:
            return True
        return _PATH.search(json.dumps({**error, "hint": ""})) is not None or '"findings"' in done.stdout

    def _says_so(self, command: Command) -> bool:
        """Return whether the plan's status says that something is unfinished, and which command finishes it."""
        plan = "place" if "place" in command.name else "plan"
        error = json.loads(self._run(("plan", "status", plan)).stdout)["data"]["error"]
        return error is not None and "`mulligan plan " in error["hint"]

    def _go_on(self, command: Command, code: int, found: Found) -> None:
        """Run the command again until it has done what it is for."""
        for _ in range(_ATTEMPTS):
            if self._is_done(command, code):
                return
            done = self._run(command.again or command.words)
            code = done.returncode
            if "Traceback" in done.stderr:
                found.wrong.append(f"a trace, when run again: {done.stderr[-1500:]}")
            if code:
                found.message += f" / again: {json.loads(done.stdout)['error']['message']}"
        if not self._is_done(command, code):
            found.wrong.append(f"no progress: {found.message}")

    def _compare(self, whole: _Undisturbed, found: Found) -> None:
        seen = seen_in(self._folder)
        for name, value in seen.items():
            if value != whole.after[name]:
                found.wrong.append(f"the end of {name}: {_difference(value, whole.after[name])}")
        left = left_in(self._folder)
        try:
            end = self._end()
        except (MulliganError, AssertionError) as exc:
            found.wrong.append(f"the end: {exc}")
            return
        # Git's locks stay where the clean-up after all was done is killed: `doctor`, which ran just now, removes them.
        if left := [path for path in left if not path.endswith(".lock")] + left_in(self._folder):
            found.wrong.append(f"left in the user's folders: {left}")
        for name, value in whole.end.items():
            if end.get(name) != value:
                found.wrong.append(f"the end, {name}: {_difference(end.get(name), value)}")

    def _end(self) -> dict[str, object]:
        """Return what distinguishes one end from another besides real resources; all of it must be sound."""
        with self._opened() as (project, services):
            end: dict[str, object] = {}
            for line in project.plans():
                status = project.status(line.plan_id)
                end[line.name] = (
                    status.phase,
                    status.state,
                    [(step.name, step.status) for step in status.steps],
                )
                for sandbox in status.sandboxes:
                    if sandbox.strategy != "in_place":
                        end[f"{line.name} {sandbox.resource}"] = picture_without_times(Path(sandbox.path))
                with services.adapters.database.reading() as db:
                    assert db.intents.list(line.plan_id) == [], "something is unfinished"
            damaged = project.checkpoints.verify().damaged
            assert not damaged, f"damaged: {damaged}"
            wrong = [f.what for f in project.doctor().findings if not f.repaired]
            assert not wrong, f"doctor: {wrong}"
        return end

    def _is_done(self, command: Command, code: int) -> bool:
        if command.reached is None:
            return code == 0
        with self._opened() as (project, _):
            try:
                return code != _KILLED and command.reached(project) and not self._is_unfinished(project)
            except MulliganError:
                return False

    def _is_unfinished(self, project: Project) -> bool:
        return any(project.status(line.plan_id).state is State.PROCESSING for line in project.plans())

    def _run(
        self, words: tuple[str, ...], environment: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        argv = [sys.executable, "-m", "mulligan", *words, "--format", "json"]
        given = {**(environment or os.environ), **GIT_USER, "PYTHONDONTWRITEBYTECODE": "1"}
        given["MULLIGAN_HOME"] = homes_for(self._folder)
        return subprocess.run(
            argv, cwd=self._folder, env=given, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    @contextmanager
    def _opened(self) -> Generator[tuple[Project, Services]]:
        """Open the project as it is now, until its files are put back."""
        services = services_of(self._folder)
        try:
            yield Project(services=services, observer=Watching(nothing)), services
        finally:
            services.adapters.database.close()

    def _keep(self, name: str) -> None:
        keep(self._folder, self._kept / name)

    def _put_back(self, name: str) -> None:
        put_back(self._kept / name, self._folder)


def _difference(one: object, other: object) -> str:
    """Say where two values differ, in few words."""
    if isinstance(one, dict) and isinstance(other, dict):
        first, second = cast("dict[str, object]", one), cast("dict[str, object]", other)
        keys = sorted((key for key in {*first, *second} if first.get(key) != second.get(key)), key=str)
        return "; ".join(f"{key}: {_difference(first.get(key), second.get(key))}" for key in keys)
    return f"{repr(cast('object', one))[:200]} instead of {repr(other)[:200]}"
