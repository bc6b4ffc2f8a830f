"""The worker for users' tools: it loads them, returns their declarations, calls and undoes them.

It looks for modules neither in the sandbox nor in the project home: what a plan wrote must not become part of
a tool. In addition to the worker's requests, a call is one of

    {"declare": [source…]}                            done: [{"tools": […]} or {"problem"}…]
    {"source", "tool", "kwargs"}                      done: what the function returned
    {"source", "tool", "undo": {arguments, result}}   done: null

where a source is {"path", "text"}, a file that was read already, or {"entry_point"}, a module or module:name.
"""

import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import IO, Any

from mulligan.adapters.tools.user_tools.tool_decorator import Declared, declared_by
from mulligan.adapters.tools.worker.step_context import StepContext
from mulligan.adapters.tools.worker.worker import Worker, imported
from mulligan.adapters.tools.worker.worker import main as serve

PACKAGE = "mulligan"
MODULE = "mulligan_tools"  # what the module of a tools.py is called


class OwnWorker(Worker):
    """Serves the runner with the tools of its sources."""

    def __init__(self, requests: IO[bytes], replies: int) -> None:
        super().__init__(requests, replies)
        self._loaded: dict[str, dict[str, Declared]] = {}

    def _search_path(self, call: dict[str, Any]) -> list[str]:
        return list(self._path)

    def _call(self, call: dict[str, Any], context: StepContext) -> Any:
        if "declare" in call:
            return [self._declared(source) for source in call["declare"]]
        found = self._load(call["source"]).get(call["tool"])
        if found is None:
            raise LookupError(f"{_name(call['source'])} has no tool {call['tool']!r}")
        if "undo" not in call:
            return found.function(context, **call["kwargs"])
        if found.undo is None:
            raise LookupError(f"{call['tool']} no longer has an undo")
        found.undo(context, call["undo"]["arguments"], call["undo"]["result"])
        return None

    def _declared(self, source: dict[str, str]) -> dict[str, Any]:
        try:
            tools = self._load(source)
        except BaseException as exc:  # noqa: BLE001 - SystemExit too: one source says nothing about the others
            return {"problem": _problem(source, exc)}
        return {"tools": [tool.facts for tool in tools.values()]}

    def _load(self, source: dict[str, str]) -> dict[str, Declared]:
        """The tools of a source, loaded once."""
        key = source.get("text", _name(source))
        if key not in self._loaded:
            self._loaded[key] = declared_by(_executed(source) if "text" in source else imported(key))
        return self._loaded[key]


def _executed(source: dict[str, str]) -> ModuleType:
    module = ModuleType(MODULE)
    module.__file__ = source["path"]
    sys.modules[MODULE] = module
    exec(compile(source["text"], source["path"], "exec"), vars(module))  # noqa: S102 - what it is for
    return module


def _name(source: dict[str, str]) -> str:
    return source["path"] if "text" in source else source["entry_point"]


def _problem(source: dict[str, str], exc: BaseException) -> str:
    """Describe an error with its line of the source."""
    what = "".join(traceback.format_exception_only(exc)).strip().splitlines()[-1]
    frames = [f for f in traceback.extract_tb(exc.__traceback__) if f.filename == source.get("path")]
    line = exc.lineno if isinstance(exc, SyntaxError) else frames[-1].lineno if frames else None
    return f"line {line}: {what}" if line else what


def _provide_mulligan() -> None:
    """Let `import mulligan` give the one that runs here, whichever others the interpreter has."""
    folder = _provide_mulligan.__code__.co_filename.rpartition("/adapters/")[0]
    spec = spec_from_file_location(PACKAGE, f"{folder}/__init__.py", submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    package = module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)


def main(arguments: list[str]) -> None:
    """Serve on the descriptors named first and second."""
    _provide_mulligan()
    serve(arguments, OwnWorker)
