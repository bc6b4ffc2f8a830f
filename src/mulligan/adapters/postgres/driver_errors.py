"""The driver's errors as ours, with what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan import errors

if TYPE_CHECKING:
    import psycopg

_AGAIN = "the server went away: try again when it is up; what was recorded before is there"
_UNREACHABLE = errors.Advice(
    "start the server or restore the network, then try again; ",
    errors.NextStep("config.get", key="core.database.url"),
    " has its address",
)
_HOW_TO_LOG_IN = (
    "mulligan keeps no password: put it into PGPASSWORD, ~/.pgpass or the file that PGPASSFILE names"
)
_OTHER_TABLES = errors.Advice(
    "its tables are those of another version: see ", errors.NextStep("upgrade_database")
)
_HINTS = {
    "08": _AGAIN,  # connection failures
    "28": _HOW_TO_LOG_IN,
    "3D": "make the database first: `createdb NAME`, on the server or with its address",
    "42501": "let the owner of the database grant this role the rights to connect and to create a schema",
    "42P01": _OTHER_TABLES,
    "42703": _OTHER_TABLES,
    "53100": "free space on the server's disk, then try again",
    "53300": "raise max_connections of the server, or let fewer processes use the project at once",
    "55P03": "another process holds a lock for long: let it finish, then try again",
    "57P": _AGAIN,
    "25P": "this process did nothing for long inside a transaction, and the server ended it: try again",
}
_CLOSED = "another thread closed the project: try again"


def unusable(shown: str, exc: psycopg.Error) -> errors.DatabaseUnusable | errors.PoolerInTheWay:
    """Return our error for one of the driver."""
    text = str(exc).strip() or type(exc).__name__
    if "unsupported startup parameter" in text:  # what a pooler says of our settings
        return errors.PoolerInTheWay(database=shown)
    reason = text.splitlines()[0]
    facts = {"database": shown, "reason": reason}
    if "the connection is closed" in text:
        return errors.DatabaseUnusable(hint=_CLOSED, **facts)
    if "NUL (0x00)" in text:
        facts["reason"] = "PostgreSQL keeps no text with the character NUL in it"
        return errors.DatabaseUnusable(hint="leave the NUL out of names, labels and messages", **facts)
    state = exc.sqlstate or ""
    for length in (5, 3, 2):
        if (hint := _HINTS.get(state[:length])) is not None:
            return errors.DatabaseUnusable(hint=hint, **facts)
    if "password" in text:
        return errors.DatabaseUnusable(hint=_HOW_TO_LOG_IN, **facts)
    if not state:
        return errors.DatabaseUnusable(hint=_UNREACHABLE, **facts)
    return errors.DatabaseUnusable(hint=f"the server's log says more (SQLSTATE {state})", **facts)


def is_gone(exc: psycopg.Error) -> bool:
    """Return whether the connection is lost, or could not be made for now: another one may work."""
    from psycopg import OperationalError

    state = exc.sqlstate or ""
    return isinstance(exc, OperationalError) and (state[:2] in ("", "08") or state[:3] == "57P")
