"""Settings from everywhere, in order of precedence."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from mulligan.adapters.settings_files import read_settings
from mulligan.config import (
    Layer,
    Settings,
    Source,
    layer_of_environment,
    layer_of_options,
    layer_of_values,
    resolve,
)
from mulligan.domain.text.json_value import Json
from mulligan.wiring.surroundings import Surroundings


class LayeredSettings:
    """Settings from everywhere, for the project and for each plan."""

    def __init__(self, *, around: Surroundings, project_file: Path) -> None:
        self._around = around
        self._project_file = project_file

    def for_plan(self, config: Mapping[str, Json]) -> Settings:
        """The settings under which a plan with this `config:` runs."""
        return resolve([*self._layers, layer_of_values(Source.PLAN_FILE, "", config.items())])

    def of_project(self) -> Settings:
        """The settings without any plan."""
        return resolve(self._layers)

    @cached_property
    def _layers(self) -> list[Layer]:
        return [
            layer_of_options(self._around.options),
            layer_of_environment(self._around.environ),
            read_settings(self._project_file, Source.PROJECT_FILE),
            read_settings(self._around.user_settings, Source.USER_FILE),
        ]
