"""Forks: plans that start from a checkpoint group of another plan."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.domain.text.json_value import JsonObject

if TYPE_CHECKING:
    from mulligan.domain.plans.plan import PlanDefinition


class Fork(Struct, frozen=True, kw_only=True):
    """The origin of a fork. It stays on record when that plan, or its group, is gone."""

    plan_id: PlanId
    handle: str  # of that plan
    group_id: GroupId
    number: int  # of the group, in that plan

    @property
    def word(self) -> str:
        """The word for the group that the fork starts from: `tune@3`."""
        return f"{self.handle}@{self.number}"

    def to_json(self) -> JsonObject:
        """The same as a document."""
        return {
            "plan_id": self.plan_id,
            "handle": self.handle,
            "group_id": self.group_id,
            "number": self.number,
        }


def forked_definition(
    origin: PlanDefinition, fork: Fork, name: str | None, in_place: Collection[str]
) -> PlanDefinition:
    """Return the definition of a fork: the same steps, over copies of what the origin works on in place.

    Steps that users or corrections added there are the fork's own.
    """
    return replace(
        origin,
        name=name or origin.name,
        resources=tuple(
            replace(each, strategy=each.type.traits.copying) if each.name in in_place else each
            for each in origin.resources
        ),
        steps=tuple(replace(step, appended=None, added=None) for step in origin.steps),
        agent="",  # whose hooks know nothing of the fork
        fork=fork,
    )
