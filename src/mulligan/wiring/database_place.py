"""The location and the kind of a project's database: a second kind is chosen here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.errors import Advice, NextStep

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from mulligan.config import Settings
    from mulligan.rows.database import Database
    from mulligan.rows.place_codec import Places
    from mulligan.rows.sql_connection import SqlConnection

SQLITE = "sqlite:///"


def database_in(folder: Path, home: Path, settings: Settings) -> Path:
    """The file of the database: that of the project home, unless the settings name another, relative to the folder."""
    url = settings.database_url
    if url is None:
        return home / "mulligan.db"
    if not url.startswith(SQLITE):
        raise errors.NotBuiltYet(
            feature=f"a database other than SQLite (core.database.url: {url})",
            hint=Advice(
                "use `sqlite:///PATH`, or unset it with ", NextStep("config.unset", key="core.database.url")
            ),
        )
    path = url.removeprefix(SQLITE)
    if not path:
        raise errors.SettingInvalid(key="core.database.url", reason="names no file", allowed="sqlite:///PATH")
    return folder / path


def database_at(path: Path, places: Places, prepare: Callable[[], None]) -> Database:
    """Return the database in that file, opened when it is first needed, after `prepare`.

    Paths in its rows are relative to the places.
    """
    from mulligan.adapters.db.database_file import open_sqlite
    from mulligan.rows.database import Database

    def connect() -> SqlConnection:
        prepare()
        return open_sqlite(path)

    return Database(connect, places)


def reader_of(path: Path, *, mode: Literal["ro", "rw"], patience: float) -> SqlConnection:
    """Open a database as it is, to read it; wait so many seconds for a writer to finish."""
    from mulligan.adapters.db.connection import SqliteReader

    return SqliteReader(path, mode=mode, patience=patience)
