"""Running commands under launchers: started, followed live, and seen ended."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, field

from mulligan.adapters.tools.launcher.jail import Unconfined
from mulligan.adapters.tools.process.environment import CALL_MARK
from mulligan.adapters.tools.process.launcher_client import Event, LauncherProcess
from mulligan.adapters.tools.process.survivors import end_marked
from mulligan.adapters.tools.process.tool_output import Recorded
from mulligan.boundaries import act
from mulligan.domain.resources.bounds import Bounds
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import Json
from mulligan.errors import SystemFailed, ToolFailed, ToolTimedOut
from mulligan.ports import ToolRequest


class Command(Struct, frozen=True, kw_only=True):
    """A command to start."""

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    bounds: Bounds | None  # None: it may write wherever the user may

    def words(self, tool: str) -> list[bytes]:
        """The command as the launcher reads it, or ToolFailed for what no process can be given."""
        pairs = [f"{name}={value}" for name, value in self.environment.items()]
        if any("=" in name or not name for name in self.environment):
            raise ToolFailed(tool=tool, reason="env: a name is empty or holds '='")
        if not self.argv[0]:
            raise ToolFailed(tool=tool, reason="the name of the program is empty")
        words = [str(self.folder), str(len(self.argv)), *self.argv, *pairs]
        if any("\0" in word for word in words):
            raise ToolFailed(tool=tool, reason="an argument or environment variable contains a NUL character")
        return [os.fsencode(word) for word in words]


class Leftover(Struct, frozen=True):
    """A process that a tool left running, and that was ended."""

    pid: int
    command: str

    def content(self) -> Json:
        return {"pid": self.pid, "command": self.command}

    def __str__(self) -> str:
        return f"left running and ended: process {self.pid} ({self.command})"


class Outcome(Struct, frozen=True, kw_only=True):
    """The outcome of a command."""

    exit_status: int  # negative: the signal that ended it
    stdout: bytes
    omitted: int  # bytes of stdout
    stderr_tail: bytes
    leftovers: tuple[Leftover, ...]


def leftovers_of(over: Event) -> tuple[Leftover, ...]:
    """The processes named in the launcher's `over`."""
    words = over[2:]
    return tuple(
        Leftover(int(pid), command.decode(errors="replace"))
        for pid, command in zip(words[::2], words[1::2], strict=True)
    )


class Launchers(Struct, frozen=True, eq=False, kw_only=True):
    """Runs commands under launchers, which are started when needed and kept for the next call of the same plan."""

    python: str
    environment: Mapping[str, str]
    how: str = "tree"  # or `group`: without a subreaper
    obey: Callable[[], None] | None = (
        None  # called while a command runs; raises where the run is asked to stop
    )
    linked: Callable[[], None] = lambda: None  # called when commands gave files other names, or may have
    _idle: dict[PlanId, list[tuple[Bounds | None, LauncherProcess]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)  # child plans run in threads

    def start(self, plan_id: PlanId, kept: tuple[int, ...], bounds: Bounds | None) -> LauncherProcess:
        """A new launcher; nothing that runs under it writes out of bounds."""
        try:
            launcher = LauncherProcess(
                python=self.python,
                environment=self.environment,
                plan_id=plan_id,
                kept=kept,
                how=self.how,
                obey=self.obey,
                linked=self.linked,
            )
        except OSError as exc:
            raise SystemFailed(
                path=self.python, reason=f"no process could be started: {exc.strerror}"
            ) from exc
        try:
            if bounds is not None:
                launcher.confine(bounds)
        except BaseException as exc:
            launcher.close()
            if not isinstance(exc, OSError | Unconfined):
                raise
            what = exc.strerror if isinstance(exc, OSError) else f"{os.strerror(exc.number)} ({exc.part})"
            raise SystemFailed(
                path=self.python,
                reason=f"its processes could not be confined: {what}",
                hint="with `sandbox.isolate` set to `off` tools may write wherever you may",
            ) from exc
        return launcher

    def run(self, tool: str, request: ToolRequest, command: Command, recorded: Recorded) -> Outcome:
        """Run a command to its end, or raise ToolFailed; either way none of its processes is left."""
        words = command.words(tool)
        timeout = request.timeout
        deadline = None if timeout is None else time.monotonic() + timeout
        launcher = self._take(request.plan_id, command.bounds)
        sent = False
        try:
            with act("call.start"):
                launcher.send(b"start", *words)
                sent = True
            event = launcher.next_event(recorded, deadline)
        except BaseException as exc:
            # Of a request that was cut off the launcher understands nothing that follows: no grace then.
            if sent and isinstance(exc, KeyboardInterrupt):
                launcher.end(b"interrupt", recorded)
            elif sent:
                launcher.end()
            launcher.close()
            raise
        if event is None:
            launcher.end()
            launcher.close()
            raise ToolTimedOut(tool=tool, timeout=timeout)
        if event[0] == b"lost":
            launcher.close()
            end_marked(CALL_MARK, request.call_id)
            raise launcher_lost(tool)
        with self._lock:
            self._idle.setdefault(request.plan_id, []).append((command.bounds, launcher))
        if event[0] == b"refused":
            raise not_started(tool, command, int(event[1]))
        return Outcome(
            exit_status=os.waitstatus_to_exitcode(int(event[1])),
            stdout=recorded.recorded(),
            omitted=recorded.omitted,
            stderr_tail=recorded.stderr_tail,
            leftovers=leftovers_of(event),
        )

    def forget(self, plan_id: PlanId | None) -> None:
        """Let idle launchers go: of one plan, or all."""
        with self._lock:
            plans = list(self._idle) if plan_id is None else [plan_id]
            launchers = [launcher for plan in plans for _, launcher in self._idle.pop(plan, [])]
        for launcher in launchers:
            launcher.close()

    def _take(self, plan_id: PlanId, bounds: Bounds | None) -> LauncherProcess:
        with self._lock:
            idle = self._idle.get(plan_id, [])
            while idle:
                drawn, launcher = idle.pop()
                if drawn == bounds and launcher.running:
                    return launcher
                launcher.close()  # it was killed, or what its plan may write is not what it was
        return self.start(plan_id, (), bounds)


def launcher_lost(tool: str) -> ToolFailed:
    """The error for a launcher that someone killed."""
    return ToolFailed(
        tool=tool,
        reason="its launcher was killed; the processes of the call were ended",
        hint="see whether something ends processes of yours (memory limits do)",
    )


def not_started(tool: str, command: Command, number: int) -> ToolFailed:
    """The error for a command that the system would not start."""
    return ToolFailed(
        tool=tool,
        reason=f"{command.argv[0]} could not be started: {os.strerror(number)}",
        errno=number,
        folder=str(command.folder),
        hint="check that the program is installed, executable and on the PATH",
    )
