"""The tool `python`: a function of a module that is looked for in the sandbox first."""

from mulligan.adapters.tools.builtin.call_arguments import mapping, text
from mulligan.adapters.tools.builtin.declarations import EVERY_RESOURCE, declare
from mulligan.adapters.tools.worker.worker_calls import WorkerCalls
from mulligan.domain.plans.tool import Argument, ArgumentType, ToolResult
from mulligan.domain.text.json_value import JsonObject
from mulligan.ports import StepHost, ToolRequest


class PythonTool:
    """Calls `function(context, **kwargs)`; its output is what the function returns."""

    declaration = declare(
        "python",
        "Call a Python function with a StepContext",
        Argument("function", ArgumentType.FUNCTION, required=True),
        Argument("kwargs", ArgumentType.MAP, required=False),
        resource_types=EVERY_RESOURCE,
        idempotent=False,
    )

    def __init__(self, calls: WorkerCalls) -> None:
        """Call functions in these workers."""
        self._calls = calls

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        """Call it to its end."""
        what: JsonObject = {
            "function": text("python", request, "function"),
            "kwargs": mapping("python", request, "kwargs"),
        }
        return self._calls.call("python", what, request, host)
