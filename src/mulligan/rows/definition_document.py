"""Plan definitions as JSON documents, for the column that keeps them."""

import json
from typing import cast

from mulligan.domain.plans.decision import Choice
from mulligan.domain.plans.plan import OnFailure, PlanDefinition, RollbackPolicy
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
from mulligan.domain.resources.resource import Resource, ResourceType, Strategy
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.rows.columns import json_text


def definition_to_text(definition: PlanDefinition) -> str:
    """Write a definition so that `definition_from_text` returns an equal one."""
    session: JsonObject = {"session": True} if definition.session else {}
    return json_text(
        {
            **session,
            "name": definition.name,
            "description": definition.description,
            "resources": [_resource(r) for r in definition.resources],
            "config": dict(definition.config),
            "rollback_policy": {
                "enabled": definition.rollback_policy.enabled,
                "require_checkpoints": definition.rollback_policy.require_checkpoints,
                "on_failure": definition.rollback_policy.on_failure.value,
            },
            "variables": cast("JsonObject", dict(definition.variables)),
            "steps": [_step(s) for s in definition.steps],
        }
    )


def definition_from_text(text: str) -> PlanDefinition:
    """Read back what `definition_to_text` wrote."""
    document = json.loads(text)
    policy = document["rollback_policy"]
    return PlanDefinition(
        name=document["name"],
        description=document["description"],
        resources=tuple(_read_resource(r) for r in document["resources"]),
        config=document["config"],
        rollback_policy=RollbackPolicy(
            enabled=policy["enabled"],
            require_checkpoints=policy["require_checkpoints"],
            on_failure=OnFailure(policy["on_failure"]),
        ),
        variables=document["variables"],
        steps=tuple(_read_step(s) for s in document["steps"]),
        session=document.get("session", False),
    )


def _resource(resource: Resource) -> JsonObject:
    return {
        "name": resource.name,
        "type": resource.type.value,
        "location": resource.location,
        "strategy": resource.strategy.value if resource.strategy else None,
        "from": resource.from_revision,
        "create": resource.create,
    }


def _read_resource(document: "dict[str, object]") -> Resource:
    strategy = document["strategy"]
    return Resource(
        name=str(document["name"]),
        type=ResourceType(document["type"]),
        location=str(document["location"]),
        strategy=Strategy(strategy) if strategy else None,
        from_revision=cast("str | None", document["from"]),
        create=bool(document["create"]),
    )


def _step(step: Step) -> JsonObject:
    appended: JsonObject = {"appended": step.appended} if step.appended else {}
    return {
        **appended,
        "name": step.name,
        "label": step.label,
        "timeout": step.timeout,
        "retries": step.retries,
        **_action(step.action),
    }


def _action(action: Action) -> JsonObject:
    match action:
        case ToolUse():
            return {"tool": action.tool, "resource": action.resource, "args": dict(action.args)}
        case Choice():
            return {
                "decision": {
                    "question": action.question,
                    "chosen": action.chosen,
                    "alternatives": list(action.alternatives),
                    "rationale": action.rationale,
                }
            }
        case Subplans():
            return {
                "subplans": {
                    "mode": action.mode.value,
                    "max_parallel": action.max_parallel,
                    "merge_strategy": action.merge_strategy.value,
                    "fail_fast": action.fail_fast,
                    "max_retries": action.max_retries,
                    "plans": [_child(p) for p in action.plans],
                }
            }
        case Milestone():
            return {}


def _child(child: ChildPlan) -> Json:
    own: JsonObject = {"variables": cast("JsonObject", dict(child.variables))} if child.variables else {}
    given: JsonObject = {"outputs": dict(child.outputs)} if child.outputs else {}
    described: JsonObject = {"description": child.description} if child.description else {}
    return {
        **described,
        **own,
        **given,
        "name": child.name,
        "depends_on": list(child.depends_on),
        "steps": [_step(s) for s in child.steps],
    }


def _read_step(document: "dict[str, object]") -> Step:
    return Step(
        name=str(document["name"]),
        action=_read_action(document),
        label=cast("str | None", document["label"]),
        timeout=cast("float | None", document["timeout"]),
        retries=cast("int", document["retries"]),
        appended=cast("str | None", document.get("appended")),
    )


def _read_action(document: "dict[str, object]") -> Action:
    if "tool" in document:
        return ToolUse(
            tool=str(document["tool"]),
            resource=cast("str | None", document["resource"]),
            args=cast("JsonObject", document["args"]),
        )
    if "decision" in document:
        choice = cast("dict[str, object]", document["decision"])
        return Choice(
            question=str(choice["question"]),
            chosen=str(choice["chosen"]),
            alternatives=tuple(cast("list[str]", choice["alternatives"])),
            rationale=cast("str | None", choice["rationale"]),
        )
    if "subplans" in document:
        return _read_subplans(cast("dict[str, object]", document["subplans"]))
    return Milestone()


def _read_subplans(document: "dict[str, object]") -> Subplans:
    return Subplans(
        mode=SubplanMode(document["mode"]),
        max_parallel=cast("int | None", document["max_parallel"]),
        merge_strategy=MergeStrategy(document["merge_strategy"]),
        fail_fast=bool(document["fail_fast"]),
        max_retries=cast("int", document["max_retries"]),
        plans=tuple(
            ChildPlan(
                name=str(child["name"]),
                depends_on=tuple(cast("list[str]", child["depends_on"])),
                steps=tuple(_read_step(s) for s in cast("list[dict[str, object]]", child["steps"])),
                description=str(child.get("description", "")),
                variables=cast("dict[str, str]", child.get("variables", {})),
                outputs=cast("JsonObject", child.get("outputs", {})),
            )
            for child in cast("list[dict[str, object]]", document["plans"])
        ),
    )
