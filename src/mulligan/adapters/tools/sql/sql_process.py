"""The program that runs SQL on a sandbox's database: a process of its own, so that it can be timed out and ended.

It reads one request as JSON from the file named first and writes one answer as JSON to stdout:

    {"root", "inside", "statements": [[text, place]…], "busy_limit", "most_rows", "most_bytes"}
    {"rows", "cut_off", "changes"}     all ran and are committed; rows of the last statement that returns any
    {"failed", "place"}                nothing is left of it

Standard library only, for this interpreter need not have mulligan's dependencies.
"""

import base64
import json
import os
import re
import sqlite3
import stat
from contextlib import closing, suppress
from typing import Any
from urllib.parse import quote_from_bytes

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SET_FOREIGN_KEYS = re.compile(r"\s*PRAGMA\s+(?:main\s*\.\s*)?foreign_keys\s*[=(]", re.IGNORECASE)

# PRAGMAs that only read, those that may also set, and no others: the rest changes how, or in which
# file, SQLite stores the database, or cannot do so inside a transaction.
_TELLING = {
    "auto_vacuum", "data_version", "encoding", "foreign_keys", "journal_mode", "page_size", "schema_version",
    "synchronous",
}  # fmt: skip
_FREE = {
    "analysis_limit", "application_id", "case_sensitive_like", "cell_size_check", "collation_list",
    "compile_options", "database_list", "defer_foreign_keys", "foreign_key_check", "foreign_key_list",
    "freelist_count", "function_list", "ignore_check_constraints", "incremental_vacuum", "index_info",
    "index_list", "index_xinfo", "integrity_check", "legacy_alter_table", "max_page_count", "module_list",
    "optimize", "page_count", "pragma_list", "quick_check", "recursive_triggers", "reverse_unordered_selects",
    "secure_delete", "table_info", "table_list", "table_xinfo", "user_version",
}  # fmt: skip
_MODULES = {"fts3", "fts4", "fts5", "fts4aux", "fts5vocab", "geopoly", "rtree", "rtree_i32"}
_FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}


class Failure(Exception):
    """A reason, for people."""


class Guard:
    """Denies what reaches another file or ends the transaction, and keeps the reason."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def __call__(self, action: int, first: str | None, second: str | None, _db: object, _by: object) -> int:
        """Answer SQLite, which asks while it prepares a statement."""
        reason = self._denied(action, (first or "").lower(), second)
        if reason is None:
            return sqlite3.SQLITE_OK
        self.reason = reason
        return sqlite3.SQLITE_DENY

    def _denied(self, action: int, first: str, second: str | None) -> str | None:
        if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
            return "another file would be reached"
        if action == sqlite3.SQLITE_TRANSACTION:
            return "all statements run in one transaction"
        if action == sqlite3.SQLITE_PRAGMA and first not in _FREE and (second or first not in _TELLING):
            return f"PRAGMA {first} is not for statements inside a transaction on a plan's database"
        if action == sqlite3.SQLITE_CREATE_VTABLE and (second or "").lower() not in _MODULES:
            return f"the module {second} could reach another file"
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS:
            return f"the function {second} could reach another file"
        return None


class Rows:
    """The rows of a statement as JSON, as far as there is room for them."""

    def __init__(self, most_rows: int, most_bytes: int) -> None:
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self.found: list[dict[str, Any]] | None = None
        self.cut_off = False

    def take(self, cursor: sqlite3.Cursor) -> None:
        """Take a statement's rows in the place of those of the one before; one without columns changes nothing."""
        if cursor.description is None:
            return
        names = _distinct([str(column[0]) for column in cursor.description])
        self.found, self.cut_off, room = [], False, self._most_bytes
        for row in cursor:
            content = dict(zip(names, map(_plain, row), strict=True))
            room -= len(json.dumps(content))
            if len(self.found) == self._most_rows or room < 0:
                self.cut_off = True
                return
            self.found.append(content)


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run all statements in one transaction, or leave nothing."""
    guard, rows = Guard(), Rows(request["most_rows"], request["most_bytes"])
    place = ""
    made: list[str] = []
    try:
        path = _safe_path(request["root"], request["inside"], made)
        address = f"file:{quote_from_bytes(os.fsencode(path))}?mode=rwc"
        connection = sqlite3.connect(
            address, uri=True, timeout=request["busy_limit"], isolation_level=None, cached_statements=0
        )
        with closing(connection):
            connection.text_factory = _readable
            statements = list(request["statements"])
            while statements and _SET_FOREIGN_KEYS.match(statements[0][0]):
                text, place = statements.pop(0)
                connection.execute(text)  # inside a transaction SQLite ignores it
            place = ""
            connection.execute("BEGIN IMMEDIATE")
            connection.set_authorizer(guard)
            for statement in statements:
                text, place = statement
                with closing(connection.execute(text)) as cursor:
                    rows.take(cursor)
            place = "the end, when all was to be committed"
            connection.set_authorizer(None)
            connection.execute("COMMIT")
            return {"rows": rows.found, "cut_off": rows.cut_off, "changes": connection.total_changes}
    except (sqlite3.Error, ValueError, OSError, Failure) as exc:
        # Closing the connection rolled everything back; of a database that was not there a file is left.
        for path in reversed(made):
            with suppress(OSError):
                os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
        return {"failed": f"{exc}: {guard.reason}" if guard.reason else str(exc), "place": place}


def _safe_path(root: str, inside: list[str], made: list[str]) -> str:
    """Return the path of the database after checking that no symlink leads there; missing folders are made."""
    folder = os.open(root, _FOLDER)
    try:
        for depth, name in enumerate(inside[:-1], start=1):
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
                made.append(os.path.join(root, *inside[:depth]))
            try:
                inner = os.open(name, _FOLDER, dir_fd=folder)
            except NotADirectoryError as exc:
                raise Failure(f"{name} is not a folder, and a symlink in its place is not followed") from exc
            os.close(folder)
            folder = inner
        try:
            found = os.stat(inside[-1], dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            found = None
            made.append(os.path.join(root, *inside))
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise Failure(f"{inside[-1]} is not a file, and a symlink in its place is not followed")
    finally:
        os.close(folder)
    return os.path.join(root, *inside)


def _distinct(names: list[str]) -> list[str]:
    """Return the names of columns; a repeated name gets a number."""
    distinct: list[str] = []
    for name in names:
        number, new = 0, name
        while new in distinct:
            number += 1
            new = f"{name}:{number}"
        distinct.append(new)
    return distinct


def _readable(data: bytes) -> str:
    """Decode text; bytes that are not UTF-8 must not stop a SELECT."""
    return data.decode("utf-8", "replace")


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def main(arguments: list[str]) -> None:
    """Run the request in the file named first."""
    with open(arguments[0], encoding="utf-8") as file:
        answer = run(json.load(file))
    rest = memoryview(json.dumps(answer).encode())
    while rest:
        rest = rest[os.write(1, rest) :]
