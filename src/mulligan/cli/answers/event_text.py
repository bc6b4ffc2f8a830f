"""Entries of a plan's log in words."""

from collections.abc import Iterator
from typing import cast

from mulligan.cli.terminal.times import lasting
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.domain.text.plural import counted

_STATES = {"processing": "begun", "queued": "stopped before its end"}


def told(event: Event) -> str:
    """Describe an event in one line; errors may take several."""
    data = event.data
    match event.type:
        case EventType.PLAN_CREATED:
            return f"recorded as {data['name']}"
        case EventType.PLAN_STATE:
            reason = f": {data['reason']}" if data.get("reason") else ""
            return _STATES.get(str(data["state"]), str(data["state"])) + reason
        case EventType.PLAN_MENDED:
            return f"goes on with another plan file from step {data['from_step']} on"
        case EventType.STEP_STARTED:
            return f"step {data['step']} begun"
        case EventType.STEP_DONE:
            return f"step {data['step']} done in {_took(event)}"
        case EventType.STEP_FAILED:
            return f"step {data['step']} failed: {data['error']}"
        case EventType.TOOL_CALLED:
            return f"tool {data['tool']} of step {data['step']}: {data['status']} after {_took(event)}"
        case EventType.TOOL_UNDONE:
            why = f", {data['error']}" if data["error"] else ""
            return f"undo of {data['tool']} in step {data['step']}: {data['status']}{why}"
        case EventType.RESOLVED:
            return f"conflicts solved in {_names(data['paths'])}, {data['left']} left"
        case EventType.DECISION:
            return f"decision {data['question']} -> {data['chosen']} {data['decision_id']}"
        case EventType.SUBPLAN_SPAWNED:
            verb = "goes on with child plan" if data["again"] else "child plan"
            return f"{verb} {data['name']} {data['plan_id']}"
        case EventType.SUBPLAN_MERGED:
            conflicts = f", {data['conflicts']} in conflict" if data["conflicts"] else ""
            return f"merged {data['name']}: {_paths(event)}{conflicts}"
        case EventType.CHECKPOINT:
            label = f" {data['label']!r}" if data["label"] else ""
            return f"checkpoint {data['checkpoint_type']}{label} {data['checkpoint_id']}"
        case EventType.PRUNED:
            return f"pruned {_names(data['groups'])}"
        case EventType.ROLLBACK:
            if data["reason"] == "rollback":
                return f"rolled back to {_target(event)}"
            return f"went back to {_target(event)}: {data['reason']}"
        case EventType.CORRECTION:
            chosen = f", choosing {data['chosen']}" if data["chosen"] else ""
            if data["mode"] == "append":
                return f"appended to decision {data['decision_id']}: {data['guidance']}; attempt {data['attempt']}"
            about = f"corrected decision {data['decision_id']}: {data['guidance']}{chosen}"
            return f"{about}; attempt {data['attempt']} from {_target(event)}"
        case EventType.RETURNED:
            return f"went back to {_target(event)}: {data['reason']}"
        case EventType.APPLIED | EventType.UNAPPLIED:
            verb = "applied" if event.type is EventType.APPLIED else "taken back"
            return ": ".join([verb, *filter(None, ["; ".join(_resources(event))])])
        case EventType.LOG | EventType.MESSAGE:
            return str(data["message"])


def _resources(event: Event) -> Iterator[str]:
    for each in cast("list[JsonObject]", event.data["resources"]):
        commit = f", commit {each['commit']}" if each["commit"] else ""
        yield f"{each['resource']}, {counted(int(str(each['files'])), 'file')}{commit}"


def _target(event: Event) -> str:
    return f"{event.data['checkpoint_id']} at step {event.data['step_index']}, {_paths(event)}"


def _paths(event: Event) -> str:
    return counted(int(str(event.data["paths"])), "path")


def _took(event: Event) -> str:
    return lasting(int(str(event.data["duration_ms"])))


def _names(value: Json) -> str:
    return ", ".join(map(str, cast("list[Json]", value)))
