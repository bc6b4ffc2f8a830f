"""Where a plan stands, in numbers and words. The fields are named as in the JSON output."""

from msgspec import Struct


class ExecutionCounts(Struct, frozen=True, kw_only=True):
    """How much happened on the live line."""

    tool_calls: int
    files_modified: int
    child_plans: int
    decisions: int
    checkpoints: int


class PlanErrorView(Struct, frozen=True, kw_only=True):
    """Why a plan stands still."""

    message: str
    step: str | None
    tool: str | None
    checkpoint: str | None
    recoverable: bool
    hint: str
