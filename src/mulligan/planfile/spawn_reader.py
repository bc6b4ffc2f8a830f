"""Child plans that a tool asks for while it runs: read as those of a plan file are."""

import json
from collections.abc import Collection, Mapping

from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.plans.step import Subplans
from mulligan.domain.plans.tool import ToolDeclaration
from mulligan.domain.text.json_value import JsonObject
from mulligan.planfile.document_value import Value
from mulligan.planfile.references import Names
from mulligan.planfile.step_reader import Surroundings, read_subplans
from mulligan.planfile.yaml_document import ROOT_PATH, read_document


def read_spawn(
    document: JsonObject,
    *,
    place: str,
    definition: PlanDefinition,
    outputs: Collection[str],
    declarations: Mapping[str, ToolDeclaration],
) -> Subplans:
    """The child plans of a document like the `subplans:` of a step, or PlanFileInvalid with the first fault.

    `place` is what messages call it; `outputs` are the steps whose outputs its steps may name.
    """
    data = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    around = Surroundings(
        declarations=declarations,
        resources={resource.name: resource for resource in definition.resources},
        checkpoints=definition.rollback_policy.enabled,
    )
    names = Names.known(definition.variables, outputs)
    return read_subplans(Value(place, ROOT_PATH, read_document(data, place)), around, names)
