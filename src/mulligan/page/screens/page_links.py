"""Links: the address of each screen and act, and the one that a next step leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

from msgspec import Struct

from mulligan.api.operations.command_words import command_line
from mulligan.errors import Advice
from mulligan.page.acts.act_table import BY_VERB

if TYPE_CHECKING:
    from mulligan.errors import NextStep

# The screen of each operation that only looks, with its name of each parameter.
_SCREENS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "checkpoints.diff": ("/compare", {"old": "old", "new": "new"}),
    "checkpoints.list": ("/plan", {"plan": "name"}),
    "checkpoints.show": ("/tree", {"checkpoint": "checkpoint"}),
    "diff": ("/compare", {"plan": "plan", "old": "old", "new": "new"}),
    "list_tree": ("/tree", {"checkpoint": "checkpoint", "path": "path"}),
    "log": ("/plan", {"plan": "name"}),
    "plans": ("/plans", {}),
    "read_path": ("/file", {"checkpoint": "checkpoint", "path": "path"}),
    "status": ("/plan", {"plan": "name"}),
    "timeline": ("/", {}),
    "tree": ("/plan", {"plan": "name"}),
}
_SCREEN_NAMES = {"/": "Timeline", "/compare": "Compare", "/file": "File", "/plan": "Plan", "/plans": "Plans"}


class StepLink(Struct, frozen=True, kw_only=True):
    """A next step: the button or link that leads there, and the command that does the same."""

    label: str
    address: str | None  # None: only the command does it
    command: str


def address(path: str, /, **query: object) -> str:
    """Return an address of this page; parameters that are None are left out."""
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        several = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [value]
        pairs += [(name, _word(each)) for each in several if each is not None and each is not False]
    words = urlencode(pairs, errors="surrogateescape")
    return f"{path}?{words}" if words else path


def _word(value: object) -> str:
    return "true" if value is True else str(value)


def link_of(step: NextStep, again: tuple[str, Mapping[str, object]] | None = None) -> StepLink:
    """Return the link of a next step; `again` is the act that was refused, and its arguments."""
    command, facts = command_line(step), _known(step)
    if "project" in step.facts:  # another one, which this page does not show
        return StepLink(label=command, address=None, command=command)
    if step.verb == "again":
        place = None if again is None else address(f"/act/{again[0]}", **{**again[1], **facts})
        label = f"Again with {command}" if command else "Again"
        return StepLink(label=label, address=place, command=command)
    act = BY_VERB.get(step.verb)
    if act is not None and facts.keys() <= set(act.arguments.__struct_fields__):
        return StepLink(label=act.title, address=address(f"/act/{act.name}", **facts), command=command)
    path, names = _SCREENS.get(step.verb, ("", {}))
    if path and facts.keys() <= names.keys():
        named = {names[name]: value for name, value in facts.items()}
        return StepLink(
            label=_SCREEN_NAMES.get(path, "Look"), address=address(path, **named), command=command
        )
    return StepLink(label=command, address=None, command=command)


def _known(step: NextStep) -> dict[str, object]:
    """Return the facts that are not for the user to fill in."""
    return {name: value for name, value in step.facts.items() if value is not ...}


def parts_of_advice(text: str, again: tuple[str, Mapping[str, object]] | None = None) -> list[str | StepLink]:
    """Return the sentences of an advice, with a link in the place of each operation."""
    if not isinstance(text, Advice):
        return [text] if text else []
    return [part if isinstance(part, str) else link_of(part, again) for part in text.parts]
