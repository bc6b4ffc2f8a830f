"""A checkpoint that cannot be read, as far as it is known: its id.

A run or an update that goes on from an earlier checkpoint asks for the newest of the thread too, only to compare ids.
Where the newest is damaged it gets one of these; to read more of it raises the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from langgraph.checkpoint.base import CheckpointTuple

from mulligan.langgraph.run_config import config_of

if TYPE_CHECKING:
    from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata

    from mulligan.errors import GraphStateDamaged


class _Unreadable(Mapping[str, Any]):
    """A mapping that raises where anything but what is known is read."""

    def __init__(self, damage: GraphStateDamaged, **known: object) -> None:
        self._damage, self._known = damage, known

    def __getitem__(self, name: str) -> Any:
        if name in self._known:
            return self._known[name]
        raise self._damage

    def __iter__(self) -> Iterator[str]:
        raise self._damage

    def __len__(self) -> int:
        raise self._damage


def damaged_tuple(damage: GraphStateDamaged) -> CheckpointTuple:
    """Return the checkpoint that an error names."""
    facts = damage.facts
    thread, namespace, checkpoint = (str(facts[name]) for name in ("thread", "namespace", "checkpoint"))
    return CheckpointTuple(
        config=config_of(thread, namespace, checkpoint),
        checkpoint=cast("Checkpoint", _Unreadable(damage, id=checkpoint)),
        metadata=cast("CheckpointMetadata", _Unreadable(damage)),
        parent_config=None,
        pending_writes=None,
    )
