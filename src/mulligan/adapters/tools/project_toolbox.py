"""The toolbox of a project: the built-in tools, and those of the user's own.

What the user's own need is imported when a plan names one: few plans do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.adapters.tools.worker.worker_calls import WorkerCalls
from mulligan.adapters.tools.worker.worker_process import Workers
from mulligan.domain.plans.tool import ToolDeclaration, tool_unknown
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import Json
from mulligan.errors import ToolsInvalid
from mulligan.ports import StepHost, Tool, ToolRequest

if TYPE_CHECKING:
    from mulligan.adapters.tools.user_tools.entry_points import PackagedTools
    from mulligan.adapters.tools.user_tools.tool_discovery import OwnTools
    from mulligan.adapters.tools.user_tools.user_tool import OwnTool


class ProjectToolbox:
    """Built-in tools first; a name that is none of theirs is looked for among the user's own."""

    def __init__(
        self,
        *,
        built_in: LocalToolbox,
        home: Path,
        machine: str,
        installed: "Callable[[], Sequence[PackagedTools]]",
    ) -> None:
        """Look for a tools.py in this project home, and for packages with `installed`, when a tool is needed."""
        self._built_in = built_in
        self._home = home
        self._machine = machine
        self._installed = installed
        # Workers of their own: in one that ran a step's function, a sandbox's modules may be loaded.
        self._workers = Workers(built_in.launchers, "own_worker")
        # Relative folders of a PYTHONPATH are meant from the project, and must not lead into a sandbox.
        self._calls = WorkerCalls(self._workers, start_in=home.parent)

    @cached_property
    def own(self) -> "OwnTools":
        """The tools of the user's own; nothing of them is looked at yet."""
        from mulligan.adapters.tools.user_tools.tool_discovery import OwnTools
        from mulligan.adapters.tools.user_tools.tools_file import NAME, TrustRecord

        return OwnTools(
            path=self._home / NAME,
            record=TrustRecord(self._home, self._machine),
            calls=self._calls,
            reserved=frozenset(self._built_in.declarations()),
            installed=self._installed,
        )

    def declarations(self) -> Mapping[str, ToolDeclaration]:
        """Every tool by name; the user's own are loaded when a name is asked for that is not built in."""
        return _Declarations(self._built_in.declarations(), lambda: self.own)

    def tool(self, name: str) -> Tool:
        return self._built_in.tool(name) if name in self._built_in.declarations() else self._own_tool(name)

    def _own_tool(self, name: str) -> "OwnTool":
        found = self.own.find(name)
        if found is None:
            raise tool_unknown(name, self.declarations())
        return found

    def built_in(self) -> Mapping[str, ToolDeclaration]:
        return self._built_in.declarations()

    def require(self, name: str) -> None:
        with suppress(ToolsInvalid):  # the step that uses it reports that
            self.own.find(name)

    def undo(self, name: str, request: ToolRequest, result: Json, host: StepHost) -> None:
        self._own_tool(name).undo(request, result, host)

    def forget_processes(self) -> None:
        self._workers.forget(None)
        self._built_in.forget_processes()

    def end_survivors(self, plan_id: PlanId, sandboxes: Sequence[Sandbox]) -> tuple[str, ...]:
        self._workers.forget(plan_id)
        return self._built_in.end_survivors(plan_id, sandboxes)


class _Declarations(Mapping[str, ToolDeclaration]):
    """The declarations of all tools; users' tools are loaded one by one."""

    def __init__(self, built_in: Mapping[str, ToolDeclaration], own: "Callable[[], OwnTools]") -> None:
        self._built_in = built_in
        self._own = own

    def __getitem__(self, name: str) -> ToolDeclaration:
        if name in self._built_in:
            return self._built_in[name]
        found = self._own().find(name)
        if found is None:
            raise KeyError(name)
        return found.declaration

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from sorted(tool.declaration.name for tool in self._own().all()[0])

    def __len__(self) -> int:
        return sum(1 for _ in self)
