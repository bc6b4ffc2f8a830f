"""The conversion of absolute paths in rows of earlier versions into relative ones.

Until then the project home was the folder `.mulligan` of the project folder. A project may have been moved since a row
was written, so the folder that it was made in is found in the row itself: in the path of the sandbox or of its
repository, and else by the location of the resource in its plan.
"""

from __future__ import annotations

import json
import posixpath
from typing import TYPE_CHECKING, Any

from mulligan.rows.place_codec import Places

if TYPE_CHECKING:
    from mulligan.adapters.db.connection import SqliteConnection
    from mulligan.rows.sql_connection import SqlConnection

_HOME = "/.mulligan"  # where the project home was
_TABLES = {"sandboxes": ("plan_id", "resource"), "real_changes": ("plan_id", "act", "resource")}


def make_paths_relative(connection: SqliteConnection) -> None:
    """Convert the paths of sandboxes, real changes, checkpoints and operations under way."""
    locations = _locations(connection)
    folders: dict[str, str] = {}  # the project folder by plan
    for table, key in _TABLES.items():
        for row in connection.rows(f"SELECT * FROM {table}"):  # noqa: S608 - our own names
            folder = _folder_of(row, locations)
            if folder is None:
                continue
            folders.setdefault(row["plan_id"], folder)
            kept = _places(folder).kept
            git_dir = None if row["git_dir"] is None else kept(row["git_dir"])
            where = " AND ".join(f"{column} = ?" for column in key)
            connection.execute(
                f"UPDATE {table} SET location = ?, path = ?, git_dir = ? WHERE {where}",  # noqa: S608 - our own names
                (kept(row["location"]), kept(row["path"]), git_dir, *(row[column] for column in key)),
            )
    _convert_checkpoints(connection, folders, locations)
    _convert_intents(connection, folders)


def _convert_checkpoints(
    connection: SqliteConnection, folders: dict[str, str], locations: dict[tuple[str, str], str]
) -> None:
    listed = "SELECT DISTINCT plan_id, resource, filesystem_path FROM checkpoints"
    change = "UPDATE checkpoints SET filesystem_path = ? WHERE plan_id = ? AND resource = ? AND filesystem_path = ?"
    for row in connection.rows(listed):
        plan_id, resource, path = row["plan_id"], row["resource"], row["filesystem_path"]
        folder = _made_in(path, plan_id) or folders.get(plan_id)
        folder = folder or _without(path, locations.get((plan_id, resource)))
        if folder is not None:
            connection.execute(change, (_places(folder).kept(path), plan_id, resource, path))


def _convert_intents(connection: SqliteConnection, folders: dict[str, str]) -> None:
    for row in connection.rows("SELECT intent_id, plan_id, data_json FROM intents"):
        work: dict[str, Any] = json.loads(row["data_json"])
        folder = folders.get(row["plan_id"])
        if folder is not None and "locations" in work:
            work["locations"] = [_places(folder).kept(location) for location in work["locations"]]
            text = json.dumps(work, sort_keys=True, separators=(",", ":"))
            connection.execute(
                "UPDATE intents SET data_json = ? WHERE intent_id = ?", (text, row["intent_id"])
            )


def recorded_folder(connection: SqlConnection) -> str | None:
    """Return the project folder that rows of an earlier version name, for the newest sandbox; None: they name none."""
    locations = _locations(connection)
    for row in connection.rows("SELECT * FROM sandboxes ORDER BY plan_id DESC"):
        if (folder := _folder_of(row, locations)) is not None:
            return folder
    return None


def recorded_paths(connection: SqlConnection) -> set[str]:
    """Return every place that rows name: sandboxes, real resources, repositories, checkpoints, open operations."""
    found: set[str] = set()
    for table in _TABLES:
        for row in connection.rows(f"SELECT location, path, git_dir FROM {table}"):  # noqa: S608 - our own names
            found |= {row["location"], row["path"], *([row["git_dir"]] if row["git_dir"] is not None else [])}
    for row in connection.rows("SELECT DISTINCT filesystem_path FROM checkpoints"):
        found.add(row["filesystem_path"])
    for row in connection.rows("SELECT data_json FROM intents"):
        found |= set(json.loads(row["data_json"]).get("locations", ()))
    return found


def _locations(connection: SqlConnection) -> dict[tuple[str, str], str]:
    """Return where each resource of each plan is, relative to the project folder."""
    found: dict[tuple[str, str], str] = {}
    for row in connection.rows("SELECT plan_id, definition_json FROM definitions"):
        definition: dict[str, Any] = json.loads(row["definition_json"])
        for resource in definition.get("resources", ()):
            found[row["plan_id"], resource["name"]] = resource["location"]
    return found


def _folder_of(row: Any, locations: dict[tuple[str, str], str]) -> str | None:
    plan_id = row["plan_id"]
    made_in = _made_in(row["path"], plan_id) or _made_in(row["git_dir"] or "", plan_id)
    return made_in or _without(row["location"], locations.get((plan_id, row["resource"])))


def _made_in(path: str, plan_id: str) -> str | None:
    """Return the project folder in whose home the folder of a plan's sandbox or repository was made."""
    for kind in ("sandboxes", "git"):
        folder, found, _ = path.rpartition(f"{_HOME}/{kind}/{plan_id}/")
        if found and folder.startswith("/"):
            return folder
    return None


def _without(path: str, location: str | None) -> str | None:
    """Return the folder that a path has this location in; None where it does not end in it."""
    if location is None or not path.startswith("/"):
        return None
    if posixpath.normpath(location) == ".":
        return path
    return path.removesuffix(f"/{location}") if path.endswith(f"/{location}") else None


def _places(folder: str) -> Places:
    return Places(home=f"{folder}{_HOME}", project=folder)
