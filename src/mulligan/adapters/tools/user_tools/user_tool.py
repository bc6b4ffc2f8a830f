"""A tool of the user's own: its declaration, and its functions in a worker."""

from msgspec import Struct, convert
from msgspec.structs import replace

from mulligan.adapters.tools.worker.worker_calls import WorkerCalls
from mulligan.domain.plans.tool import ToolDeclaration, ToolResult
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.ports import StepHost, ToolRequest


class Source(Struct, frozen=True):
    """The source of tools: a tools.py that was read, or an entry point of a package."""

    origin: str  # for people
    content: JsonObject  # for the worker


class OwnTool:
    """Calls `function(context, **args)` and `undo(context, arguments, result)` in a worker."""

    def __init__(self, facts: JsonObject, source: Source, calls: WorkerCalls) -> None:
        self.declaration = convert({**facts, "exactly_one_of": ()}, ToolDeclaration)
        self.doc = str(facts["doc"])
        self.origin = source.origin
        self._source = source
        self._calls = calls

    def is_same_as(self, other: "OwnTool") -> bool:
        """Return whether a package names one tool twice: directly, and with the module that it is in."""
        return (self.origin, self.declaration) == (other.origin, other.declaration)

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        name = self.declaration.name
        what: JsonObject = {"source": self._source.content, "tool": name, "kwargs": dict(request.args)}
        return self._calls.call(name, what, request, host)

    def undo(self, request: ToolRequest, result: Json, host: StepHost) -> None:
        """Take a call back; the tool's own timeout holds for that too."""
        name = self.declaration.name
        undone: JsonObject = {"arguments": dict(request.args), "result": result}
        what: JsonObject = {"source": self._source.content, "tool": name, "undo": undone}
        self._calls.call(name, what, replace(request, timeout=self.declaration.timeout), host)
