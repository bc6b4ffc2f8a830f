"""Child plans that are read while their parent plan exists: those that a tool spawns, and those that are appended."""

import json
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.plans.step import ChildPlan, Subplans
from mulligan.domain.plans.tool import ToolDeclaration
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.domain.text.names import plan_name_problem
from mulligan.planfile.document_value import Value
from mulligan.planfile.plan_reader import KEYS, read_variables
from mulligan.planfile.references import Names
from mulligan.planfile.step_reader import Surroundings, read_name, read_steps, read_subplans
from mulligan.planfile.yaml_document import ROOT_PATH, read_document, shorten

_OF_THE_PLAN = ("resources", "config", "rollback_policy")  # what a child plan has from its parent


def read_spawn(
    document: JsonObject,
    *,
    place: str,
    definition: PlanDefinition,
    outputs: Collection[str],
    declarations: Mapping[str, ToolDeclaration],
) -> Subplans:
    """Read a document like the `subplans:` of a step, or raise PlanFileInvalid with the first fault.

    `place` is its name in messages; `outputs` are the steps whose outputs its steps may name.
    """
    data = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    around = Surroundings.of(definition.resources, definition.rollback_policy, declarations)
    names = Names.known(definition.variables, outputs)
    return read_subplans(Value(place, ROOT_PATH, read_document(data, place)), around, names)


def read_appended(
    data: bytes,
    *,
    file: str,
    definition: PlanDefinition,
    outputs: Mapping[str, Json],
    declarations: Mapping[str, ToolDeclaration],
) -> ChildPlan:
    """Read a plan file whose steps are appended to a decision, or raise PlanFileInvalid with the first fault.

    Its steps work on the resources of the plan, and may name its variables and `outputs`.
    """
    root = Value(file, ROOT_PATH, read_document(data, file))
    found = root.keys(KEYS, required=("name", "steps"))
    for key in _OF_THE_PLAN:
        if key in found:
            raise found[key].wrong(f"what is appended goes by the `{key}` of plan {shorten(definition.name)}")
    name = read_name(found["name"], plan_name_problem)
    if name == definition.name:
        raise found["name"].wrong(
            f"{shorten(name)} is the plan that the steps are appended to; they become a child plan with its own name"
        )
    own = found.get("variables")
    set_again = {key.key_text for key, _ in own.entries()} if own is not None else set[str]()
    names = Names.known([each for each in definition.variables if each not in set_again], outputs)
    variables = read_variables(own, names) if own is not None else {}
    around = Surroundings.of(definition.resources, definition.rollback_policy, declarations)
    around = replace(around, inside=True)
    steps = read_steps(found["steps"], around, names)
    description = found["description"].text() if "description" in found else ""
    return ChildPlan(name=name, depends_on=(), steps=steps, description=description, variables=variables)
