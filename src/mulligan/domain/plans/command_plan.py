"""Any command as a plan of one `shell` step: its words are taken as they are."""

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import count

from msgspec.structs import replace

from mulligan.domain.plans.interpolation import OPENING, output_of
from mulligan.domain.plans.plan import PlanDefinition, RollbackPolicy
from mulligan.domain.plans.step import Step, ToolUse
from mulligan.domain.resources.resource import Resource
from mulligan.domain.text.json_value import Json
from mulligan.domain.text.names import plan_name_problem
from mulligan.errors import Advice, NextStep, UsageWrong

_SPECIAL = frozenset('"$`\\!')  # in double quotes, for a shell
_LONGEST = 60  # characters of a command as the name of its plan and step


def command_plan(
    words: Sequence[str], *, resource: Resource, folder: str, name: str | None, keep: bool = False
) -> PlanDefinition:
    """The plan that runs these words in this folder of the resource, which is relative to it.

    With `keep` it is complete whatever the exit status of the command.
    """
    refuse_unfit(words, name)
    step, variables = command_step(words, folder, {}, keep=keep)
    called = name or program_of(words[0])
    whole = shown(typed(words))
    return PlanDefinition(
        name=called,
        description="" if whole == called else whole,
        resources=(resource,),
        config={},
        rollback_policy=RollbackPolicy(),
        variables=variables,
        command=True,
        steps=(step,),
    )


def words_of(definition: PlanDefinition) -> tuple[str, ...] | None:
    """Return the words of a plan that runs one command; None: it is another plan, or has more steps."""
    if not definition.command or len(definition.steps) != 1:
        return None
    action = definition.steps[0].action
    argv = action.args.get("argv") if isinstance(action, ToolUse) else None
    if not isinstance(argv, list):
        return None
    literals = {f"{OPENING} {key} }}}}": text for key, text in definition.variables.items()}
    return tuple(literals.get(str(word), str(word)) for word in argv)


def with_command(
    definition: PlanDefinition, words: Sequence[str], *, folder: str, keep: bool
) -> PlanDefinition:
    """The plan with one more step at its end, which runs these words in this folder of its first resource."""
    refuse_unfit(words, None)
    step, variables = command_step(words, folder, definition.variables, keep=keep)
    taken = {output_of(each.name).environment_name for each in definition.steps}
    names = (f"{step.name} ({number})" if number > 1 else step.name for number in count(1))
    free = next(name for name in names if output_of(name).environment_name not in taken)
    return replace(definition, variables=variables, steps=(*definition.steps, replace(step, name=free)))


def command_step(
    words: Sequence[str], folder: str, variables: Mapping[str, str], *, keep: bool
) -> tuple[Step, dict[str, str]]:
    """Return the step that runs these words, and the variables of its plan.

    A word that holds what would be replaced in an argument is handed over as a variable: what a variable holds is not
    looked at again.
    """
    known = dict(variables)

    def literal(text: str) -> str:
        if OPENING not in text:
            return text
        key = next(key for number in count(1) if (key := f"word-{number}") not in known)
        known[key] = text
        return f"{OPENING} {key} }}}}"

    args: dict[str, Json] = {"argv": [literal(word) for word in words]}
    if folder != ".":
        args["cwd"] = literal(folder)
    use = ToolUse(tool="shell", resource=None, args=args)
    return Step(name=_title(words), action=use, label=None, timeout=None, retries=0, keep=keep), known


def refuse_unfit(words: Sequence[str], name: str | None) -> None:
    """Refuse a command without a program, and a name that a plan cannot have."""
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


def program_of(word: str) -> str:
    """The name of a plan that has no other: that of its program, without the folders before it."""
    name = shown(word.rstrip("/").rpartition("/")[2])[:_LONGEST].strip()
    return name if plan_name_problem(name) is None else f"run {name}".strip()


def _title(words: Sequence[str]) -> str:
    """The command as a name: what cannot be seen is left out, and so is what is too long to be read."""
    return cut_title(shown(typed(words)))


def typed(words: Sequence[str]) -> str:
    """Return the command as one would type it, with double quotes around a word that has single ones."""
    return " ".join(f'"{w}"' if "'" in w and not _SPECIAL & {*w} else shlex.quote(w) for w in words)


def cut_title(text: str) -> str:
    """Return the beginning of a text that is too long to be the name of a step."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"


def shown(text: str) -> str:
    """Return a text in one line, without what cannot be seen."""
    return re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in text)).strip()
