"""The local server of a project: run it, start it in the background, ask it something, end it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec import DecodeError, ValidationError, json

from mulligan.adapters.local_server.accept_loop import AcceptLoop, Answer
from mulligan.adapters.local_server.frame_stream import connect, listen
from mulligan.adapters.local_server.installation import installation
from mulligan.adapters.local_server.server_place import COMMANDS, ServerPlace, ServerRecord, is_served
from mulligan.api.local_server.tree_questions import TreeQuestions
from mulligan.domain.server.frames import FrameWrong
from mulligan.domain.server.words import Request, ServerStatus, Word
from mulligan.errors import ServerSilent
from mulligan.wiring.system_clock import SystemClock

if TYPE_CHECKING:
    from mulligan.adapters.local_server.warm_process import WarmProcess
    from mulligan.api.project import Project
    from mulligan.wiring.surroundings import Surroundings

_Result = TypeVar("_Result")
_KEPT_WATCHES = 16
_SHORT = 5.0  # seconds: for a question about the server itself
_START = 30.0  # seconds: on a loaded machine Python takes its time
_PAUSE = 0.02
_PROGRAM = Path(__file__).parents[2] / "__init__.py"  # replaced by every installation


class ServerWork:
    """A server at work in this process: its project, and the one thread that operations run in.

    One thread, because the services of a project, with the watches that they keep, belong to a thread.
    """

    def __init__(self, project: Project, idle_timeout: float, warm: WarmProcess) -> None:
        self.project = project
        self.warm = warm
        self._commands = 0
        self.idle_timeout = idle_timeout
        self.loop: AcceptLoop | None = None
        self._started = SystemClock().now()
        self._program = _signature(_PROGRAM)
        self.questions = TreeQuestions(installation())
        self._folder = _signature(project.folder)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="operations")
        self._stopping = False
        self._endings: list[Callable[[], object]] = []
        self.later(lambda: project.watches.keep(_KEPT_WATCHES))

    def now(self, operation: Callable[[], _Result]) -> _Result:
        """Run an operation, after those that wait already, and return its result."""
        return self.later(operation).result()

    def later(self, operation: Callable[[], _Result]) -> Future[_Result]:
        """Let an operation wait for its turn."""

        def run() -> _Result:
            self.project.config.refresh()
            return operation()

        return self._worker.submit(run)

    def stop(self) -> None:
        """End after the operations that wait."""
        self._stopping = True

    def at_end(self, ending: Callable[[], object]) -> None:
        """Have this called before the server ends."""
        self._endings.append(ending)

    def is_over(self) -> bool:
        """Return whether the server has to end: asked to, idle, replaced by another version, or without its project."""
        assert self.loop is not None, "it is asked by the loop"
        self._count_commands()
        return (
            self._stopping
            or (self.loop.idle_seconds > self.idle_timeout and not self.loop.has_clients)
            or _signature(_PROGRAM) != self._program
            or _signature(self.project.folder) != self._folder
            or not self.project.home.is_dir()
        )

    def _count_commands(self) -> None:
        assert self.loop is not None, "the loop asks"
        if begun := self.warm.commands():
            self._commands += begun
            self.loop.note_use()

    def status(self) -> ServerStatus:
        """Describe this server."""
        assert self.loop is not None, "it is asked through the loop"
        self._count_commands()
        return ServerStatus(
            pid=os.getpid(),
            started=self._started,
            requests=self.loop.requests,
            commands=self._commands,
            idle_seconds=self.loop.idle_seconds,
            idle_timeout_seconds=self.idle_timeout,
            watched_trees=self.now(lambda: self.project.watches.count) + self.questions.journals.count,
            unwatched=self.questions.journals.refusal,
            memory_bytes=_memory("self") + _memory(str(self.warm.pid)),
        )

    def close(self) -> None:
        """Let the operations that wait come to their end, and give everything back."""
        for ending in self._endings:
            ending()
        self.questions.journals.close()
        self.later(self.project.watches.close)
        self._worker.shutdown(wait=True)


def run_server(
    project: Project,
    around: Surroundings,
    answers: Callable[[ServerWork], Answer],
    started: Callable[[], None],
    warm: WarmProcess,
) -> bool:
    """Answer requests until the server has to end; return False at once where another process serves this project.

    `warm` is the process that commands are handed over to. It ends with the server.
    """
    place = ServerPlace(home=project.home, environ=around.environ)
    with ExitStack() as ending:
        ending.callback(warm.close)
        if not ending.enter_context(place.held()):
            return False
        path = place.socket()
        record = ServerRecord(socket=str(path), pid=os.getpid(), commands=str(path.with_suffix(COMMANDS)))
        work = ServerWork(project, cast("float", project.config.get("server.idle-timeout").value), warm)
        ending.callback(work.close)
        listening = ending.enter_context(listen(path))
        warm.listen(Path(record.commands))
        place.write(record)
        ending.callback(place.erase, record)
        loop = AcceptLoop(listening=listening, answer=answers(work), uid=os.geteuid())
        work.loop = loop
        started()
        loop.run(work.is_over)
        return True


def ask_server(
    home: Path, around: Surroundings, fields: Sequence[bytes], seconds: float
) -> list[bytes] | None:
    """Return what the server of a project home answers; None where none runs, or it cannot answer."""
    record = ServerPlace(home=home, environ=around.environ).read()
    if record is None:
        return None
    try:
        stream = connect(Path(record.socket), seconds)
    except OSError:
        return None  # it was killed, or is busy: the caller works without it
    try:
        if stream.is_held_up():
            return None
        stream.send(fields)
        return stream.receive()
    except (OSError, FrameWrong):
        return None
    finally:
        stream.close()


def server_status(home: Path, around: Surroundings) -> ServerStatus | None:
    """Return the server of a project home as it describes itself; None where none runs."""
    answer = ask_server(home, around, [Request.STATUS], _SHORT)
    if answer is None or len(answer) != 2 or answer[0] != Word.DONE:
        return None
    try:
        return json.decode(answer[1], type=ServerStatus)
    except (DecodeError, ValidationError):
        return None  # it is of another version


def stop_server(home: Path, around: Surroundings) -> bool:
    """End the server of a project home and wait until it has; return False where none runs."""
    place = ServerPlace(home=home, environ=around.environ)
    if ask_server(home, around, [Request.STOP], _SHORT) is None:
        return False

    def is_over() -> bool:
        if not is_served(home):
            return True
        # Another server may have been waiting to start, and have taken the place of the one that ended.
        ask_server(home, around, [Request.STOP], _SHORT)
        return False

    if not _until(is_over):
        raise ServerSilent(home=str(home), reason="it does not end", log=str(place.log))
    return True


def start_server(folder: Path, home: Path, around: Surroundings) -> ServerStatus:
    """Start the server of a project in the background, if none runs, and wait until it answers."""
    place = ServerPlace(home=home, environ=around.environ)
    if (running := server_status(home, around)) is not None:
        return running
    launch_server(folder, home, around)
    found: list[ServerStatus] = []

    def answers() -> bool:
        if (status := server_status(home, around)) is not None:
            found.append(status)
        return bool(found)

    if not _until(answers):
        raise ServerSilent(home=str(home), reason="it does not answer", log=str(place.log))
    return found[0]


def launch_server(folder: Path, home: Path, around: Surroundings) -> None:
    """Start the server of a project in the background, without waiting for it."""
    place = ServerPlace(home=home, environ=around.environ)
    # Neither the folder nor the home is searched for modules: a repository may hold anything.
    command = [sys.executable, "-P", "-m", "mulligan", "--project", str(folder), "serve"]
    log = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        # A shell that ends at once leaves the server to the system: this process need not wait for it.
        subprocess.run(
            ["/bin/sh", "-c", '"$@" &', "sh", *command],
            cwd="/",
            env=dict(around.environ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            check=True,
        )
    finally:
        os.close(log)


def _until(reached: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _START
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE)
    return True


def _signature(path: Path) -> tuple[int, int] | None:
    """Return what differs when a file or folder was replaced; for a file also when it was written."""
    try:
        st = path.stat()
    except OSError:
        return None
    return (st.st_ino, st.st_mtime_ns if path.is_file() else st.st_dev)


def _memory(process: str) -> int:
    """Return the memory of a process; what it shares with others counts in parts."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:  # it is gone, or this is not Linux
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
