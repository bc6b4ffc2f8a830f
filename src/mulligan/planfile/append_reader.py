"""A plan file whose steps are appended to a decision: a child plan of the plan that decided."""

from collections.abc import Collection, Mapping

from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.plans.step import ChildPlan
from mulligan.domain.plans.tool import ToolDeclaration
from mulligan.domain.text.json_value import Json
from mulligan.planfile.document_value import Value
from mulligan.planfile.plan_reader import KEYS, read_name, read_variables
from mulligan.planfile.references import Names
from mulligan.planfile.step_reader import Surroundings, read_steps
from mulligan.planfile.yaml_document import ROOT_PATH, read_document, shorten

_OF_THE_PLAN = ("resources", "config", "rollback_policy")  # what a child plan has from its parent


def read_appended(
    data: bytes,
    *,
    file: str,
    definition: PlanDefinition,
    outputs: Mapping[str, Json],
    declarations: Mapping[str, ToolDeclaration],
) -> ChildPlan:
    """The child plan that a file describes, or PlanFileInvalid with the place of the first fault.

    Its steps work on the resources of the plan, and may name its variables and `outputs`.
    """
    root = Value(file, ROOT_PATH, read_document(data, file))
    found = root.keys(KEYS, required=("name", "steps"))
    for key in _OF_THE_PLAN:
        if key in found:
            raise found[key].wrong(f"what is appended goes by the `{key}` of plan {shorten(definition.name)}")
    name = read_name(found["name"])
    if name == definition.name:
        raise found["name"].wrong(
            f"{shorten(name)} is the plan that the steps are appended to; they become a child plan with its own name"
        )
    own = found.get("variables")
    names = Names.known(_without(definition.variables, own), outputs)
    variables = read_variables(own, names) if own is not None else {}
    around = Surroundings(
        declarations=declarations,
        resources={resource.name: resource for resource in definition.resources},
        checkpoints=definition.rollback_policy.enabled,
    )
    steps = read_steps(found["steps"], around, names)
    description = found["description"].text() if "description" in found else ""
    return ChildPlan(name=name, depends_on=(), steps=steps, description=description, variables=variables)


def _without(variables: Collection[str], own: Value | None) -> list[str]:
    """Return the variables of the plan that the file does not set again."""
    anew = {key.key_text for key, _ in own.entries()} if own is not None else set[str]()
    return [name for name in variables if name not in anew]
