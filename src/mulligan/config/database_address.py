"""The address of a database, as settings hold it: a SQLite file, or a schema of a PostgreSQL server.

A password in an address would end in settings files, logs and messages: it is refused by name.
"""

from __future__ import annotations

import re

from msgspec import Struct

SQLITE = "sqlite:///"
POSTGRESQL = "postgresql://"
DEFAULT_SCHEMA = "mulligan"
DEFAULT_LEASE = 15.0

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SECRETS = ("password", "sslpassword")
_ADDED = ("schema", "lease", "project")  # parameters that the driver does not know
_LEASES = (1, 600)
_OURS = ("options", "application_name", "client_encoding")  # parameters that this program sets itself


class SharedAddress(Struct, frozen=True):
    """The parts of a PostgreSQL address."""

    conninfo: str  # for the driver
    schema: str  # named by `?schema=NAME`
    lease: float  # seconds that the server keeps claims of a machine that is cut off: `?lease=SECONDS`
    project: str | None  # the id of the project that `init` made there, named by `?project=ID`

    @property
    def place(self) -> str:
        """The address of the schema, whatever project is there."""
        lease = "" if self.lease == DEFAULT_LEASE else f"&lease={self.lease:g}"
        return self.conninfo + f"{'&' if '?' in self.conninfo else '?'}schema={self.schema}{lease}"

    def holding(self, project: str) -> str:
        """Return the address of a project in the schema."""
        return f"{self.place}&project={project}"


def parts_of(url: str) -> SharedAddress:
    """Take an address apart.

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
    own = dict(parameters)
    schema = own.get("schema", DEFAULT_SCHEMA)
    if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
        raise ValueError("names no schema behind ?schema=: use lower-case letters, digits and _")
    query = urlencode([(name, value) for name, value in parameters if name not in _ADDED], safe="/")
    conninfo = f"{POSTGRESQL}{found.netloc}{found.path}{'?' if query else ''}{query}"
    return SharedAddress(conninfo, schema, _lease(own.get("lease")), own.get("project"))


def _lease(word: str | None) -> float:
    try:
        lease = DEFAULT_LEASE if word is None else float(word)
    except ValueError:
        lease = 0.0
    if not _LEASES[0] <= lease <= _LEASES[1]:
        raise ValueError(f"has a lease that is not between {_LEASES[0]} and {_LEASES[1]} seconds")
    return lease
