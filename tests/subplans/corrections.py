"""Decisions of plans with children, and work that is appended to them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mulligan.application.corrections.correction_result import Corrected
from mulligan.application.queries.plan_queries import PlanStatus
from mulligan.domain.plans.event import Event
from mulligan.domain.views.history_tree import NodeType, TreeNode
from tests.subplans.families import Family, Steps, note, shell

PICK = {"name": "pick", "decision": {"question": "Which?", "chosen": "this", "alternatives": ["that"]}}
ADDED = [shell(f'{note("more")}; echo "$MULLIGAN_GUIDANCE" > more', "more")]


def decisions(family: Family, plan: str = "p") -> list[TreeNode]:
    """The live decisions of a plan and its children, as the tree shows them."""

    def found(node: TreeNode) -> list[TreeNode]:
        here = [node] if node.type is NodeType.DECISION else []
        return here + [each for child in node.children for each in found(child)]

    return found(family.project().tree(plan))


def decision(family: Family, question: str = "Which?", number: int = 0) -> str:
    return [d.id for d in decisions(family) if d.about["question"] == question][number]


def guidance_id(corrected: Corrected) -> str:
    assert corrected.correction.intervention_id is not None
    return corrected.correction.intervention_id


def correction_id(corrected: Corrected) -> str:
    assert corrected.correction.correction_id is not None
    return corrected.correction.correction_id


def file_of(family: Family, steps: Steps = ADDED, name: str = "extra", **more: Any) -> Path:
    """A plan file with steps to append."""
    file = family.folder / f"{name}.yaml"
    file.write_text(json.dumps({"name": name, **more, "steps": steps}))
    return file


def append(
    family: Family,
    steps: Steps | None = ADDED,
    to: str | None = None,
    *,
    guidance: str = "and more",
    act: Callable[[Event], None] | None = None,
    **options: Any,
) -> tuple[PlanStatus, Corrected]:
    project = family.project(act) if act else family.project()
    mended = file_of(family, steps) if steps is not None else None
    wanted = to or decision(family)
    return project.correct(wanted, guidance=guidance, mode="append", corrected=mended, **options)
