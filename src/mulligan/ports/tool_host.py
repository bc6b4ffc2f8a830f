"""Tools: what a step can call, and what a running tool can ask for."""

# pyright: reportReturnType=none
# (a method of a protocol has no body)
from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.domain.plans.decision import Choice
    from mulligan.domain.plans.tool import ToolDeclaration, ToolResult
    from mulligan.domain.resources.appearance import Appearance
    from mulligan.domain.resources.bounds import Bounds
    from mulligan.domain.resources.resource import Sandbox
    from mulligan.domain.text.ids import CallId, DecisionId, GroupId, PlanId
    from mulligan.domain.text.json_value import Json, JsonObject
    from mulligan.ports.streams import Streams


class StepHost(Protocol):
    """The requests that a running tool can make to its plan."""

    def record_decision(self, choice: Choice, metadata: JsonObject) -> DecisionId:
        """Record a choice, with the checkpoint group that belongs to it."""

    def checkpoint(self, label: str, metadata: JsonObject) -> GroupId:
        """Take a labelled group now."""

    def spawn(self, document: JsonObject) -> Json:
        """Run and merge child plans, given as the `subplans:` of a step are; return the result of each."""

    def log(self, message: str) -> None:
        """Write a line into the plan's log."""

    def output(self, data: bytes) -> None:
        """Show what the tool printed, live."""

    def save_memory(self, memory: JsonObject) -> None:
        """Take over the tool's StepContext.state: part of every group from now on."""

    def while_waiting(self, now: float, learn: Callable[[], None]) -> float | None:
        """Do what is due while the tool waits for its processes; return after how many seconds to call again.

        It is quick. None: it need not be called again. `now` is the time of any clock, the same each time; `learn`
        is called before anything looks at the sandboxes, and says what the processes did that no watch sees.
        """


class ToolRequest(Struct, frozen=True, kw_only=True):
    """One call of a tool, ready to run."""

    call_id: CallId
    plan_id: PlanId
    step_name: str
    args: Mapping[str, Json]  # checked, with ${{ … }} replaced
    root: Path  # sandbox of the step's resource
    script_root: Path | None  # sandbox of the plan's first file resource; None: it has databases only
    sandboxes: Mapping[str, Path]  # by resource name
    variables: Mapping[str, str]
    outputs: Mapping[str, Json]  # by step name
    memory: JsonObject
    guidance: str
    environment: Mapping[str, str]  # MULLIGAN_VAR_… and the like, for the tool's processes
    large_values: Mapping[str, str]  # …_FILE -> content that no variable can hold: the variable names a file
    timeout: float | None  # seconds
    bounds: Bounds | None  # what the tool's processes may write; None: whatever the user may
    appearance: Appearance | None  # where they see the sandboxes; None: at the sandboxes' own paths
    streams: Streams | None = (
        None  # what its command is attached to; None: it has no input, and is shown live
    )


class Tool(Protocol):
    """Something a step can call."""

    declaration: ToolDeclaration

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        """Do it, or raise ToolFailed. When it returns or raises, no process of the call is alive."""


class Toolbox(Protocol):
    """The tools of one run and the processes they keep."""

    def declarations(self) -> Mapping[str, ToolDeclaration]:
        """Every tool by name."""

    def tool(self, name: str) -> Tool:
        """The tool of that name."""

    def require(self, name: str) -> None:
        """Have the tool at hand, if there is one: ToolsUntrusted where its code may not be loaded."""

    def undo(self, name: str, request: ToolRequest, result: Json, host: StepHost) -> None:
        """Take back what a call of the tool did outside the sandboxes: what it was asked for, and its result.

        ToolFailed or ToolUnknown where that cannot be. It can be repeated: a return that was cut off is.
        """

    def forget_processes(self) -> None:
        """End processes that are kept for reuse: the files they imported are about to change under them."""

    def end_survivors(self, plan_id: PlanId, sandboxes: Sequence[Sandbox]) -> tuple[str, ...]:
        """End what a killed runner's step left running in the plan's sandboxes or elsewhere, and describe each.

        ProcessSurvives, before anything is restored, where one cannot be ended.
        """


class Confinement(Protocol):
    """Confines what the processes of tools may write, with the means of the operating system."""

    def lacking(self) -> str | None:
        """Return why this system cannot; None where it can."""

    def opens_home(self, path: str) -> bool:
        """Return whether write access to everything at the path includes mulligan's own files."""

    def opens_project(self, path: str) -> bool:
        """Return whether write access to everything at the path includes the whole project folder."""

    def bounds(
        self,
        plan_id: PlanId,
        sandboxes: Sequence[Sandbox],
        besides: Sequence[str],
        appearance: Appearance | None,
    ) -> Bounds:
        """Return what tools of the plan may write: its sandboxes, temporary folders, device nodes, and `besides`.

        Paths are those that processes of the appearance see.
        """

    def stopped(self, complaint: str, folder: Path, bounds: Bounds) -> str | None:
        """The path out of bounds that what a tool printed complains of; None where it is of something else."""


class RealPlaces(Protocol):
    """Shows the processes of tools their sandboxes in the places of the real resources."""

    def lacking(self) -> str | None:
        """Return why this system cannot; None where it can."""

    def show(self, sandboxes: Sequence[Sandbox], lenders: Sequence[tuple[str, str]]) -> Appearance:
        """Return where processes of a plan see its sandboxes, once that was tried; RealPathImpossible if it failed.

        `lenders` are folders that sandboxes borrow from, each with a second place at which they look for it.
        """

    def ways_back(self, sandboxes: Sequence[Sandbox]) -> Sequence[str]:
        """Return what leads processes of sandboxes to the real resources, in words; a quick look."""
