"""Running commands under launchers: started, followed live, and seen ended."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from mulligan.adapters.tools.launcher.jail import Unconfined
from mulligan.adapters.tools.launcher.namespace import Unseen
from mulligan.adapters.tools.process.environment import CALL_MARK
from mulligan.adapters.tools.process.launcher_client import Event, LauncherProcess
from mulligan.adapters.tools.process.survivors import end_marked
from mulligan.adapters.tools.process.tool_output import Recorded
from mulligan.boundaries import act
from mulligan.domain.resources.appearance import Appearance
from mulligan.domain.resources.bounds import Bounds
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import Json
from mulligan.domain.views.printed import Printed
from mulligan.errors import SystemFailed, ToolFailed, ToolTimedOut
from mulligan.ports import StepHost, ToolRequest

if TYPE_CHECKING:
    from mulligan.adapters.tools.process.attachment import Attachment


class Command(Struct, frozen=True, kw_only=True):
    """A command to start."""

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    bounds: Bounds | None  # None: it may write wherever the user may
    appearance: Appearance | None  # None: it sees everything where it lies

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
    printed: Printed
    stderr_tail: bytes
    leftovers: tuple[Leftover, ...]


def leftovers_of(over: Event) -> tuple[Leftover, ...]:
    """The processes named in the launcher's `over`."""
    words = over[2:]
    return tuple(
        Leftover(int(pid), command.decode(errors="replace"))
        for pid, command in zip(words[::2], words[1::2], strict=True)
    )


class _Idle(Struct, frozen=True):
    """A launcher that waits for the next command of its plan."""

    bounds: Bounds | None
    appearance: Appearance | None
    launcher: LauncherProcess

    def fits(self, command: Command) -> bool:
        """Return whether the command may write and sees what those before it did."""
        return (self.bounds, self.appearance) == (command.bounds, command.appearance)


class Launchers(Struct, frozen=True, eq=False, kw_only=True):
    """Runs commands under launchers, which are started when needed and kept for the next call of the same plan."""

    python: str
    environment: Mapping[str, str]
    how: str = "tree"  # or `group`: without a subreaper
    obey: Callable[[], None] | None = (
        None  # called while a command runs; raises where the run is asked to stop
    )
    linked: Callable[[], None] = lambda: None  # called when commands gave files other names, or may have
    _idle: dict[PlanId, list[_Idle]] = field(default_factory=dict)
    _prepared: dict[PlanId, _Idle] = field(default_factory=dict)  # tried, and not confined yet
    _lock: threading.Lock = field(default_factory=threading.Lock)  # child plans run in threads

    def start(
        self, plan_id: PlanId, kept: tuple[int, ...], bounds: Bounds | None, appearance: Appearance | None
    ) -> LauncherProcess:
        """A new launcher; nothing that runs under it writes out of bounds, and all sees the appearance."""
        launcher = None if kept or appearance is None else self._take_prepared(plan_id, appearance)
        is_prepared = launcher is not None
        launcher = launcher or self._start(plan_id, kept)
        try:
            if appearance is not None and not is_prepared:
                launcher.enter()
                launcher.appear(appearance)
            if bounds is not None:
                launcher.confine(bounds)
        except BaseException as exc:
            launcher.close()
            if isinstance(exc, Unseen):
                raise SystemFailed(
                    path=exc.part,
                    reason=f"sandboxes could not be shown at the real paths: {os.strerror(exc.number)}",
                    hint="with `sandbox.at` set to `own-path` steps see them at their own paths",
                ) from exc
            if not isinstance(exc, OSError | Unconfined):
                raise
            what = exc.strerror if isinstance(exc, OSError) else f"{os.strerror(exc.number)} ({exc.part})"
            raise SystemFailed(
                path=self.python,
                reason=f"its processes could not be confined: {what}",
                hint="with `sandbox.isolate` set to `off` tools may write wherever you may",
            ) from exc
        return launcher

    def _start(self, plan_id: PlanId, kept: tuple[int, ...]) -> LauncherProcess:
        try:
            return LauncherProcess(
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

    def try_to_appear(self, plan_id: PlanId, appearance: Appearance) -> Unseen | None:
        """Return what the system refuses of an appearance; a launcher that has it is kept for the plan."""
        self.forget(plan_id)
        launcher = self._start(plan_id, ())
        try:
            launcher.enter()
            launcher.appear(appearance)
        except BaseException as exc:
            launcher.close()
            if isinstance(exc, OSError):
                return Unseen("a launcher", exc.errno or 0)
            if isinstance(exc, Unseen):
                return exc
            raise
        with self._lock:
            self._prepared[plan_id] = _Idle(None, appearance, launcher)
        return None

    def _take_prepared(self, plan_id: PlanId, appearance: Appearance) -> LauncherProcess | None:
        with self._lock:
            found = self._prepared.pop(plan_id, None)
        if found is None or (found.appearance == appearance and found.launcher.running):
            return None if found is None else found.launcher
        found.launcher.close()
        return None

    def run(
        self,
        tool: str,
        request: ToolRequest,
        command: Command,
        recorded: Recorded,
        host: StepHost,
        attachment: "Attachment | None" = None,
    ) -> Outcome:
        """Run a command to its end, or raise ToolFailed; either way none of its processes is left."""
        words = command.words(tool)
        timeout = request.timeout
        deadline = None if timeout is None else time.monotonic() + timeout
        if attachment is None:
            launcher = self._take(request.plan_id, command)
        else:
            launcher = self.start(request.plan_id, attachment.handed, command.bounds, command.appearance)
        sent = False
        try:
            if attachment is not None:
                launcher.attach(attachment)
            with act("call.start"):
                launcher.send(b"start", *words)
                sent = True
            event = launcher.next_event(recorded, deadline, host)
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
        if attachment is not None:
            launcher.close()
        else:
            with self._lock:
                idle = _Idle(command.bounds, command.appearance, launcher)
                self._idle.setdefault(request.plan_id, []).append(idle)
        if event[0] == b"refused":
            raise not_started(tool, command, int(event[1]))
        return Outcome(
            exit_status=os.waitstatus_to_exitcode(int(event[1])),
            printed=recorded.printed(),
            stderr_tail=recorded.stderr_tail,
            leftovers=leftovers_of(event),
        )

    def forget(self, plan_id: PlanId | None) -> None:
        """Let idle launchers go: of one plan, or all."""
        with self._lock:
            plans = [*self._idle, *self._prepared] if plan_id is None else [plan_id]
            launchers = [idle.launcher for plan in plans for idle in self._idle.pop(plan, [])]
            launchers += [self._prepared.pop(plan).launcher for plan in plans if plan in self._prepared]
        for launcher in launchers:
            launcher.close()

    def _take(self, plan_id: PlanId, command: Command) -> LauncherProcess:
        with self._lock:
            idle = self._idle.get(plan_id, [])
            while idle:
                found = idle.pop()
                if found.fits(command) and found.launcher.running:
                    return found.launcher
                found.launcher.close()  # it was killed, or what its plan may write is not what it was
        return self.start(plan_id, (), command.bounds, command.appearance)


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
        started=False,
        folder=str(command.folder),
        hint="check that the program is installed, executable and on the PATH",
    )
