"""Transcripts of agents, read for one thing: which prompts the newest one continues from.

A transcript is a file that a payload names, so whatever is in it does no harm: it is read from its end, up to a limit,
and only ids are taken from it, to be compared.
"""

import os
import stat
from pathlib import Path

import msgspec

from mulligan.domain.agents.conversation import Lineage

_WINDOWS = (1 << 20, 1 << 24)  # bytes from the end: the first is enough unless the user went back far


_NOWHERE = "00000000-0000-0000-0000-000000000000"


class _Position(msgspec.Struct, frozen=True):
    """The place of a prompt in the conversation."""

    promptIndex: int = 0  # noqa: N815 - the agent's own name; from 1


class _Record(msgspec.Struct, frozen=True):
    """One line of a transcript, as far as it is looked at."""

    type: str = ""
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815 - the agent's own name
    logicalParentUuid: str | None = None  # noqa: N815 - the agent's own name; of a summary of what was before
    promptId: str | None = None  # noqa: N815 - the agent's own name
    turnPosition: _Position | None = None  # noqa: N815 - the agent's own name
    leafUuid: str | None = None  # noqa: N815 - the agent's own name
    explicit: bool = False

    @property
    def is_first(self) -> bool:
        """Return whether it is the first prompt of a conversation."""
        return self.type == "user" and self.turnPosition is not None and self.turnPosition.promptIndex == 1

    @property
    def goes_back(self) -> bool:
        """Return whether it says that the user went back in the conversation."""
        return self.type == "last-prompt" and self.explicit and self.leafUuid == _NOWHERE


_RECORD = msgspec.json.Decoder(_Record)


def conversation_of(path: str, prompt: str) -> Lineage | None:
    """Return the prompts that a prompt continues from; None: the transcript does not say."""
    for window in _WINDOWS:
        records, whole = _read(Path(path), window)
        last = next((r for r in reversed(records) if r.type == "user" and r.promptId == prompt), None)
        if last is None:
            return None  # it is not written yet
        prompts, begun = _chain(records, last)
        if whole or len(prompts) > 1 or window == _WINDOWS[-1]:
            # Those that were left behind are between a prompt and the one that it continues from. Where a record on
            # the way is missing, nobody knows what of the earlier ones was.
            known = records[begun:]
            written = frozenset(r.promptId for r in known if r.type == "user" and r.promptId)
            return Lineage(prompts=prompts, written=written)
    return None


def _read(path: Path, window: int) -> tuple[list[_Record], bool]:
    """Return the records at the end of a file, and whether these are all."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return [], True
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return [], True
        start = max(0, found.st_size - window)
        data = os.pread(descriptor, window, start)
    except OSError:
        return [], True
    finally:
        os.close(descriptor)
    lines = data.split(b"\n")
    return [record for line in (lines[1:] if start else lines) if (record := _decoded(line))], not start


def _decoded(line: bytes) -> _Record | None:
    try:
        return _RECORD.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _chain(records: list[_Record], last: _Record) -> tuple[frozenset[str], int]:
    """Return the prompts on the way from a record to its first ancestor, and where the oldest known part begins.

    That is the beginning where the way leads to a record without a parent, else the place of the earliest one found.
    """
    places = {record.uuid: at for at, record in enumerate(records) if record.uuid}
    begun_again = _begun_again(records)
    prompts: set[str] = set()
    seen: set[int] = set()
    at: int | None = records.index(last)
    while at is not None and at not in seen:
        seen.add(at)
        each = records[at]
        if each.promptId:
            prompts.add(each.promptId)
        parent = each.parentUuid or each.logicalParentUuid
        if parent is None or each.uuid in begun_again:
            return frozenset(prompts), 0
        at = places.get(parent)
    return frozenset(prompts), min(seen)


def _begun_again(records: list[_Record]) -> set[str | None]:
    """Return the prompts that the user went back to the beginning for.

    Such a prompt names the newest record as its parent all the same, and what says that it is the first one follows.
    """
    found: set[str | None] = set()
    prompt: str | None = None
    for record in records:
        if record.type == "user":
            prompt = record.uuid if record.is_first else None
        elif record.goes_back and prompt is not None:
            found.add(prompt)
        elif record.type == "assistant":
            prompt = None
    return found
