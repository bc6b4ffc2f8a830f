"""Where the rows of a project are kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.errors import Advice, NextStep, NotBuiltYet, SettingInvalid

if TYPE_CHECKING:
    from mulligan.config import Settings

SQLITE = "sqlite:///"


def database_in(home: Path, settings: Settings) -> Path:
    """The file of the database: that of the project home, unless the settings name another."""
    url = settings.database_url
    if url is None:
        return home / "mulligan.db"
    if not url.startswith(SQLITE):
        raise NotBuiltYet(
            feature=f"a database other than SQLite (core.database.url: {url})",
            hint=Advice(
                "use `sqlite:///PATH`, or unset it with ", NextStep("config.unset", key="core.database.url")
            ),
        )
    path = url.removeprefix(SQLITE)
    if not path:
        raise SettingInvalid(key="core.database.url", reason="names no file", allowed="sqlite:///PATH")
    return home.parent / path
