"""The source of a plan's settings."""

from collections.abc import Mapping
from typing import Protocol

from mulligan.config import Settings
from mulligan.domain.text.json_value import Json


class SettingsSource(Protocol):
    """All layers of settings, in order of precedence."""

    def for_plan(self, config: Mapping[str, Json]) -> Settings:
        """Return the settings of a plan with this `config:`."""
        ...
