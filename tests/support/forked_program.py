"""The program in processes that are forked from one that has loaded all of it: most commands take a tenth of the time.

For tests of what commands do. Tests of how the program starts, what it imports, which locale it finds or who its parent
is start it as users do. Where processes are measured, so are these: but for what is imported, which those of the tests
import too.
"""

import atexit
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import termios
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Any, NoReturn

from coverage import Coverage

import mulligan
from mulligan.__main__ import main
from mulligan.adapters.sandboxes import parked_trees
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]
_LONGEST_REQUEST = 1 << 20
_NUMBER = 16  # bytes of an answer: a process id, or an exit code
_LOCALES = ("C.UTF-8", "C.utf8")


class ForkedProgram:
    """A process that is forked from the one that serves this process."""

    def __init__(self, server: socket.socket, request: Mapping[str, Any], streams: Sequence[int]) -> None:
        """Ask for it; one at a time."""
        self._server = server
        socket.send_fds(server, [json.dumps(request).encode()], streams)
        self.pid = int(server.recv(_NUMBER))

    def wait(self) -> int:
        """Wait for the end, and return the exit code, or the signal as a negative number."""
        return int(self._server.recv(_NUMBER))


def start_program(
    words: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
    terminal: bool = False,
) -> "ForkedProgram | subprocess.Popen[bytes]":
    """Start a command with these descriptors as stdin, stdout and stderr; a terminal gets a session of its own.

    The next one can be started when this one was waited for.
    """
    if _can_be_forked(environment):
        place = {"folder": str(folder), "environment": dict(environment)}
        return ForkedProgram(
            _server(_measuring(environment)), {"words": words, "terminal": terminal, **place}, streams
        )
    return subprocess.Popen(
        [sys.executable, "-m", "mulligan", *words],
        cwd=folder,
        env=environment,
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        start_new_session=terminal,
        preexec_fn=_take_terminal if terminal else None,  # noqa: PLW1509 - it takes no lock
    )


def _read_at_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables that count before the first line of a program runs: for Python and the loader."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(("LD_", "PYTHON")) and name not in _HARMLESS
    }


_HARMLESS = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
_OURS = _read_at_the_start(os.environ)


def _measuring(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables under which a process is measured, if it is."""
    found = {name: value for name, value in environment.items() if name.startswith("COVERAGE_")}
    return found if any(name.startswith("COVERAGE_PROCESS_") for name in found) else {}


def _can_be_forked(environment: Mapping[str, str]) -> bool:
    locale = environment.get("LC_ALL") or _coerced(environment)["LC_CTYPE"]
    return locale in _LOCALES and _read_at_the_start(environment) == _OURS


def _coerced(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the locale of characters that Python sets when it starts without one."""
    chosen = environment.get("LC_CTYPE") or environment.get("LANG") or "C"
    return {"LC_CTYPE": "C.UTF-8" if chosen in ("C", "POSIX") else chosen}


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def run_program(
    words: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    timeout: float = PATIENCE,
    together: bool = False,
) -> "subprocess.CompletedProcess[bytes]":
    """Run a command to its end and until all that it started has closed its output, like `subprocess.run`.

    Where they go `together`, stderr is part of stdout, in the order in which they were written.
    """
    (out, stdout), (err, stderr) = os.pipe(), os.pipe()
    nowhere = os.open(os.devnull, os.O_RDONLY)
    streams = nowhere, stdout, stdout if together else stderr
    try:
        program = start_program(words, folder=folder, environment=environment, streams=streams)
    finally:
        for descriptor in (nowhere, stdout, stderr):
            os.close(descriptor)
    try:
        printed = _read(out, err, time.monotonic() + timeout)
    except BaseException:
        os.kill(program.pid, signal.SIGKILL)
        raise
    finally:
        code = program.wait()
        os.close(out)
        os.close(err)
    return subprocess.CompletedProcess(["mulligan", *words], code, printed[out], printed[err])


def _read(out: int, err: int, until: float) -> dict[int, bytes]:
    printed = {out: b"", err: b""}
    with DefaultSelector() as selector:
        for descriptor in printed:
            selector.register(descriptor, EVENT_READ)
        while selector.get_map():
            ready = selector.select(until - time.monotonic())
            assert ready, "the command takes too long"
            for key, _ in ready:
                if part := os.read(key.fd, 1 << 16):
                    printed[key.fd] += part
                else:
                    selector.unregister(key.fd)
    return printed


# By the process that each serves, as a fork has to have its own, and by the variables for coverage.
_servers: dict[tuple[object, ...], socket.socket] = {}


def _server(measuring: Mapping[str, str]) -> socket.socket:
    which = (os.getpid(), *sorted(measuring.items()))
    if (found := _servers.get(which)) is None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # It leaves at once a process that is nobody's child: tests count theirs.
            subprocess.run(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=ROOT,
                env={"PATH": os.environ["PATH"], "LC_ALL": _LOCALES[0], **_OURS, **measuring},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                check=True,
            )
        found = _servers[which] = ours
        atexit.register(ours.close)
    return found


def _serve(connection: socket.socket) -> None:
    """Fork a process for each request; say which it is, and then how it ended."""
    measurement = Coverage.current()
    if measurement is not None:
        measurement.stop()
    for module in pkgutil.walk_packages(mulligan.__path__, "mulligan."):
        importlib.import_module(module.name)
    vars(parked_trees)["_FREE"] = 1 << 62  # copies are parked however full the disk is on which the tests run
    gc.collect()
    gc.freeze()
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, _LONGEST_REQUEST, 3)
        if not request:
            return
        child = os.fork()
        if child == 0:
            connection.close()
            if measurement is not None:
                measurement.start()
            _become(json.loads(request), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(str(child).encode())
        connection.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Be what `python -m mulligan` would be in that folder, with these variables and streams."""
    try:
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        if request["terminal"]:
            os.setsid()
            _take_terminal()
        os.environ.clear()
        os.environ.update(request["environment"])
        if "LC_ALL" not in os.environ:
            os.environ.update(_coerced(os.environ))
        time.tzset()
        os.chdir(request["folder"])
        sys.argv = ["mulligan", *request["words"]]
        sys.stdin = sys.__stdin__ = _stream(0, "r")
        sys.stdout = sys.__stdout__ = _stream(1, "w")
        sys.stderr = sys.__stderr__ = _stream(2, "w", "backslashreplace")
        main()
    except BaseException:  # noqa: BLE001 - the exit code says so, and stderr why
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


def _stream(descriptor: int, mode: str, errors: str = "surrogateescape") -> io.TextIOWrapper:
    """Open a stream as Python does when it starts in these locales: in lines on a terminal, and for errors."""
    in_lines = mode == "w" and (descriptor == 2 or os.isatty(descriptor))
    file = open(descriptor, f"{mode}b", closefd=False)  # noqa: SIM115 - stays open
    return io.TextIOWrapper(file, "utf-8", errors, line_buffering=in_lines)


if __name__ == "__main__":
    if os.fork():
        os._exit(0)
    _serve(socket.socket(fileno=int(sys.argv[1])))
