"""The tool `python`: a function of a module that is looked for in the sandbox first."""

from msgspec import Struct

from mulligan.adapters.tools.builtin.call_arguments import mapping, text
from mulligan.adapters.tools.builtin.declarations import EVERY_RESOURCE, declare
from mulligan.adapters.tools.worker.worker_calls import WorkerCalls
from mulligan.domain.plans.tool import Argument, ArgumentType, ToolResult
from mulligan.domain.text.json_value import JsonObject
from mulligan.ports import StepHost, ToolRequest


class PythonTool(Struct, frozen=True, eq=False):
    """Calls `function(context, **kwargs)`; its output is what the function returns."""

    declaration = declare(
        "python",
        "Call a Python function with a StepContext",
        Argument("function", ArgumentType.FUNCTION, required=True),
        Argument("kwargs", ArgumentType.MAP, required=False),
        resource_types=EVERY_RESOURCE,
        idempotent=False,
        at_real_path=True,
    )

    calls: WorkerCalls

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        what: JsonObject = {
            "function": text("python", request, "function"),
            "kwargs": mapping("python", request, "kwargs"),
        }
        return self.calls.call("python", what, request, host)
