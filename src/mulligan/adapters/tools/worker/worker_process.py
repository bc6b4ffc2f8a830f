"""Worker processes as the runner sees them: started, kept for the next call, and let go."""

import json
import os
import threading
import time

from msgspec import Struct, field
from msgspec.structs import replace

from mulligan.adapters.tools.process.command_runner import Command, Launchers
from mulligan.adapters.tools.process.environment import CALL_MARK
from mulligan.adapters.tools.process.launcher_client import LOAD, PROGRAMS, LauncherProcess, write_all
from mulligan.adapters.tools.process.tool_output import Shown
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject

# What each program needs, and is loaded before it.
_LOADED = {
    "worker": "load('worker.step_context'); load('worker.worker').main(sys.argv[2:])",
    "own_worker": (
        "load('worker.step_context'); load('worker.worker'); load('user_tools.tool_decorator')"
        "; load('worker.user_worker').main(sys.argv[2:])"
    ),
}
EXIT_GRACE = 1.0  # seconds for a worker to exit on its own when it is no longer needed


class WorkerProcess(Struct):
    """A worker under a launcher of its own, and the pipe on which it hears."""

    launcher: LauncherProcess
    plan_id: PlanId
    command: Command
    requests: int
    replies: int
    alive: bool = field(default=True)

    @property
    def first_call(self) -> str:
        """The call it was started for, whose mark it carries."""
        return self.command.environment[CALL_MARK]

    def fits(self, plan_id: PlanId, command: Command) -> bool:
        """Return whether it runs in the folder and the bounds of that command, and sees what that should."""
        own, other = self.command, command
        return (self.plan_id, own.folder, own.bounds, own.appearance) == (
            *(plan_id, other.folder, other.bounds),
            other.appearance,
        )

    def send(self, message: JsonObject) -> None:
        """Send the worker a request; if it is gone, the missing answer shows that."""
        try:
            write_all(self.requests, json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            return

    def retire(self) -> None:
        """Let it exit on its own, then make sure that it ended."""
        os.close(self.requests)
        if self.alive:
            nowhere = Shown(lambda _: None)
            limit = time.monotonic() + EXIT_GRACE
            while (event := self.launcher.next_event(nowhere, limit)) and event[0] not in (b"over", b"lost"):
                continue
        os.close(self.replies)
        self.launcher.close()

    def end(self) -> None:
        if self.alive:
            self.launcher.end()
        self.alive = False
        self.retire()


class Workers(Struct, eq=False):
    """Starts workers under launchers, and keeps those that can be used again."""

    launchers: Launchers
    program: str = "worker"
    _idle: list[WorkerProcess] = field(default_factory=list[WorkerProcess])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def argv(self) -> tuple[str, ...]:
        """Return the command that starts a worker, without its descriptors."""
        # -P: nothing is imported from the sandbox before the worker says so.
        return (self.launchers.python, "-P", "-c", LOAD + _LOADED[self.program], PROGRAMS)

    def take(self, plan_id: PlanId, command: Command) -> WorkerProcess:
        """A kept worker of this plan, sandbox and bounds, or a new one."""
        with self._lock:
            for worker in self._idle:
                if worker.fits(plan_id, command):
                    self._idle.remove(worker)
                    return worker
        return self._start(plan_id, command)

    def give_back(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._idle.append(worker)

    def forget(self, plan_id: PlanId | None) -> None:
        """Let kept workers go: of one plan, or all."""
        with self._lock:
            gone = [worker for worker in self._idle if plan_id in (None, worker.plan_id)]
            self._idle = [worker for worker in self._idle if worker not in gone]
        for worker in gone:
            worker.retire()

    def _start(self, plan_id: PlanId, command: Command) -> WorkerProcess:
        requests_there, requests = os.pipe()
        replies, replies_there = os.pipe()
        argv = (*command.argv, str(requests_there), str(replies_there))
        command = replace(command, argv=argv)
        try:
            words = command.words("python")
            kept = (requests_there, replies_there)
            launcher = self.launchers.start(plan_id, kept, command.bounds, command.appearance)
        except BaseException:
            os.close(requests)
            os.close(replies)
            raise
        finally:
            os.close(requests_there)
            os.close(replies_there)
        launcher.listen(replies)
        launcher.send(b"start", *words)
        return WorkerProcess(launcher, plan_id, command, requests, replies)
