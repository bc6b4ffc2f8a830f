"""The toolbox of a project: the built-in tools, and those of the user's own.

What the user's own need is imported when a plan names one: few plans do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

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


class ProjectToolbox(Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """Built-in tools first; a name that is none of theirs is looked for among the user's own."""

    built_in: LocalToolbox
    home: Path  # of the project, where a tools.py may be
    machine: str  # its id
    installed: "Callable[[], Sequence[PackagedTools]]"

    @cached_property
    def _workers(self) -> Workers:
        # Workers of their own: in one that ran a step's function, a sandbox's modules may be loaded.
        return Workers(self.built_in.launchers, "own_worker")

    @cached_property
    def own(self) -> "OwnTools":
        """The tools of the user's own; nothing of them is looked at yet."""
        from mulligan.adapters.tools.user_tools.tool_discovery import OwnTools
        from mulligan.adapters.tools.user_tools.tools_file import NAME, TrustRecord

        return OwnTools(
            path=self.home / NAME,
            record=TrustRecord(self.home, self.machine),
            # Relative folders of a PYTHONPATH are meant from the project, and must not lead into a sandbox.
            calls=WorkerCalls(self._workers, start_in=self.home.parent),
            reserved=frozenset(self.built_in.declarations()),
            installed=self.installed,
        )

    def declarations(self) -> Mapping[str, ToolDeclaration]:
        """Every tool by name; the user's own are loaded when a name is asked for that is not built in."""
        return _Declarations(self.built_in.declarations(), lambda: self.own)

    def tool(self, name: str) -> Tool:
        return self.built_in.tool(name) if name in self.built_in.declarations() else self._own_tool(name)

    def _own_tool(self, name: str) -> "OwnTool":
        found = self.own.find(name)
        if found is None:
            raise tool_unknown(name, self.declarations())
        return found

    def require(self, name: str) -> None:
        with suppress(ToolsInvalid):  # the step that uses it reports that
            self.own.find(name)

    def undo(self, name: str, request: ToolRequest, result: Json, host: StepHost) -> None:
        self._own_tool(name).undo(request, result, host)

    def forget_processes(self) -> None:
        self._workers.forget(None)
        self.built_in.forget_processes()

    def end_survivors(self, plan_id: PlanId, sandboxes: Sequence[Sandbox]) -> tuple[str, ...]:
        self._workers.forget(plan_id)
        return self.built_in.end_survivors(plan_id, sandboxes)


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
