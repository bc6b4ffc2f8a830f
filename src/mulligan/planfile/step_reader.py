"""`steps:` of a plan file, and the child plans inside them."""

from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from msgspec import Struct
from msgspec.structs import replace

from mulligan.config import MOST_PARALLEL
from mulligan.domain.plans.decision import Choice, Question
from mulligan.domain.plans.plan import RollbackPolicy
from mulligan.domain.plans.step import (
    Action,
    ChildPlan,
    MergeStrategy,
    Milestone,
    Step,
    SubplanMode,
    Subplans,
    ToolUse,
)
from mulligan.domain.plans.tool import ToolDeclaration
from mulligan.domain.resources.resource import Resource
from mulligan.domain.text.names import label_problem, name_problem
from mulligan.planfile.argument_reader import read_args
from mulligan.planfile.document_value import Value
from mulligan.planfile.references import Names
from mulligan.planfile.yaml_document import Entries, Node, Scalar, shorten

_MOST_RETRIES = 1000

_ACTIONS = ("tool", "run", "decision", "subplans")
_BESIDE_TOOL = ("args", "resource", "timeout", "retries", "checkpoint")
_NAMED = f"{', '.join(_ACTIONS[:-1])} and {_ACTIONS[-1]}"
_KEYS = ("name", *_ACTIONS, *_BESIDE_TOOL)


class Surroundings(Struct, frozen=True):
    """The context that the steps of a plan file share."""

    declarations: Mapping[str, ToolDeclaration]
    resources: Mapping[str, Resource]  # in order: the first is the default
    checkpoints: bool  # whether the plan takes any: its rollback_policy is enabled
    inside: bool = False  # whether the steps are those of a child plan

    @staticmethod
    def of(
        resources: Sequence[Resource], policy: RollbackPolicy, declarations: Mapping[str, ToolDeclaration]
    ) -> "Surroundings":
        """Return the context in a plan with these resources and this policy."""
        return Surroundings(declarations, {each.name: each for each in resources}, policy.enabled)


def read_steps(value: Value, around: Surroundings, names: Names) -> tuple[Step, ...]:
    """The steps of one plan, each checked against those before it."""
    items = value.items()
    if not items:
        raise value.wrong("a plan needs at least one step")
    mappings = [item.keys(_KEYS) for item in items]
    named = _names(items, mappings)
    known = names.inside(named)
    steps: list[Step] = []
    for name, item, found in zip(named, items, mappings, strict=True):
        step = _read_step(name, item, found, around, known)
        has_output = isinstance(step.action, ToolUse | Choice | Question)
        known.add_step(name, found.get("name", item), has_output=has_output)
        steps.append(step)
    return tuple(steps)


def _names(items: Sequence[Value], mappings: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """The names of a plan's steps, in order; one that has none is called after its place."""
    named: dict[str, Value] = {}
    for index, (item, found) in enumerate(zip(items, mappings, strict=True)):
        place = found.get("name", item)
        name = read_name(place) if "name" in found else f"step-{index + 1}"
        if name in named:
            raise place.wrong(f"there is already a step {shorten(name)}, in line {named[name].node.line}")
        named[name] = place
    return named


def read_name(value: Value, problem_of: Callable[[str], str | None] = name_problem) -> str:
    """Read a name; `problem_of` returns why a text cannot be one."""
    text = value.text()
    if problem := problem_of(text):
        raise value.wrong(f"the name {shorten(text)} {problem}")
    return text


def _read_step(
    name: str, item: Value, found: Mapping[str, Value], around: Surroundings, names: Names
) -> Step:
    kind = _kind(item, found)
    for key in _BESIDE_TOOL:
        fits = (
            kind == "tool" or (kind == "run" and key != "args") or (kind, key) == ("checkpoint", "checkpoint")
        )
        if key in found and not fits:
            raise found[key].wrong(f"`{key}` does not go with `{kind}`")
    retries = found["retries"].whole(0, _MOST_RETRIES) if "retries" in found else 0
    label = read_name(found["checkpoint"], label_problem) if "checkpoint" in found else None
    for key, asked in (("retries", retries > 0), ("checkpoint", label is not None)):
        if asked and not around.checkpoints:
            raise found[key].wrong(f"`{key}` needs checkpoints, and rollback_policy.enabled is false")
    return Step(
        name=name,
        action=_read_action(kind, found, around, names),
        label=label,
        timeout=found["timeout"].seconds() if "timeout" in found else None,
        retries=retries,
    )


def _kind(item: Value, found: Mapping[str, Value]) -> str:
    present = [key for key in _ACTIONS if key in found]
    if len(present) > 1:
        raise found[present[1]].wrong(f"a step has one of {_NAMED}; this has {present[0]}, too")
    if present:
        return present[0]
    if "checkpoint" not in found:
        raise item.wrong(f"a step needs one of {', '.join(_ACTIONS)} and checkpoint")
    return "checkpoint"


def _read_action(kind: str, found: Mapping[str, Value], around: Surroundings, names: Names) -> Action:
    match kind:
        case "tool":
            tool = found["tool"]
            return _read_tool_use(tool.text(), tool, found, around, names)
        case "run":
            command = found["run"]
            args = Value(command.file, command.path, _command_args(command.node))
            return _read_tool_use("shell", command, {**found, "args": args}, around, names)
        case "decision":
            return _read_choice(found["decision"], around)
        case "subplans":
            return read_subplans(found["subplans"], around, names)
        case _:
            return Milestone()


def _command_args(command: Node) -> Entries:
    """Return the arguments of the tool `shell` for what follows `run:`."""
    key = Scalar(command.line, command.column, "command", plain=True)
    return Entries(command.line, command.column, ((key, command),))


def _read_tool_use(
    name: str, tool: Value, found: Mapping[str, Value], around: Surroundings, names: Names
) -> ToolUse:
    declaration = around.declarations.get(name)
    if declaration is None:
        raise tool.unknown("tool", name, around.declarations)
    place = found.get("resource", tool)
    resource = found["resource"].text() if "resource" in found else next(iter(around.resources))
    if resource not in around.resources:
        raise place.unknown("resource", resource, around.resources)
    kind = around.resources[resource].type
    if kind not in declaration.resource_types:
        takes = ", ".join(sorted(declaration.resource_types))
        raise place.wrong(f"{declaration.name} works on {takes}; {resource!r} is of type {kind}")
    return ToolUse(
        tool=declaration.name,
        resource=resource if "resource" in found else None,
        args=read_args(found.get("args"), tool, declaration, names),
    )


def _read_choice(value: Value, around: Surroundings) -> Choice | Question:
    found = value.keys(("question", "chosen", "alternatives", "rationale"), required=("question",))
    question = found["question"].text()
    known = found["alternatives"].items() if "alternatives" in found else ()
    alternatives = tuple(item.text() for item in known)
    if "chosen" in found:
        rationale = found["rationale"].text() if "rationale" in found else None
        return Choice(
            question=question, chosen=found["chosen"].text(), alternatives=alternatives, rationale=rationale
        )
    if "rationale" in found:
        raise found["rationale"].wrong(
            "`rationale` needs `chosen`: without it, the reason comes with the answer"
        )
    if around.inside:
        raise value.wrong(
            "the key `chosen` is missing: a child plan cannot wait for an answer; ask in a step of the plan itself"
        )
    if not around.checkpoints:
        raise value.wrong("the key `chosen` is missing: a plan without checkpoints cannot wait for an answer")
    return Question(question=question, alternatives=alternatives)


# --- child plans -------------------------------------------------------------------------------------------

_MERGED = tuple(strategy for strategy in MergeStrategy if strategy is not MergeStrategy.PICK)
_SUBPLANS_KEYS = ("mode", "max_parallel", "merge_strategy", "fail_fast", "max_retries", "plans")


def read_subplans(value: Value, around: Surroundings, names: Names) -> Subplans:
    """Read the child plans of a step."""
    around = replace(around, inside=True)
    found = value.keys(_SUBPLANS_KEYS, required=("plans",))
    mode = found["mode"].word(SubplanMode) if "mode" in found else SubplanMode.PARALLEL
    merge = found["merge_strategy"].word(_MERGED) if "merge_strategy" in found else MergeStrategy.THREE_WAY
    if merge is MergeStrategy.SEQUENTIAL_APPLY and mode is SubplanMode.PARALLEL:
        raise found["merge_strategy"].wrong("sequential_apply needs `mode: sequential` or dependency_ordered")
    retries = found["max_retries"].whole(0, _MOST_RETRIES) if "max_retries" in found else 0
    if retries and not around.checkpoints:
        needs = "`max_retries` needs checkpoints, and rollback_policy.enabled is false"
        raise found["max_retries"].wrong(needs)
    return Subplans(
        mode=mode,
        max_parallel=found["max_parallel"].whole(1, MOST_PARALLEL) if "max_parallel" in found else None,
        merge_strategy=merge,
        fail_fast=found["fail_fast"].flag() if "fail_fast" in found else False,
        max_retries=retries,
        plans=_read_children(found["plans"], mode, around, names),
    )


def _read_children(
    value: Value, mode: SubplanMode, around: Surroundings, names: Names
) -> tuple[ChildPlan, ...]:
    if not value.items():
        raise value.wrong("`subplans` needs at least one plan")
    found = [item.keys(("name", "depends_on", "steps"), required=("name", "steps")) for item in value.items()]
    named: dict[str, Mapping[str, Value]] = {}
    for child in found:
        name = read_name(child["name"])
        if name in named:
            raise child["name"].wrong(
                f"there is already a plan {shorten(name)}, in line {named[name]['name'].node.line}"
            )
        named[name] = child
    depends_on = {name: _read_dependencies(name, child, mode, named) for name, child in named.items()}
    _refuse_cycle(depends_on, named)
    return tuple(
        ChildPlan(name=name, depends_on=depends_on[name], steps=read_steps(child["steps"], around, names))
        for name, child in named.items()
    )


def _read_dependencies(
    name: str, child: Mapping[str, Value], mode: SubplanMode, named: Mapping[str, Mapping[str, Value]]
) -> tuple[str, ...]:
    if "depends_on" not in child:
        return ()
    if mode is not SubplanMode.DEPENDENCY_ORDERED:
        raise child["depends_on"].wrong("`depends_on` needs `mode: dependency_ordered`")
    wanted: dict[str, None] = {}
    for item in child["depends_on"].items():
        other = item.text()
        if other == name:
            raise item.wrong(f"{shorten(name)} cannot depend on itself")
        if other not in named:
            raise item.unknown("plan", other, named)
        wanted[other] = None
    return tuple(wanted)


def _refuse_cycle(
    depends_on: Mapping[str, tuple[str, ...]], named: Mapping[str, Mapping[str, Value]]
) -> None:
    try:
        TopologicalSorter(depends_on).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        around = " -> ".join(reversed(cycle))
        raise named[cycle[0]]["depends_on"].wrong(f"the plans depend on each other: {around}") from None
