"""Processes that are measured: bounded in time, ended with all they started, and quoted where they fail."""

import json
import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_LAST_LINES = 12


class CommandFailed(Exception):
    """A command that did not do what it was started for: its text, and the last lines of what it said."""

    def __init__(self, command: str, output: str) -> None:
        super().__init__(f"{command}: {output}")
        self.command = command
        self.output = "\n".join(output.strip().splitlines()[-_LAST_LINES:])


def surroundings() -> dict[str, str]:
    """The variables that measured processes see: an installed program has its bytecode at hand."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Budget:
    """The time that may still be spent on something; what goes on longer fails like any other command."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, never none: an overdue command is started and stopped, which names it."""
        return max(0.05, self._ends - time.monotonic())

    def spent(self) -> str:
        """Describe a command that was stopped."""
        return f"stopped: the {self._seconds:.0f} s for this contestant and tree are spent"


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that succeeded: how long it took, from its start to its end, and what it printed."""

    seconds: float
    output: str


def run(
    command: Sequence[str],
    budget: Budget,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    given: Path = Path(os.devnull),
) -> Finished:
    """Run a command to its end, with this file as its input; CommandFailed where it fails or the budget is spent."""
    started = time.perf_counter()
    try:
        with given.open("rb") as stdin:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=surroundings() if env is None else env,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                text=True,
                errors="replace",
            )
    except OSError as exc:
        raise CommandFailed(shlex.join(command), str(exc)) from exc
    try:
        output, _ = process.communicate(timeout=budget.left())
    except subprocess.TimeoutExpired as exc:
        output = _end(process)
        raise CommandFailed(shlex.join(command), f"{output}\n{budget.spent()}") from exc
    except BaseException:
        _end(process)
        raise
    seconds = time.perf_counter() - started
    if process.returncode != 0:
        raise CommandFailed(shlex.join(command), f"{output}\nexit code {process.returncode}")
    return Finished(seconds, output)


class Driver:
    """A process that stays: it is asked in lines of JSON, and answers each with one."""

    def __init__(
        self, command: Sequence[str], budget: Budget, *, log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        """Its output other than answers goes into the log."""
        self._text = shlex.join(command)
        self._budget = budget
        self._log = log
        try:
            with log.open("wb") as stderr:
                self._process = subprocess.Popen(
                    command,
                    env=surroundings() if env is None else env,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    start_new_session=True,
                    text=True,
                )
        except OSError as exc:
            raise CommandFailed(self._text, str(exc)) from exc

    def ask(self, **request: Any) -> dict[str, Any]:
        """Ask for something; CommandFailed where it is refused, or no answer comes in time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as exc:
            raise self._failed("it is gone") from exc
        ready, _, _ = select.select([self._process.stdout], [], [], self._budget.left())
        if not ready:
            raise self._failed(self._budget.spent())
        line = self._process.stdout.readline()
        try:
            answer = json.loads(line)
        except ValueError as exc:
            raise self._failed(line or "it ended without an answer") from exc
        if "error" in answer:
            raise self._failed(str(answer["error"]))
        return answer

    def close(self) -> None:
        """Let it end, or end it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            self._process.kill()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            _end(self._process)
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _failed(self, reason: str) -> CommandFailed:
        return CommandFailed(self._text, f"{self._log.read_text(errors='replace')}\n{reason}")


def _end(process: "subprocess.Popen[str]") -> str:
    """End a process of ours and all that it started; return its output."""
    with suppress(ProcessLookupError):  # it may end at this moment
        os.killpg(process.pid, signal.SIGKILL)
    output, _ = process.communicate()
    return output or ""
