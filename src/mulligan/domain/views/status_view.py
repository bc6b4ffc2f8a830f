"""The status of a plan: counts and errors. The fields are named as in the JSON output."""

from msgspec import Struct


class ExecutionCounts(Struct, frozen=True, kw_only=True):
    """Counts of the records on the live line."""

    tool_calls: int
    files_modified: int
    child_plans: int
    decisions: int
    checkpoints: int


class PlanErrorView(Struct, frozen=True, kw_only=True):
    """The reason for which a plan stopped."""

    message: str
    step: str | None
    tool: str | None
    checkpoint: str | None
    recoverable: bool
    hint: str
