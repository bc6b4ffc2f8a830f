"""The status of a plan: steps, counts and errors. The fields are named as in the JSON output."""

from msgspec import Struct

from mulligan.domain.plans.step import StepRecord


class StepView(StepRecord, frozen=True, kw_only=True):
    """A step, and the ends of what its newest call printed; None: it printed nothing that is recorded."""

    about: str | None = None  # what a step without a name of its own does
    exit_status: int | None = None  # of a command; negative: the signal that ended it
    stdout: str | None = None
    stderr: str | None = None
    stdout_omitted: int | None = None  # bytes that are not in it
    stderr_omitted: int | None = None
    taken: bool = False  # it failed or was cut off, and its changes count all the same

    @property
    def shown(self) -> str:
        """The name of the step for people, with what it does if it has no name of its own."""
        return titled(self.name, self.about)


def titled(name: object, about: object) -> str:
    """Return the name of a step for people: `step-1: make test`."""
    return f"{name}: {about}" if about else str(name)


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
