"""The conversation with an agent, as far as it says which prompts were left behind when the user went back in it."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from mulligan.domain.history.timeline_entry import DeedKind, TimelineEntry


class Lineage(Struct, frozen=True, kw_only=True):
    """The prompts of a transcript, as far back as it was read, by the agent's ids."""

    prompts: frozenset[str]  # those that the newest prompt continues from, and itself
    written: frozenset[str]  # all, those too that the user left behind by going back


def left_behind(
    entries: Sequence[TimelineEntry], lineage: Lineage, current: str
) -> tuple[TimelineEntry, ...]:
    """Return the live prompts of a session, oldest first, that the conversation does not contain any longer."""
    gone = lineage.written - lineage.prompts - {current}
    found = [e for e in entries if e.kind is DeedKind.PROMPT and e.is_live and _id(e) in gone]
    return tuple(sorted(found, key=lambda entry: entry.number))


def reverted_from(entries: Sequence[TimelineEntry], prompt: str) -> tuple[TimelineEntry, ...]:
    """Return the live prompts of a session, oldest first, from the one on that the agent went back to."""
    ids = {entry.number: _id(entry) for entry in entries if entry.kind is DeedKind.PROMPT}
    first = min((number for number, each in ids.items() if each == prompt), default=None)
    if first is None:
        return ()
    return tuple(sorted((e for e in entries if e.number >= first and e.is_live), key=lambda e: e.number))


def not_offered(entries: Collection[TimelineEntry]) -> tuple[TimelineEntry, ...]:
    """Return those that changed something, and whose files were not offered to the user yet."""
    return tuple(e for e in entries if e.changed is not False and not e.detail.get("offered"))


def _id(entry: TimelineEntry) -> str | None:
    prompt = entry.detail.get("prompt")
    return prompt if isinstance(prompt, str) else None
