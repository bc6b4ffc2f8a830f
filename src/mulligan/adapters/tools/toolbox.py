"""The toolbox: the built-in tools by name, and the processes they keep."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.process.survivors import end_left_of
from mulligan.adapters.tools.worker.worker_process import Workers
from mulligan.domain.plans.tool import ToolDeclaration, tool_unknown
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import PlanId
from mulligan.ports import Tool


class LocalToolbox:
    """The built-in tools, run on this machine."""

    def __init__(
        self,
        *,
        python: str,
        base_environment: Mapping[str, str],
        scratch: Path,
        obey: Callable[[], None] | None = None,
        linked: Callable[[], None] = lambda: None,
    ) -> None:
        """Run processes with this interpreter and environment, and leave them where `obey` raises.

        `scratch` is a folder only its owner can read, for files that are handed to tools. Nothing is
        started before a tool needs it. `linked` is called when tools gave files other names, or may have.
        """
        self._launchers = Launchers(
            python=python, environment=base_environment, how="tree", obey=obey, linked=linked
        )
        self._workers = Workers(self._launchers, python)
        self._python = python
        self._environment = base_environment
        self._scratch = scratch

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
            "shell": Shell(self._launchers, self._environment, self._scratch),
            "write_file": WriteFile(),
            "delete_file": DeleteFile(),
            "edit_file": EditFile(),
            "move_file": MoveFile(),
            "apply_patch": ApplyPatch(),
            "sql": Sql(self._launchers, self._python, self._environment, self._scratch),
            "python": PythonTool(WorkerCalls(self._workers, self._environment)),
        }

    def declarations(self) -> Mapping[str, ToolDeclaration]:
        """Every tool by name."""
        return {name: tool.declaration for name, tool in self._tools.items()}

    def tool(self, name: str) -> Tool:
        """The tool of that name, or ToolUnknown."""
        if name not in self._tools:
            raise tool_unknown(name, sorted(self._tools))
        return self._tools[name]

    def forget_processes(self) -> None:
        """End the workers and launchers that are kept for the next call."""
        self._workers.forget(None)
        self._launchers.forget(None)

    def end_survivors(self, plan_id: PlanId, sandboxes: Sequence[Sandbox]) -> tuple[str, ...]:
        """End what a killed runner of the plan left running; what is kept here for the plan goes first."""
        self._workers.forget(plan_id)
        self._launchers.forget(plan_id)
        return end_left_of(plan_id, sandboxes)
