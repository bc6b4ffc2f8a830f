"""Ids are ULIDs. What happened first is told by a plan's sequence number, never by an id."""

import re
from typing import NewType

PlanId = NewType("PlanId", str)
GroupId = NewType("GroupId", str)
CheckpointId = NewType("CheckpointId", str)
DecisionId = NewType("DecisionId", str)
CallId = NewType("CallId", str)
IntentId = NewType("IntentId", str)

_PREFIX = re.compile(r"[0-9A-HJKMNP-TV-Z]{4,26}")  # Crockford's alphabet: no I, L, O, U


def as_id_prefix(word: str) -> str | None:
    """Give the id prefix that a user's word can be read as, if it can; shorter than 4 is a typo, not a prefix."""
    upper = word.upper()
    return upper if _PREFIX.fullmatch(upper) else None
