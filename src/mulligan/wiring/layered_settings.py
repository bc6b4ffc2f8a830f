"""Settings from everywhere, in order of precedence."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from mulligan import errors
from mulligan.adapters.settings_files import read_settings
from mulligan.config import (
    Layer,
    Settings,
    Source,
    layer_of_environment,
    layer_of_options,
    layer_of_values,
    resolve,
    setting_named,
)
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.json_value import Json
from mulligan.errors import Advice, NextStep
from mulligan.wiring.surroundings import Surroundings

SHARED = "mulligan.toml"  # in the project folder
# A file that comes with a checkout is a stranger's word: it decides nothing about what tools may write.
_NOT_SHARED = ("sandbox.isolate", "sandbox.writable")
_NOT_SHARED_VALUES = [("sandbox.strategy", Strategy.IN_PLACE.value)]  # a list: values need not be hashable


def is_shareable(key: str, value: Json) -> bool:
    """Return whether a file of another user's may set a key so; others decide what commands run and may write."""
    if key in _NOT_SHARED or (key, value) in _NOT_SHARED_VALUES:
        return False
    return setting_named(key, Source.SHARED_FILE).in_plan_files


def shared_layer(file: Path) -> Layer:
    """Read the settings that are shared with the project folder; refuse those that are this user's to decide."""
    layer = read_settings(file, Source.SHARED_FILE)
    for key, value in layer.values.items():
        if not is_shareable(key, value):
            raise errors.SettingInvalid(
                key=key,
                reason="is not taken from a file that is shared",
                origin=layer.origin(key),
                allowed="in other places",
                hint=Advice("remove it there, and set it with ", NextStep("config.set", key=key, value=...)),
            )
    return layer


class LayeredSettings:
    """Settings from everywhere, for the project and for each plan."""

    def __init__(
        self, *, around: Surroundings, project_file: Path | None, folder: Path | None = None
    ) -> None:
        """Take the file of the project home, and the project folder, which may have a file to share; or no project."""
        self._around = around
        self._project_file = project_file
        self._folder = folder

    def for_plan(self, config: Mapping[str, Json]) -> Settings:
        """The settings under which a plan with this `config:` runs."""
        return resolve([*self._layers, layer_of_values(Source.PLAN_FILE, "", config.items())])

    def of_project(self) -> Settings:
        """The settings without any plan."""
        return resolve(self._layers)

    def forget(self) -> None:
        """Read the files again when they are next asked for: one of them was changed."""
        self.__dict__.pop("_layers", None)

    def below(self, source: Source) -> Settings:
        """The settings as they would be without this place and all stronger ones."""
        strength = list(Source)
        return resolve(
            layer for layer in self._layers if strength.index(layer.source) > strength.index(source)
        )

    @cached_property
    def _layers(self) -> list[Layer]:
        return [
            layer_of_options(self._around.options),
            layer_of_environment(self._around.environ),
            *([] if self._project_file is None else [read_settings(self._project_file, Source.PROJECT_FILE)]),
            *([] if self._folder is None else [shared_layer(self._folder / SHARED)]),
            read_settings(self._around.user_settings, Source.USER_FILE),
        ]
