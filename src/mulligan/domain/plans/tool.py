"""Tools: what a step can call, what it declares to do, and the record of one call."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from mulligan.domain.resources.resource import ResourceType
from mulligan.domain.text.ids import CallId, PlanId
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.domain.text.names import nearest_word
from mulligan.errors import ToolUnknown


class ArgumentType(StrEnum):
    """The type of a tool's argument; messages use these words."""

    TEXT = "text"
    PATH = "path"  # text that must stay inside the sandbox
    COMMAND = "command"  # text for a shell: never interpolated
    TEXT_LIST = "list of texts"
    TEXT_MAP = "mapping of texts"
    MODE = "file mode"  # an octal number such as 0644, as text or as YAML reads it
    FLAG = "true or false"
    WHOLE = "whole number"
    NUMBER = "number"
    FUNCTION = "module:name"
    ANYTHING = "anything"
    LIST = "list"
    MAP = "mapping"


class Argument(Struct, frozen=True):
    """One argument a tool takes."""

    name: str
    type: ArgumentType
    required: bool


class ToolDeclaration(Struct, frozen=True, kw_only=True):
    """The declaration of a tool: its name, arguments and permitted effects."""

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    exactly_one_of: tuple[str, ...]  # of these arguments one must be given; empty: no such rule
    resource_types: frozenset[ResourceType]  # what its step's resource may be
    writes: bool
    read_only: bool
    checkpointable: bool
    idempotent: bool
    side_effects: tuple[str, ...]
    timeout: float | None  # seconds; a step's own timeout wins
    at_real_path: bool = False  # whether its processes see sandboxes in the places of the real resources
    undoable: bool = False  # whether it has an `undo`, which takes back what a call did outside the sandboxes

    def argument(self, name: str) -> Argument | None:
        """The argument of that name."""
        return next((a for a in self.arguments if a.name == name), None)

    @property
    def undo(self) -> "Undo":
        """Return how a finished call can be undone."""
        if self.undoable:
            return Undo.POSSIBLE
        return Undo.IMPOSSIBLE if EXTERNAL in self.side_effects else Undo.NOT_NEEDED


EXTERNAL = "external"  # the side effect of a tool whose effects leave the sandboxes


class Undo(StrEnum):
    """The undo of a tool call's effects outside the sandboxes; recorded with the call."""

    NOT_NEEDED = "not_needed"  # all it does, it does to the sandboxes
    POSSIBLE = "possible"  # by the tool's `undo`
    IMPOSSIBLE = "impossible"  # it has effects outside, and its tool has no `undo`
    DONE = "done"
    FAILED = "failed"  # the `undo` was called and did not succeed


def tool_unknown(name: str, known: Iterable[str]) -> ToolUnknown:
    """The error of a name that no tool has, with the nearest that one has."""
    words = list(known)
    near = nearest_word(name, words)
    listed = ", ".join(words)
    meant = {"hint": f"did you mean `{near}`? known tools: {listed}"} if near else {}
    return ToolUnknown(tool=name, known=listed, **meant)


class CallStatus(StrEnum):
    """The progress of a tool call."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class ToolResult(Struct, frozen=True, kw_only=True):
    """The result of a tool call."""

    output: Json
    detail: JsonObject  # exit status, paths written, leftovers ended: for the record and the log
    messages: tuple[str, ...]  # for the user


class ToolCall(Struct, frozen=True, kw_only=True):
    """One run of a tool."""

    call_id: CallId
    plan_id: PlanId
    seq: int
    line: int
    done_seq: int | None  # sequence number of its result; None while nothing is recorded of how it ended
    step_index: int
    step_name: str
    tool: str
    resource: str
    arguments: Mapping[str, Json]  # as written in the plan file, before replacement
    status: CallStatus
    output: Json
    detail: JsonObject
    error: str | None
    superseded: bool
    started_at: datetime
    duration_ms: int | None
    undo: Undo = Undo.NOT_NEEDED
