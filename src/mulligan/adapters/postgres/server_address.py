"""The address of a shared project's database: a server, a database on it, and the schema that holds the project.

The program never keeps a password: the driver takes it from PGPASSWORD, PGPASSFILE (`~/.pgpass`) or a service file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.config.database_address import parts_of

if TYPE_CHECKING:
    from psycopg import Connection

# Seconds. A dead link is noticed after these, whatever the system's own patience is.
_CONNECT = 10
_LOCK = "10s"  # writers wait this long for each other; readers never wait
_IDLE_IN_TRANSACTION = (
    "30s"  # a process that does not move inside a transaction must not keep all others from writing
)
_SILENCE = 3  # on a link before the other side is asked


class ServerAddress(Struct, frozen=True):
    """The address of a project in PostgreSQL."""

    conninfo: str  # for the driver; without a password
    schema: str
    lease: float  # seconds that the server keeps the claims of a machine that is cut off
    project: str | None  # the id that its row must have; None: not known yet
    shown: str  # for people

    @classmethod
    def of(cls, url: str) -> ServerAddress:
        """Read an address that the settings accepted."""
        parts = parts_of(url)
        return cls(parts.conninfo, parts.schema, parts.lease, parts.project, parts.place)

    def connect(self, *, name: str, options: str = "") -> Connection[tuple[object, ...]]:
        """Connect; whatever is written without a schema is in the project's own."""
        from psycopg import connect  # here: it takes a tenth of a second

        own = f"-c search_path={self.schema} -c client_encoding=UTF8 {options}"
        return connect(
            self.conninfo,
            autocommit=True,
            connect_timeout=_CONNECT,
            application_name=name[:63],
            options=own,
            keepalives_idle=_SILENCE,
            keepalives_interval=_SILENCE,
            keepalives_count=2,
            tcp_user_timeout=4 * _SILENCE * 1000,  # milliseconds
        )

    def connect_for_rows(self, name: str) -> Connection[tuple[object, ...]]:
        """Connect to read and write rows."""
        limits = f"-c lock_timeout={_LOCK} -c idle_in_transaction_session_timeout={_IDLE_IN_TRANSACTION}"
        return self.connect(name=name, options=limits)
