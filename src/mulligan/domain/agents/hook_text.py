"""The text of an agent's configuration with our hooks and without them."""

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from mulligan.domain.agents.agent_table import Agent
from mulligan.domain.agents.hook_entries import (
    HookOptions,
    Place,
    entries_of,
    is_ours,
    members_of,
    own_text,
)
from mulligan.domain.agents.plugin_files import MARK
from mulligan.domain.text.json_edit import json_value, with_element, with_member, without, without_empty
from mulligan.domain.text.json_value import Json, JsonObject


class FoundHooks(Struct, frozen=True, kw_only=True):
    """Our hooks in a file."""

    commands: tuple[str, ...]  # as they are written there
    positions: tuple[tuple[str, int, int], ...]  # of each: its event, and its place in the lists
    strict: bool
    everywhere: bool


def with_hooks(text: str, agent: Agent, place: Place, options: HookOptions) -> str:
    """Return a file with these hooks in the place of those that are there; as it is if it has exactly these."""
    if place.own:
        return own_text(agent, options)
    wanted = entries_of(agent, options)
    if _present(text, agent) == {entry.path[-1]: [entry.value] for entry in wanted}:
        return text
    text = without_hooks(text, agent, place, None)
    for entry in wanted:
        text = with_element(text, entry.path, entry.value)
    for key, value in members_of(agent).items():
        text = with_member(text, [key], value)
    return text


def without_hooks(text: str, agent: Agent, place: Place, original: str | None) -> str:
    """Return a file without our hooks, and without the lists that only they needed, unless the original has them."""
    if place.own:
        return ""
    before, whole = _lists(original or ""), text
    for event, elements in _lists(text).items():
        cleared = text
        for at in reversed(range(len(elements))):
            ours = [is_ours(agent, hook) for hook in _inner(elements[at])]
            if is_ours(agent, elements[at]) or (ours and all(ours)):
                cleared = without(cleared, ["hooks", event], at)
            else:
                for inner in (inner for inner in reversed(range(len(ours))) if ours[inner]):
                    cleared = without(cleared, ["hooks", event, at, "hooks"], inner)
        keeps = cleared == text or event in before
        text = cleared if keeps else without_empty(cleared, ["hooks", event])
    keeps = text == whole or "hooks" in _members(original or "")
    return text if keeps else without_empty(text, ["hooks"])


def found_hooks(text: str, agent: Agent, place: Place) -> FoundHooks | None:
    """Return our hooks in a file; None where there are none."""
    if place.own:
        words = text if MARK in text else ""
        commands, positions = ([words], []) if words else ([], [])
    else:
        ours = [
            (cast("str", hook.get("command") or hook.get("bash")), (event, at, inner))
            for event, elements in _lists(text).items()
            for at, element in enumerate(elements)
            for inner, hook in enumerate(_inner(element) or (element,))
            if isinstance(hook, dict) and is_ours(agent, hook)
        ]
        commands, positions = [command for command, _ in ours], [position for _, position in ours]
    if not commands:
        return None
    return FoundHooks(
        commands=tuple(commands),
        positions=tuple(positions),
        strict=any("--strict" in command for command in commands),
        everywhere=any("--everywhere" in command for command in commands),
    )


def is_left_over(text: str, agent: Agent) -> bool:
    """Return whether nothing is in a file that install made but what it brought along."""
    value = json_value(text) if text.strip() else {}  # a file in TOML is empty then
    return value in ({}, None, members_of(agent))


def _present(text: str, agent: Agent) -> dict[str, list[Json]]:
    """Return the elements that hold our hooks, as they are, by their events."""
    found = {
        event: [each for each in elements if any(is_ours(agent, hook) for hook in (each, *_inner(each)))]
        for event, elements in _lists(text).items()
    }
    return {event: elements for event, elements in found.items() if elements}


def _lists(text: str) -> dict[str, Sequence[Json]]:
    hooks = _members(text).get("hooks")
    members = hooks if isinstance(hooks, dict) else {}
    return {event: elements for event, elements in members.items() if isinstance(elements, list)}


def _members(text: str) -> JsonObject:
    value = json_value(text)
    return value if isinstance(value, dict) else {}


def _inner(element: Json) -> Sequence[Json]:
    hooks = element.get("hooks") if isinstance(element, dict) else None
    return hooks if isinstance(hooks, list) else ()
