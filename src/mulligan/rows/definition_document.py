"""Plan definitions as JSON documents, for the column that keeps them."""

from typing import Any, cast

from mulligan.domain.plans.decision import Choice, Question
from mulligan.domain.plans.fork import Fork
from mulligan.domain.plans.plan import OnFailure, PlanDefinition, RollbackPolicy
from mulligan.domain.plans.step import (
    Action,
    ChildPlan,
    MergeStrategy,
    Milestone,
    Pick,
    Step,
    SubplanMode,
    Subplans,
    ToolUse,
)
from mulligan.domain.resources.resource import Resource, ResourceType, Strategy
from mulligan.domain.text.json_value import Json, JsonObject, read_json
from mulligan.rows.columns import json_text


def definition_to_text(definition: PlanDefinition) -> str:
    """Write a definition so that `definition_from_text` returns an equal one."""
    marks = ("command", "session")
    return json_text(
        {
            **{mark: True for mark in marks if getattr(definition, mark)},
            **({"fork": definition.fork.to_json()} if definition.fork else {}),
            **({"agent": definition.agent} if definition.agent else {}),
            **({"variant": definition.variant} if definition.variant else {}),
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
    document = read_json(text)
    policy = document["rollback_policy"]
    policy["on_failure"] = OnFailure(policy["on_failure"])
    return PlanDefinition(
        name=document["name"],
        description=document["description"],
        resources=tuple(_read_resource(r) for r in document["resources"]),
        config=document["config"],
        rollback_policy=RollbackPolicy(**policy),
        variables=document["variables"],
        steps=tuple(_read_step(s) for s in document["steps"]),
        command=document.get("command", False),
        session=document.get("session", False),
        fork=Fork(**document["fork"]) if "fork" in document else None,
        agent=document.get("agent", ""),
        variant=document.get("variant", 0),
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


def _read_resource(document: dict[str, Any]) -> Resource:
    strategy = document["strategy"]
    return Resource(
        name=document["name"],
        type=ResourceType(document["type"]),
        location=document["location"],
        strategy=Strategy(strategy) if strategy else None,
        from_revision=document["from"],
        create=document["create"],
    )


def _step(step: Step) -> JsonObject:
    appended: JsonObject = {"appended": step.appended} if step.appended else {}
    if step.added is not None:
        appended["added"] = step.added
    for mark in ("keep", "check"):
        if getattr(step, mark):
            appended[mark] = True
    own: JsonObject = {
        "name": step.name,
        "label": step.label,
        "timeout": step.timeout,
        "retries": step.retries,
    }
    return {**appended, **own, **_action(step.action)}


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
        case Question():
            return {"decision": action.to_json()}
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
        case Pick():
            return {"pick": {"variants": action.variants, "chosen_in": action.chosen_in}}
        case Milestone():
            return {}


def _child(child: ChildPlan) -> Json:
    optional: JsonObject = {
        "description": child.description,
        "variables": cast("JsonObject", dict(child.variables)),
        "outputs": dict(child.outputs),
        "variant": child.variant,
    }
    return {
        **{key: value for key, value in optional.items() if value},
        "name": child.name,
        "depends_on": list(child.depends_on),
        "steps": [_step(s) for s in child.steps],
    }


def _read_step(document: dict[str, Any]) -> Step:
    return Step(
        name=document["name"],
        action=_read_action(document),
        label=document["label"],
        timeout=document["timeout"],
        retries=document["retries"],
        appended=document.get("appended"),
        added=document.get("added"),
        keep=document.get("keep", False),
        check=document.get("check", False),
    )


def _read_action(document: dict[str, Any]) -> Action:
    if "tool" in document:
        return ToolUse(tool=document["tool"], resource=document["resource"], args=document["args"])
    if choice := document.get("decision"):
        choice["alternatives"] = tuple(choice["alternatives"])
        return Choice(**choice) if "chosen" in choice else Question(**choice)
    if subplans := document.get("subplans"):
        return Subplans(
            mode=SubplanMode(subplans["mode"]),
            max_parallel=subplans["max_parallel"],
            merge_strategy=MergeStrategy(subplans["merge_strategy"]),
            fail_fast=subplans["fail_fast"],
            max_retries=subplans["max_retries"],
            plans=tuple(_read_child(child) for child in subplans["plans"]),
        )
    if pick := document.get("pick"):
        return Pick(**pick)
    return Milestone()


def _read_child(document: dict[str, Any]) -> ChildPlan:
    document["depends_on"] = tuple(document["depends_on"])
    document["steps"] = tuple(_read_step(step) for step in document["steps"])
    return ChildPlan(**document)
