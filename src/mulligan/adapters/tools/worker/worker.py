"""The worker: the program in which Python tools run, one call after the other.

It reads calls and answers as JSON lines from one descriptor and writes requests and results to another;
stdin, stdout and stderr are the tool's own. `StepContext` is loaded before it under its full name, without
the package around it, whose dependencies this interpreter may not have.

    runner: {"function", "kwargs", "folder", "environment", and what StepContext needs}
    worker: {"ask", …, "state"}      a request of the function; the runner says {"answer"} or ends the call
            {"stale": [path…]}       instead of running: files it imported are not what they were
            {"done", "state", "threads"}
            {"failed", "traceback", "state", "threads"}
"""

import importlib
import json
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from io import TextIOWrapper
from types import ModuleType
from typing import IO, Any

from mulligan.adapters.tools.worker.step_context import StepContext

FRAMES = 8  # of a traceback, the innermost ones

Stamp = tuple[int, int, int, int] | None


def stamp_of(path: str) -> Stamp:
    """Return a stamp that changes when a file does."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


class Imports:
    """Notes every file that is imported, as it was before it was read."""

    def __init__(self) -> None:
        self._stamps: dict[str, Stamp] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.has_location and spec.origin:
            self._stamps[spec.origin] = stamp_of(spec.origin)
        return spec

    def changed(self) -> list[str]:
        """The files that are no more what was imported; what other finders found is noted late."""
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str):
                self._stamps.setdefault(path, stamp_of(path))
        return [path for path, stamp in self._stamps.items() if stamp_of(path) != stamp]


class Worker:
    """Serves the runner until it closes its end."""

    def __init__(self, requests: IO[bytes], replies: int) -> None:
        """Read calls from `requests`, write to the descriptor `replies`."""
        self._requests = requests
        self._replies = replies
        self._lock = threading.Lock()  # a function may ask from several threads
        self._imports = Imports()
        self._path = list(sys.path)  # as the interpreter made it

    def serve(self) -> None:
        sys.meta_path.insert(0, self._imports)
        for line in self._requests:
            call = json.loads(line)
            if changed := self._imports.changed():
                self._send({"stale": changed})
            else:
                self._run(call)

    def _run(self, call: dict[str, Any]) -> None:
        context = StepContext(call, lambda what, facts: self._ask(context, what, facts))
        try:
            self._prepare(call)
            result = self._call(call, context)
            reply: dict[str, Any] = {"done": _checked("the result of the function", result)}
        except BaseException as exc:  # noqa: BLE001 - SystemExit too: the worker is not the function's to end
            reply = {
                "failed": "".join(traceback.format_exception_only(exc)).strip(),
                "traceback": _frames(exc),
            }
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        try:
            reply["state"] = _checked("StepContext.state", context.state)
        except TypeError as exc:
            reply = {"failed": str(exc), "traceback": [], "state": None}
        others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
        reply["threads"] = [thread.name for thread in others]
        self._send(reply)

    def _prepare(self, call: dict[str, Any]) -> None:
        """Make every call begin alike, whatever the one before did to this process."""
        os.environ.clear()
        os.environ.update(call["environment"])
        os.chdir(call["folder"])
        sys.path[:] = self._search_path(call)
        importlib.invalidate_caches()

    def _call(self, call: dict[str, Any], context: StepContext) -> Any:
        return imported(call["function"])(context, **call["kwargs"])

    def _search_path(self, call: dict[str, Any]) -> list[str]:
        return [call["folder"], *self._path]

    def _ask(self, context: StepContext, what: str, facts: dict[str, Any]) -> Any:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        request = {"ask": what, **facts, "state": context.state}
        with self._lock:
            self._send(_checked("StepContext.state or an argument", request))
            line = self._requests.readline()
        if not line:
            raise SystemExit("the runner is gone")
        return json.loads(line)["answer"]

    def _send(self, message: dict[str, Any]) -> None:
        rest = memoryview(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        while rest:
            rest = rest[os.write(self._replies, rest) :]


def imported(name: str) -> Any:
    """Import what `module` or `module:name` means; the name may have dots."""
    module, _, attributes = name.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in filter(None, attributes.split(".")):
        found = getattr(found, attribute)
    return found


def _checked(what: str, value: Any) -> Any:
    """Return the value if JSON can hold it."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise TypeError(f"{what} cannot be converted to JSON: {exc}") from exc
    return value


_IMPORTING = ("<frozen importlib", importlib.__file__)  # whose frames say nothing to who wrote the function


def _frames(exc: BaseException) -> list[str]:
    frames = [
        frame
        for frame in traceback.extract_tb(exc.__traceback__)
        if frame.filename != _frames.__code__.co_filename and not frame.filename.startswith(_IMPORTING)
    ]
    return [f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames[-FRAMES:]]


def main(arguments: list[str], worker: type[Worker] = Worker) -> None:
    """Serve on the descriptors named first and second."""
    requests, replies = map(int, arguments)
    for descriptor in (requests, replies):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - the function has no names
    sys.argv = [""]
    sys.dont_write_bytecode = True  # a __pycache__ in the sandbox would be a change of the tool's
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, TextIOWrapper)
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    with open(requests, "rb") as file:
        worker(file, replies).serve()
