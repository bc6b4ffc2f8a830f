"""The toolbox: the built-in tools by name, and the processes they keep."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.process.survivors import end_left_of
from mulligan.adapters.tools.worker.worker_process import Workers
from mulligan.domain.plans.tool import ToolDeclaration, tool_unknown
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import PlanId
from mulligan.ports import Tool


class LocalToolbox(Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """The built-in tools, run on this machine; nothing is started before a tool needs it."""

    launchers: Launchers
    scratch: Path  # a folder only its owner can read, for files that are handed to tools

    @cached_property
    def _workers(self) -> Workers:
        return Workers(self.launchers)

    @cached_property
    def _tools(self) -> dict[str, Tool]:
        # Imported here: going back and looking around need the processes that were left, but no tool.
        from mulligan.adapters.tools.builtin.file_tools import DeleteFile, EditFile, MoveFile, WriteFile
        from mulligan.adapters.tools.builtin.python_tool import PythonTool
        from mulligan.adapters.tools.builtin.shell import Shell
        from mulligan.adapters.tools.patch.patch_tool import ApplyPatch
        from mulligan.adapters.tools.sql.sql_tool import Sql
        from mulligan.adapters.tools.worker.worker_calls import WorkerCalls

        return {
            "shell": Shell(self.launchers, self.scratch),
            "write_file": WriteFile(),
            "delete_file": DeleteFile(),
            "edit_file": EditFile(),
            "move_file": MoveFile(),
            "apply_patch": ApplyPatch(),
            "sql": Sql(self.launchers, self.scratch),
            "python": PythonTool(WorkerCalls(self._workers)),
        }

    def declarations(self) -> Mapping[str, ToolDeclaration]:
        return {name: tool.declaration for name, tool in self._tools.items()}

    def tool(self, name: str) -> Tool:
        if name not in self._tools:
            raise tool_unknown(name, sorted(self._tools))
        return self._tools[name]

    def forget_processes(self) -> None:
        self._workers.forget(None)
        self.launchers.forget(None)

    def end_survivors(self, plan_id: PlanId, sandboxes: Sequence[Sandbox]) -> tuple[str, ...]:
        self._workers.forget(plan_id)
        self.launchers.forget(plan_id)
        return end_left_of(plan_id, sandboxes)
