"""The settings: what can be set, from where, and what it comes to."""

from mulligan.config.registry import (
    MOST_PARALLEL,
    SETTINGS,
    SHORT_NAMES,
    Cleanup,
    Isolation,
    Setting,
    check_value,
    parse_value,
    setting_named,
)
from mulligan.config.settings import (
    Entry,
    Layer,
    Settings,
    Source,
    layer_of_environment,
    layer_of_options,
    layer_of_values,
    resolve,
)

__all__ = [
    "MOST_PARALLEL",
    "SETTINGS",
    "SHORT_NAMES",
    "Cleanup",
    "Entry",
    "Isolation",
    "Layer",
    "Setting",
    "Settings",
    "Source",
    "check_value",
    "layer_of_environment",
    "layer_of_options",
    "layer_of_values",
    "parse_value",
    "resolve",
    "setting_named",
]
