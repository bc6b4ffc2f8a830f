"""The warm process of a local server: has loaded what commands use, and forks for each.

It opens no project and keeps no file. The fork is the command: it reads the request, becomes like the process that
asks, waits until that process lets it begin, and works as any process does, whatever happens to the server. It
ends with the process that asks.

What a fork had to load, the warm process loads afterwards, so that the next fork has it. Until the first command comes
the warm process has loaded nothing for any.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import io
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from mulligan.adapters.local_server.command_client import BEGIN, ENDED, READY, answer, interpreter
from mulligan.adapters.local_server.command_peer import PeerDiffers, become_like, read_at_the_start
from mulligan.domain.server import frames
from mulligan.domain.server.frames import FrameWrong

_STREAMS = 3
_PATIENCE = 10.0  # seconds that a client has for its request, and for its word to begin
_LEARNED = 1 << 16  # bytes of the names that a fork reports
_USED = b"u"  # to the server: a command begins
_CREDENTIALS = struct.Struct("3i")

_INSTALLED = tuple(f"{place}/" for place in {sys.prefix, sys.base_prefix, str(Path(__file__).parents[3])})

Run = Callable[[Sequence[str]], int]  # runs a command line, and returns the code to end with


class WarmProcess:
    """The end of the server: it hands over the socket to listen at, and hears of commands."""

    def __init__(self, pid: int, line: socket.socket) -> None:
        self.pid = pid
        self._line = line

    def listen(self, path: Path) -> None:
        """Let commands come to a socket at this path, which only this user can connect to."""
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(path))
            path.chmod(0o600)
            with suppress(BrokenPipeError):  # it is gone: commands work without it
                # It listens itself: clients see that process at the other end.
                socket.send_fds(self._line, [b"l"], [listening.fileno()])

    def commands(self) -> int:
        """Return how many commands began since the last call."""
        try:
            return len(self._line.recv(4096, socket.MSG_DONTWAIT))
        except OSError:
            return 0

    def close(self) -> None:
        """Let it end. Commands that are at work do so when they are done."""
        self._line.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def start_warm_process(run: Run, program: tuple[int, ...]) -> WarmProcess:
    """Fork the warm process, before this one has opened anything, or started a thread."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    pid = os.fork()
    if pid == 0:
        ours.close()
        os.setsid()  # Ctrl-C in the terminal of the server ends the server, which ends this process
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1):
            os.dup2(nowhere, number)
        os.close(nowhere)
        try:
            _Loop(theirs, run, program).run()
        finally:
            os._exit(0)
    theirs.close()
    return WarmProcess(pid, ours)


class _Loop:
    """The warm process at work."""

    def __init__(self, line: socket.socket, run: Run, program: tuple[int, ...]) -> None:
        self._line = line
        self._run = run
        self._program = b" ".join(b"%d" % each for each in program)
        self._environ = read_at_the_start(os.environb)
        self._listening: socket.socket | None = None
        self._hearing, self._telling = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._to_load: list[str] = []

    def run(self) -> None:
        """Fork for each client until the server has ended."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for forks here
        _, descriptors, _, _ = socket.recv_fds(self._line, 1, 1)
        if not descriptors:
            return
        self._listening = socket.socket(fileno=descriptors[0])
        self._listening.listen(64)
        self._listening.settimeout(0)
        waiting = [self._line, self._listening, self._hearing]
        while True:
            ready, _, _ = select.select(waiting, [], [], 0 if self._to_load else None)
            if self._line in ready and not self._line.recv(1):
                return
            if self._hearing in ready:
                names = self._hearing.recv(_LEARNED).decode("utf-8", "replace").split("\n")
                self._to_load += [name for name in names if name not in sys.modules]
            if self._listening in ready:
                self._accept()
            elif self._to_load:
                self._load(self._to_load.pop(0))

    def _load(self, name: str) -> None:
        with suppress(Exception):  # what cannot be loaded here, a command loads itself
            importlib.import_module(name)
        if not self._to_load:
            gc.collect()
            gc.freeze()  # forks share it for longer

    def _accept(self) -> None:
        assert self._listening is not None, "it listens"
        try:
            connected, _ = self._listening.accept()
        except OSError:
            return  # the client is gone
        try:
            pid = os.fork()
        except OSError:  # the system has no room for it: the client works without us
            pid = -1
        if pid == 0:
            self._be_command(connected)
        connected.close()

    def _be_command(self, connected: socket.socket) -> NoReturn:
        """Be the command that a client asks for, in a fork."""
        try:
            assert self._listening is not None, "it listens"
            words = self._begun(connected)
            if words is None:
                os._exit(0)
            with suppress(OSError):
                self._line.send(_USED, socket.MSG_DONTWAIT)
            for ours in (self._line, self._listening, self._hearing):
                ours.close()
            loaded = len(sys.modules)
            code = self._run(words)
            with suppress(OSError):
                self._telling.send("\n".join(_learned(loaded))[:_LEARNED].encode(), socket.MSG_DONTWAIT)
            connected.sendall(answer(ENDED, code))
            os._exit(code)
        finally:
            os._exit(1)  # the client hears no code: it ends as one whose process died

    def _begun(self, connected: socket.socket) -> Sequence[str] | None:
        """Become like the client, and return the words of its command; None where it works itself."""
        connected.settimeout(_PATIENCE)
        pid, uid, _ = _CREDENTIALS.unpack(
            connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        )
        descriptors: list[int] = []
        try:
            fields = _request(connected, descriptors)
            if uid != os.geteuid() or fields is None or len(descriptors) != _STREAMS + 1:
                return None
            program, python, words, environ = fields
            variables = dict(_pairs(environ))
            same = (self._program, interpreter(), self._environ)
            if (program, python, read_at_the_start(variables)) != same:
                return None
            become_like(pid)
            _take_streams(descriptors)
            os.environb.clear()
            os.environb.update(variables)
        except (OSError, FrameWrong, PeerDiffers, ValueError):
            return None
        time.tzset()
        tempfile.tempdir = None
        os.setsid()
        connected.sendall(answer(READY, os.getpid()))
        if connected.recv(len(BEGIN)) != BEGIN:
            return None  # it has lost patience, and works itself
        _end_with(connected)
        return [os.fsdecode(word) for word in words.split(b"\0")]


def _request(connected: socket.socket, descriptors: list[int]) -> list[bytes] | None:
    """Read the request of a client, and what it passes on; None where it asks for something else."""
    data, passed, _, _ = socket.recv_fds(connected, 1 << 16, _STREAMS + 1)
    descriptors += passed
    while len(data) < frames.HEAD_LENGTH or len(data) < frames.HEAD_LENGTH + frames.body_length(
        data[: frames.HEAD_LENGTH]
    ):
        more = connected.recv(1 << 16)
        if not more:
            return None
        data += more
    word, *fields = frames.decode(data[: frames.HEAD_LENGTH], data[frames.HEAD_LENGTH :])
    return fields if word == b"command" and len(fields) == 4 else None


def _pairs(environ: bytes) -> Iterable[tuple[bytes, bytes]]:
    for variable in environ.split(b"\0"):
        name, equals, value = variable.partition(b"=")
        if not equals or not name:
            raise ValueError("it is not a variable")
        yield name, value


def _take_streams(descriptors: Sequence[int]) -> None:
    *streams, folder = descriptors
    os.fchdir(folder)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    sys.stdin = sys.__stdin__ = _stream(0, "r", sys.stdin.errors)
    sys.stdout = sys.__stdout__ = _stream(1, "w", sys.stdout.errors)
    sys.stderr = sys.__stderr__ = _stream(2, "w", sys.stderr.errors)


def _stream(descriptor: int, mode: str, errors: str | None) -> io.TextIOWrapper:
    """Open a stream as Python does when it starts: stderr in lines."""
    file = open(descriptor, f"{mode}b", closefd=False)  # noqa: SIM115 - stays open
    at_once = "PYTHONUNBUFFERED" in os.environ
    return io.TextIOWrapper(
        file, sys.stdout.encoding, errors, line_buffering=descriptor == 2, write_through=at_once
    )


def _end_with(connected: socket.socket) -> None:
    """Have the kernel kill this process when the client is gone, as if the client had been killed itself."""
    fcntl.fcntl(connected, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connected, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(connected, fcntl.F_SETFL, fcntl.fcntl(connected, fcntl.F_GETFL) | os.O_ASYNC)
    gone = select.poll()
    gone.register(connected, select.POLLIN | select.POLLHUP)
    if gone.poll(0):  # it went before that was in place
        os._exit(1)


def _learned(loaded: int) -> list[str]:
    """Return the modules that were loaded since there were so many: of this program and what is installed beside it.

    Only those are touched: what a fork touches is copied.
    """
    names = islice(reversed(sys.modules), max(0, len(sys.modules) - loaded))
    return [name for name in reversed(list(names)) if _is_installed(sys.modules[name])]


def _is_installed(module: ModuleType) -> bool:
    spec = getattr(module, "__spec__", None)
    origin = getattr(spec, "origin", None) or ""
    return origin in ("built-in", "frozen") or origin.startswith(_INSTALLED)
