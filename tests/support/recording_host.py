"""A step's host that writes down what a tool asks of it, and calls of tools ready to run."""

import itertools
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from mulligan.domain.plans.decision import Choice
from mulligan.domain.resources.appearance import Appearance
from mulligan.domain.resources.bounds import Bounds
from mulligan.domain.text.ids import CallId, DecisionId, GroupId, PlanId
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.ports import ToolRequest

PLAN = PlanId(f"plan-of-{os.getpid()}")  # tests may run side by side, and end each other's processes
_CALLS = itertools.count()


class RecordingHost:
    """Records everything, and fails where it is told to."""

    def __init__(self) -> None:
        self.shown = bytearray()
        self.decisions: list[tuple[Choice, JsonObject]] = []
        self.labels: list[tuple[str, JsonObject]] = []
        self.lines: list[str] = []
        self.spawned: list[JsonObject] = []
        self.memories: list[JsonObject] = []
        self.failure: BaseException | None = None

    def record_decision(self, choice: Choice, metadata: JsonObject) -> DecisionId:
        self._fail()
        self.decisions.append((choice, metadata))
        return DecisionId(f"decision-{len(self.decisions)}")

    def checkpoint(self, label: str, metadata: JsonObject) -> GroupId:
        self._fail()
        self.labels.append((label, metadata))
        return GroupId(f"group-{len(self.labels)}")

    def spawn(self, document: JsonObject) -> Json:
        self._fail()
        self.spawned.append(document)
        return [{"plan_id": "child-1", "name": "a", "outputs": {"s": "done"}}]

    def log(self, message: str) -> None:
        self.lines.append(message)

    def output(self, data: bytes) -> None:
        self.shown += data
        if b"interrupt me" in data:
            raise KeyboardInterrupt

    def save_memory(self, memory: JsonObject) -> None:
        self.memories.append(memory)

    def while_waiting(self, now: float, learn: Callable[[], None]) -> float | None:
        return None

    def _fail(self) -> None:
        if self.failure:
            raise self.failure


def a_request(
    root: Path,
    args: Mapping[str, Json],
    *,
    plan_id: PlanId = PLAN,
    timeout: float | None = 30.0,
    environment: Mapping[str, str] | None = None,
    memory: JsonObject | None = None,
    sandboxes: Mapping[str, Path] | None = None,
    large_values: Mapping[str, str] | None = None,
    bounds: Bounds | None = None,
    script_root: Path | None = None,
    appearance: Appearance | None = None,
) -> ToolRequest:
    """One call of a tool over a sandbox."""
    return ToolRequest(
        call_id=CallId(f"call-{os.getpid()}-{next(_CALLS)}"),
        plan_id=plan_id,
        step_name="a step",
        args=args,
        root=root,
        script_root=script_root,
        sandboxes=sandboxes or {"workspace": root},
        variables={"version": "2.0"},
        outputs={"earlier": {"answer": 42}},
        memory=memory or {},
        guidance="be brief",
        environment=environment or {},
        large_values=large_values or {},
        timeout=timeout,
        bounds=bounds,
        appearance=appearance,
    )
