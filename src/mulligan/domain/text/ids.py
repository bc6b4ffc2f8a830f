"""Ids are ULIDs. A plan's sequence numbers define the order of events, never the ids."""

import re
from datetime import UTC, datetime
from typing import NewType

PlanId = NewType("PlanId", str)
GroupId = NewType("GroupId", str)
CheckpointId = NewType("CheckpointId", str)
DecisionId = NewType("DecisionId", str)
CallId = NewType("CallId", str)
IntentId = NewType("IntentId", str)
CorrectionId = NewType("CorrectionId", str)

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: no I, L, O, U
_PREFIX = f"[{_ALPHABET}]{{4,26}}"
_LENGTH = 26
# In a text for people; not as part of a path: a sandbox is where it is.
ID_IN_TEXT = rf"(?<![\w/.-])[0-7][{_ALPHABET}]{{{_LENGTH - 1}}}(?![\w/])"
RANDOM_BITS = 80  # of a ULID, below the milliseconds since 1970


def ulid_text(value: int) -> str:
    """Write a ULID, 128 bits, as its 26 characters."""
    return "".join(_ALPHABET[value >> shift & 31] for shift in range(125, -1, -5))


def time_of(ulid: str) -> datetime:
    """Return when an id was made: its first ten characters count the milliseconds since 1970."""
    milliseconds = 0
    for character in ulid[:10]:
        milliseconds = milliseconds << 5 | _ALPHABET.index(character)
    return datetime.fromtimestamp(milliseconds // 1000, UTC)


def is_id(word: str) -> bool:
    """Return whether a user's word looks like a whole id."""
    return len(word) == _LENGTH and as_id_prefix(word) is not None


def as_id_prefix(word: str) -> str | None:
    """Give the id prefix that a user's word can be read as, if it can; shorter than 4 is a typo, not a prefix."""
    upper = word.upper()
    return upper if re.fullmatch(_PREFIX, upper) else None
