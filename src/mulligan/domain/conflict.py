"""Conflicts: what two sides changed and nobody but a person can bring together."""

from dataclasses import dataclass

from mulligan.domain.json_value import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A path of a resource of which two sides made different things."""

    resource: str
    path: str
    reason: str

    def to_json(self) -> JsonObject:
        """The same as a document."""
        return {"resource": self.resource, "path": self.path, "reason": self.reason}
