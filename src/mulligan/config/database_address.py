"""The address of a database, as settings hold it: a SQLite file, or a schema of a PostgreSQL server.

A password in an address would end in settings files, logs and messages: it is refused by name.
"""

from __future__ import annotations

import re

SQLITE = "sqlite:///"
POSTGRESQL = "postgresql://"
DEFAULT_SCHEMA = "mulligan"

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SECRETS = ("password", "sslpassword")
_OURS = ("options", "application_name", "client_encoding")  # parameters that this program sets itself


def parts_of(url: str) -> tuple[str, str]:
    """Return the address for the driver, and the schema that `?schema=NAME` names.

    Raise ValueError, which does not repeat the address, for one that cannot be used.
    """
    from urllib.parse import parse_qsl, urlencode, urlsplit  # here: most projects have a file

    try:
        found = urlsplit(url)
        password, parameters = found.password, parse_qsl(found.query, keep_blank_values=True)
    except ValueError as exc:
        raise ValueError("is not an address") from exc
    if password is not None or any(name in _SECRETS for name, _ in parameters):
        raise ValueError(
            "holds a password, which mulligan does not keep: put it into PGPASSWORD, ~/.pgpass or a service file"
        )
    if taken := [name for name, _ in parameters if name in _OURS]:
        raise ValueError(f"sets {taken[0]}, which mulligan sets itself")
    if found.fragment:
        raise ValueError("has a part behind #")
    schemas = [value for name, value in parameters if name == "schema"]
    schema = schemas[-1] if schemas else DEFAULT_SCHEMA
    if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
        raise ValueError("names no schema behind ?schema=: use lower-case letters, digits and _")
    query = urlencode([(name, value) for name, value in parameters if name != "schema"], safe="/")
    return f"{POSTGRESQL}{found.netloc}{found.path}{'?' if query else ''}{query}", schema
