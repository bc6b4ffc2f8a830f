"""The settings of a project, or of the user alone, in the hands of a caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from mulligan.config import Entry, Source, parse_value, setting_named
from mulligan.errors import ProjectNotFound, SettingInvalid, UsageWrong

if TYPE_CHECKING:
    from mulligan.domain.text.json_value import Json
    from mulligan.wiring.layered_settings import LayeredSettings
    from mulligan.wiring.surroundings import Surroundings
    from mulligan.wiring.thread_services import ThreadServices

    _File: TypeAlias = tuple[Source, Path]
    _Change: TypeAlias = Callable[[list[Json], list[Json]], list[Json]]


class Configuration:
    """The settings that apply somewhere, and the files that set them.

    What is changed is the project's file, or with `user` the user's own, which holds for all projects.
    """

    def __init__(
        self,
        *,
        shown: Callable[[], Sequence[Entry]],
        settings: Callable[[], LayeredSettings],
        project_file: Callable[[], Path],
        user_file: Callable[[], Path],
    ) -> None:
        self._shown = shown
        self._settings = settings
        self._project_file = project_file
        self._user_file = user_file

    def list(self) -> Sequence[Entry]:
        """Every setting with its value and where it comes from."""
        return self._shown()

    def refresh(self) -> None:
        """Read the files again: another process may have changed them."""
        self._settings().forget()

    def get(self, key: str) -> Entry:
        """One setting."""
        name = setting_named(key, Source.COMMAND_LINE).key
        return next(entry for entry in self.list() if entry.key == name)

    def set(self, key: str, value: str, *, user: bool = False) -> Entry:
        """Set a key, if the value is one it can have."""
        parsed = parse_value(key, value, Source.COMMAND_LINE)
        return self._write(key, lambda _: parsed, self._file(user=user))

    def add(self, key: str, value: str, *, user: bool = False) -> Entry:
        """Add entries to a list, at its end; the list is the one that applies without stronger places."""
        return self._edit(key, value, self._file(user=user), _with_entries)

    def remove(self, key: str, value: str, *, user: bool = False) -> Entry:
        """Remove entries from a list; each must be in it."""

        def without(old: list[Json], gone: list[Json]) -> list[Json]:
            for entry in gone:
                if entry not in old:
                    raise SettingInvalid(
                        key=setting_named(key, Source.COMMAND_LINE).key,
                        reason=f"{entry} is not in the list",
                        origin=Source.COMMAND_LINE,
                        allowed=old,
                        hint=f"in the list: {', '.join(map(str, old)) or 'nothing'}",
                    )
            return [entry for entry in old if entry not in gone]

        return self._edit(key, value, self._file(user=user), without)

    def unset(self, key: str, *, user: bool = False) -> bool:
        """Forget a key; return whether it was set."""
        from mulligan.adapters.settings_files import unset_setting

        source, path = self._file(user=user)
        was_set = unset_setting(path, source, key)
        self._settings().forget()
        return was_set

    def _edit(self, key: str, value: str, file: _File, change: _Change) -> Entry:
        setting = setting_named(key, Source.COMMAND_LINE)
        if not setting.type.separator:
            raise UsageWrong(
                reason=f"{setting.key} is not a list, so nothing can be added or removed",
                hint="give the whole value",
            )
        given = cast("list[Json]", parse_value(key, value, Source.COMMAND_LINE))
        weaker = self._settings().below(file[0]).entry(key).value

        def edited(found: Json) -> Json:
            return change(cast("list[Json]", weaker if found is None else found), given)

        return self._write(key, edited, file)

    def _write(self, key: str, change: Callable[[Json], Json], file: _File) -> Entry:
        from mulligan.adapters.settings_files import edit_setting

        source, path = file
        edit_setting(path, source, key, change)
        self._settings().forget()
        return self.get(key)

    def _file(self, *, user: bool) -> _File:
        if user:
            return Source.USER_FILE, self._user_file()
        return Source.PROJECT_FILE, self._project_file()


def _with_entries(old: list[Json], new: list[Json]) -> list[Json]:
    """Return a list with further entries at its end, where the last pattern decides."""
    return [*(entry for entry in old if entry not in new), *new]


def user_settings(around: Surroundings) -> Configuration:
    """Return the settings outside of any project; only the user's own file can be changed there."""
    from mulligan.wiring.layered_settings import LayeredSettings

    settings = LayeredSettings(around=around, project_file=None)

    def no_file() -> Path:
        raise ProjectNotFound(path=str(around.folder), searched=f"in {around.folder} or any folder above it")

    return Configuration(
        shown=lambda: settings.of_project().entries,
        settings=lambda: settings,
        project_file=no_file,
        user_file=lambda: around.user_settings,
    )


def project_settings(threads: ThreadServices) -> Configuration:
    """Return the settings of a project."""
    return Configuration(
        shown=lambda: threads.here.adapters.shown_settings(),  # noqa: PLW0108  of the thread that asks
        settings=lambda: threads.here.adapters.settings,
        project_file=lambda: threads.here.adapters.settings_file,
        user_file=lambda: threads.here.adapters.around.user_settings,
    )
