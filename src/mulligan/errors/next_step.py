"""Next steps as data: sentences that name operations of the API, which each front door words in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, Self, TypeAlias

# Operations of `mulligan.Project`, by their names there; `again` is the operation that was refused, or named before.
Verb: TypeAlias = Literal[
    "again", "accept", "answer", "apply", "bisect", "cancel", "checkpoints.create", "checkpoints.delete",
    "checkpoints.diff", "checkpoints.list", "checkpoints.prune", "checkpoints.restore", "checkpoints.show",
    "checkpoints.verify", "config.add", "config.get", "config.list", "config.set", "config.unset", "correct", "diff",
    "diff_of_correction", "doctor", "execute", "forget", "gc", "help", "init", "list_tree", "log", "pick_variant",
    "plans", "projects", "prune_projects", "read_path", "redo", "remove_plan", "resolve", "resolve_with",
    "restore_paths", "resume", "rollback", "run_command", "save_report", "session", "status", "timeline", "tools.list",
    "tools.trust", "tree", "try_variants", "unapply", "undo", "upgrade_database",
]  # fmt: skip

_OF_THE_PACKAGE = ("init", "projects", "prune_projects")  # the others are methods of a project


class NextStep:
    """An operation that helps, with its known parameters; `...` is for the user to fill in.

    `project`, which is not a parameter of any operation, names another project to run it in.
    """

    def __init__(self, verb: Verb, **facts: object) -> None:
        self.verb: Verb = verb
        self.facts = facts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NextStep) and (self.verb, self.facts) == (other.verb, other.facts)

    def __hash__(self) -> int:
        return hash(self.verb)

    def __str__(self) -> str:
        """Return it as a call of the API; for `again`, only the arguments to change."""
        given = ((name, "..." if value is ... else repr(value)) for name, value in self.facts.items())
        arguments = ", ".join(
            f"{name}={value}" for name, value in given if name != "project" or self.verb == "again"
        )
        if self.verb == "again":
            return arguments
        if self.verb == "help":
            return "help(mulligan.Project)"
        if "project" in self.facts:
            return f"mulligan.open({self.facts['project']!r}).{self.verb}({arguments})"
        return f"{'mulligan' if self.verb in _OF_THE_PACKAGE else 'project'}.{self.verb}({arguments})"

    __repr__ = __str__


class Advice(str):
    """Advice on what to do next: sentences, and the operations that they name.

    Its value as a string is for programs: operations are calls of the API. A front door words them in its own way.
    """

    __slots__ = ("parts",)
    parts: tuple[str | NextStep, ...]

    def __new__(cls, *parts: str | NextStep) -> Self:
        """Join these parts; advice among them is flattened."""
        flat = [p for part in parts for p in (part.parts if isinstance(part, Advice) else (part,))]
        advice = super().__new__(cls, _worded(flat, str))
        advice.parts = tuple(flat)
        return advice

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it with its operations."""
        return (type(self), self.parts)

    @property
    def steps(self) -> tuple[NextStep, ...]:
        """Return the operations that it names."""
        return tuple(part for part in self.parts if isinstance(part, NextStep))

    def worded(self, word: Callable[[NextStep], str]) -> str:
        """Return the text with every operation in these words."""
        return _worded(self.parts, word)

    def filled(self, facts: Mapping[str, object]) -> Advice:
        """Return it with placeholders such as `{plan_id}` replaced by facts."""
        return Advice(*(_filled(part, facts) for part in self.parts))


def _worded(parts: Iterable[str | NextStep], word: Callable[[NextStep], str]) -> str:
    return "".join(part if isinstance(part, str) else f"`{word(part)}`" for part in parts)


def _filled(part: str | NextStep, facts: Mapping[str, object]) -> str | NextStep:
    if isinstance(part, str):
        return part.format_map(facts)
    values = part.facts.items()
    return NextStep(part.verb, **{n: v.format_map(facts) if isinstance(v, str) else v for n, v in values})
