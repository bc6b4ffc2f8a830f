"""Any command as a plan of one `shell` step: its words are taken as they are."""

import re
import shlex
from collections.abc import Sequence

from mulligan.domain.plans.interpolation import OPENING
from mulligan.domain.plans.plan import PlanDefinition, RollbackPolicy
from mulligan.domain.plans.step import Step, ToolUse
from mulligan.domain.resources.resource import Resource
from mulligan.domain.text.json_value import Json
from mulligan.domain.text.names import plan_name_problem
from mulligan.errors import Advice, NextStep, UsageWrong

_LONGEST = 60  # characters of a command as the name of its plan and step


def command_plan(
    words: Sequence[str], *, resource: Resource, folder: str, name: str | None
) -> PlanDefinition:
    """The plan that runs these words in this folder of the resource, which is relative to it.

    A word that holds what would be replaced in an argument is handed over as a variable: what a variable holds is not
    looked at again.
    """
    _refuse_unfit(words, name)
    title, variables = _title(words), dict[str, str]()

    def literal(text: str) -> str:
        if OPENING not in text:
            return text
        variables[key := f"word-{len(variables) + 1}"] = text
        return f"{OPENING} {key} }}}}"

    args: dict[str, Json] = {"argv": [literal(word) for word in words]}
    if folder != ".":
        args["cwd"] = literal(folder)
    called = name or (title if plan_name_problem(title) is None else f"run {title}")
    whole = _shown(shlex.join(words))
    return PlanDefinition(
        name=called,
        description="" if whole == called else whole,
        resources=(resource,),
        config={},
        rollback_policy=RollbackPolicy(),
        variables=variables,
        steps=(
            Step(
                name=title,
                action=ToolUse(tool="shell", resource=None, args=args),
                label=None,
                timeout=None,
                retries=0,
            ),
        ),
    )


def _refuse_unfit(words: Sequence[str], name: str | None) -> None:
    if not words or not words[0]:
        raise UsageWrong(
            reason="the command is empty",
            hint=Advice(NextStep("run_command", words=("make", "test")), " runs `make test`"),
        )
    if name is not None and (problem := plan_name_problem(name)):
        raise UsageWrong(
            reason=f"the name {name!r} {problem}",
            hint=Advice("give another ", NextStep("again", name=...), ", or none"),
        )


def _title(words: Sequence[str]) -> str:
    """The command as a name: what cannot be seen is left out, and so is what is too long to be read."""
    text = _shown(shlex.join(words))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"


def _shown(text: str) -> str:
    return re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in text)).strip()
