"""StepContext: what a Python tool can ask of the plan it runs in.

It lives in the worker process and talks to the runner; it needs nothing but the standard library, for the
worker's interpreter need not have mulligan's dependencies.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

Ask = Callable[[str, dict[str, Any]], Any]  # sends a request to the runner and waits for its answer


class StepContext:
    """The plan as a Python tool sees it: where its files are, what came before, and what it may record."""

    state: dict[str, Any]
    """A JSON dict that is part of every checkpoint and comes back with it."""

    def __init__(self, call: Mapping[str, Any], ask: Ask) -> None:
        self.state = dict(call["memory"])
        self._ask = ask
        self._root = Path(call["root"])
        self._sandboxes = {name: Path(path) for name, path in call["sandboxes"].items()}
        self._variables: Mapping[str, str] = MappingProxyType(call["variables"])
        self._outputs: Mapping[str, Any] = MappingProxyType(call["outputs"])
        self._guidance: str = call["guidance"]

    def path(self, resource: str | None = None) -> Path:
        """The sandbox of a resource (without a name: of the step's own): its folder, or its database file."""
        if resource is None:
            return self._root
        if resource not in self._sandboxes:
            known = ", ".join(sorted(self._sandboxes))
            raise LookupError(f"the plan has no resource {resource!r}; it has: {known}")
        return self._sandboxes[resource]

    @property
    def variables(self) -> Mapping[str, str]:
        """The plan's variables."""
        return self._variables

    @property
    def outputs(self) -> Mapping[str, Any]:
        """The outputs of earlier steps, by step name."""
        return self._outputs

    @property
    def guidance(self) -> str:
        """The guidance of corrections; empty without one."""
        return self._guidance

    def record_decision(
        self,
        question: str,
        *,
        chosen: str,
        alternatives: Iterable[str] = (),
        rationale: str | None = None,
        **metadata: Any,
    ) -> str:
        """Record a choice with its checkpoint; return the decision's id."""
        others = checked_choice(question, chosen, alternatives, rationale)
        choice = {"question": question, "chosen": chosen, "alternatives": others, "rationale": rationale}
        return self._ask("record_decision", {"choice": choice, "metadata": metadata})

    def checkpoint(self, label: str, **metadata: Any) -> str:
        """Take a labelled checkpoint now; return its group's id."""
        require_texts(label=label)
        return self._ask("checkpoint", {"label": label, "metadata": metadata})

    def log(self, message: str) -> None:
        """Write a line into the plan's log."""
        self._ask("log", {"message": str(message)})

    def spawn(
        self,
        plans: Iterable[Mapping[str, Any]],
        *,
        mode: str = "parallel",
        max_parallel: int | None = None,
        merge_strategy: str = "three_way",
        fail_fast: bool = False,
        max_retries: int = 0,
    ) -> list[dict[str, Any]]:
        """Run child plans on the sandboxes as they are now, and merge them; return id, name and outputs of each.

        The plans and the words are those of a plan file's `subplans:`. A child that fails, and a conflict, end
        this call too.
        """
        subplans = {
            "mode": mode,
            "merge_strategy": merge_strategy,
            "fail_fast": fail_fast,
            "max_retries": max_retries,
            "plans": [dict(plan) for plan in plans],
        }
        if max_parallel is not None:
            subplans["max_parallel"] = max_parallel
        return self._ask("spawn", {"subplans": subplans})


def checked_choice(
    question: str, chosen: str, alternatives: Iterable[str], rationale: str | None
) -> list[str]:
    """Refuse a choice that cannot be recorded; return its alternatives."""
    require_texts(question=question, chosen=chosen, rationale="" if rationale is None else rationale)
    if isinstance(alternatives, str):
        raise TypeError("alternatives must be a list of texts, not one text")
    others = list(alternatives)
    require_texts(**{f"alternatives[{at}]": other for at, other in enumerate(others)})
    return others


def require_texts(**values: object) -> None:
    """Refuse values that are not texts, by name."""
    for name, value in values.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a text, not {type(value).__name__}")
