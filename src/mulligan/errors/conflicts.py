"""Exit code 4: someone has to decide, because two sides changed the same thing or a plan asks a question."""

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import Conflicted


class ConflictsUnresolved(Conflicted):
    """The plan cannot continue until the conflicts that stopped it are resolved."""

    message = "plan {plan_id} has {count} unresolved conflicts: {paths}"
    hint = Advice(
        "resolve them in the sandbox that ",
        NextStep("status", plan="{plan_id}"),
        " names, then ",
        NextStep("resolve", plan="{plan_id}"),
    )


class SubplanConflicts(Conflicted):
    """Changes of a child plan conflict with its parent's sandboxes; the plan waits in `constrained`."""

    message = "merging child plan {child!r} left conflicts in paths: {count}"
    hint = Advice(
        "in the sandbox, resolve the paths that ",
        NextStep("status", plan="{plan_id}"),
        " lists, then ",
        NextStep("resolve", plan="{plan_id}"),
        " and ",
        NextStep("resume", plan="{plan_id}"),
    )


class ChildConstrained(SubplanConflicts):
    """A child plan has conflicts of its own; it waits, and its parent with it."""

    message = "child plan {child!r} has unresolved conflicts of its own: {count}"
    hint = Advice(
        "resolve them in its sandbox, then ",
        NextStep("resolve", plan="{child_plan_id}"),
        " and ",
        NextStep("resume", plan="{plan_id}"),
    )


class QuestionOpen(Conflicted):
    """The plan waits for someone to answer a question; nothing runs meanwhile."""

    message = "waiting for you: {question}"
    hint = Advice("answer with ", NextStep("answer", plan="{plan_id}", choice=...))


class UndoConflicted(Conflicted):
    """Others changed, since, what an undo or redo in real resources is about to change."""

    message = "others changed, since then, what is to be changed: {paths}"
    hint = (
        "nothing was changed; move these paths away or undo what was done to them, then run the command again"
    )


class UndoShared(Conflicted):
    """Several calls were open when what is to be undone changed: it may be the work of others."""

    message = "these may be the work of others too, who were at work at the same time ({others}): {paths}"
    hint = "nothing was changed; undo the calls together"


class ApplyConflicted(Conflicted):
    """Real resources changed in conflict with what is to be applied or taken back."""

    message = "conflicts with changes that others made since: {paths}"
    hint = (
        "nothing was changed; resolve them in the real resource or in the sandbox, then run the command again"
    )
