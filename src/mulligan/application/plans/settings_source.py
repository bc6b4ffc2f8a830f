"""Where a plan's settings come from."""

from collections.abc import Mapping
from typing import Protocol

from mulligan.config import Settings
from mulligan.domain.text.json_value import Json


class SettingsSource(Protocol):
    """Everything that can set something, in order of precedence."""

    def for_plan(self, config: Mapping[str, Json]) -> Settings:
        """The settings under which a plan with this `config:` runs."""
        ...
