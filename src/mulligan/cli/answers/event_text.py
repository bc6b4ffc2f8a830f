"""Entries of a plan's log in words."""

from collections.abc import Iterator
from typing import cast

from mulligan.cli.answers.plain_words import moment
from mulligan.cli.terminal.times import lasting
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.domain.text.plural import counted

_STATES = {"processing": "begun", "queued": "stopped before its end", "constrained": "waits for you"}


def told(event: Event, handle: str = "") -> str:
    """Describe an event in one line; errors may take several. Checkpoints are named by numbers of the handle's plan."""
    data = event.data
    match event.type:
        case EventType.PLAN_CREATED:
            fork = cast("JsonObject | None", data.get("forked_from"))
            return f"recorded as {data['name']}{f', forked from {word_of(fork)}' if fork else ''}"
        case EventType.PLAN_STATE:
            reason = f": {data['reason']}" if data.get("reason") else ""
            return _STATES.get(str(data["state"]), str(data["state"])) + reason
        case EventType.PLAN_MENDED:
            return f"goes on with another plan file from step {data['from_step']} on"
        case EventType.STEP_ADDED:
            return f"step {data['step']} added"
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
            return f"{verb} {data['plan_id']}"
        case EventType.SUBPLAN_MERGED:
            conflicts = f", {data['conflicts']} in conflict" if data["conflicts"] else ""
            done = "picked" if data.get("picked") else "merged"
            return f"{done} {data['name']}: {_paths(event)}{conflicts}"
        case EventType.CHECKPOINT:
            return f"checkpoint {number_of(event, handle)}, {moment_of(event)}"
        case EventType.PRUNED:
            return f"pruned {_names(data['groups'])}"
        case EventType.ROLLBACK:
            direction = data.get("direction", "back")
            reason = "" if data["reason"] == "rollback" else f": {data['reason']}"
            return f"went {direction} to {_target(event, handle)}{reason}"
        case EventType.CORRECTION:
            chosen = f", choosing {data['chosen']}" if data["chosen"] else ""
            if data["mode"] == "append":
                return f"appended to decision {data['decision_id']}: {data['guidance']}; attempt {data['attempt']}"
            about = f"corrected decision {data['decision_id']}: {data['guidance']}{chosen}"
            return f"{about}; attempt {data['attempt']} from {_target(event, handle)}"
        case EventType.RETURNED:
            return f"went back to {_target(event, handle)}: {data['reason']}"
        case EventType.APPLIED | EventType.UNAPPLIED:
            verb = "applied" if event.type is EventType.APPLIED else "taken back"
            return ": ".join([verb, *filter(None, ["; ".join(_resources(event))])])
        case EventType.PATHS_RESTORED:
            return f"restored {_paths(event)} from @{data['number']} into the {data['place']}"
        case EventType.FORGOTTEN:
            return f"forgot {_names(data['paths'])} in {counted(int(str(data['groups'])), 'checkpoint')}"
        case EventType.LOG | EventType.MESSAGE:
            return str(data["message"])


def word_of(fork: JsonObject) -> str:
    """Return the word for the group that a fork starts from."""
    return f"{fork['handle']}@{fork['number']}"


def number_of(event: Event, handle: str = "") -> str:
    """Return the word for the checkpoint of an event; entries of earlier versions have only its id."""
    number = event.data.get("number")
    return str(event.data["checkpoint_id"]) if number is None else f"{handle}@{number}"


def moment_of(event: Event) -> str:
    """Describe when the checkpoint of an event was taken."""
    data = event.data
    label = str(data["label"]) if data["label"] else None
    return moment(CheckpointType(str(data["checkpoint_type"])), int(str(data["step_index"])), label)


def _resources(event: Event) -> Iterator[str]:
    for each in cast("list[JsonObject]", event.data["resources"]):
        commit = f", commit {each['commit']}" if each["commit"] else ""
        yield f"{each['resource']}, {counted(int(str(each['files'])), 'file')}{commit}"


def _target(event: Event, handle: str) -> str:
    return f"{number_of(event, handle)}, step {int(str(event.data['step_index'])) + 1}, {_paths(event)}"


def _paths(event: Event) -> str:
    return counted(int(str(event.data["paths"])), "path")


def _took(event: Event) -> str:
    return lasting(int(str(event.data["duration_ms"])))


def _names(value: Json) -> str:
    return ", ".join(map(str, cast("list[Json]", value)))
