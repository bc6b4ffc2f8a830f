"""The settings of a project in the hands of a caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mulligan.config import Entry, Source, parse_value, setting_named

if TYPE_CHECKING:
    from mulligan.wiring.services import Services
    from mulligan.wiring.thread_services import ThreadServices


class Configuration:
    """The settings of a project."""

    def __init__(self, *, threads: ThreadServices) -> None:
        self._threads = threads

    @property
    def _services(self) -> Services:
        return self._threads.here

    def list(self) -> Sequence[Entry]:
        """Every setting with its value and where it comes from."""
        return self._services.adapters.shown_settings()

    def get(self, key: str) -> Entry:
        """One setting."""
        name = setting_named(key, Source.COMMAND_LINE).key
        return next(entry for entry in self.list() if entry.key == name)

    def set(self, key: str, value: str) -> Entry:
        """Set a key for this project, if the value is one it can have."""
        from mulligan.adapters.settings_files import set_setting

        parsed = parse_value(key, value, Source.COMMAND_LINE)
        set_setting(self._services.adapters.settings_file, Source.PROJECT_FILE, key, parsed)
        return self.get(key)

    def unset(self, key: str) -> bool:
        """Forget a key of this project; return whether it was set."""
        from mulligan.adapters.settings_files import unset_setting

        return unset_setting(self._services.adapters.settings_file, Source.PROJECT_FILE, key)
