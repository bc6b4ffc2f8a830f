"""Exit code 4: two sides changed the same thing."""

from typing import ClassVar

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import Conflicted


class ConflictsUnresolved(Conflicted):
    """The plan cannot go on before the conflicts that stopped it are mended."""

    message: ClassVar[str] = "plan {plan_id} has {count} unresolved conflicts: {paths}"
    hint: ClassVar[str] = Advice(
        "mend them in the sandbox that ",
        NextStep("status", plan="{plan_id}"),
        " names, then ",
        NextStep("resolve", plan="{plan_id}"),
    )


class SubplanConflicts(Conflicted):
    """What a child plan made and what its parent's sandboxes hold overlap; the plan waits in `constrained`."""

    message: ClassVar[str] = "merging child plan {child!r} left conflicts in paths: {count}"
    hint: ClassVar[str] = Advice(
        "mend the paths that ",
        NextStep("status", plan="{plan_id}"),
        " lists in the sandbox, then ",
        NextStep("resolve", plan="{plan_id}"),
        " and ",
        NextStep("resume", plan="{plan_id}"),
    )


class ChildConstrained(SubplanConflicts):
    """A child plan waits with conflicts of its own, and its parent with it."""

    message: ClassVar[str] = "child plan {child!r} ({child_plan_id}) waits with conflicts of its own: {count}"
    hint: ClassVar[str] = Advice(
        "mend them in its sandbox, then ",
        NextStep("resolve", plan="{child_plan_id}"),
        " and ",
        NextStep("resume", plan="{plan_id}"),
    )


class ApplyConflicted(Conflicted):
    """What a plan made, or what is to be taken back, and what others did since do not go together."""

    message: ClassVar[str] = "in conflict with what others changed since: {paths}"
    hint: ClassVar[str] = (
        "no real resource was changed; mend these in the real resource or in the sandbox, then run the command again"
    )
