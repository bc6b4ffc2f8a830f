"""Rows of the machines that work in a shared project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.domain.resources.host import Host
from mulligan.errors import HostHasHome
from mulligan.rows.columns import Layout
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mulligan.rows.sql_connection import SqlConnection

_HOST = Layout(Host)
_KNOWN = "SELECT * FROM hosts WHERE host = ?"
_ALL = "SELECT * FROM hosts ORDER BY host"
_FORGET = "DELETE FROM hosts WHERE host = ?"


class HostRepository(RowRepository):
    """Keeps which machines there are."""

    def known(self, host: str) -> Host | None:
        """Return what is known of a machine."""
        row = self._db.row(_KNOWN, (host,))
        return None if row is None else _HOST.value(row)

    def all(self) -> Sequence[Host]:
        """Return all of them."""
        return [_HOST.value(row) for row in self._db.rows(_ALL)]

    def is_elsewhere(self, host: str | None) -> bool:
        """Return whether something of that machine is not on this one."""
        return self._places.is_elsewhere(host)

    @property
    def are_several(self) -> bool:
        """Return whether machines share the project."""
        return self._places.host is not None

    def name_of(self, host: str) -> str:
        """Return the name that people know a machine by; one that no row names goes by its id."""
        found = self.known(host)
        return host if found is None else found.name

    def note(self, host: Host) -> None:
        """Record a machine, or its new name or home."""
        self._db.execute(_FORGET, (host.host,))
        self._insert("hosts", _HOST.columns(host))


def note_host(connection: SqlConnection, host: Host, is_home: Callable[[str], bool]) -> None:
    """Record a machine in a transaction of its own, where it is new, or another name or home of it is on record.

    A second home of the project on one machine is refused: what a row names would be in both.
    """
    hosts = HostRepository(connection)
    known = hosts.known(host.host)
    if known is not None and known.home != host.home and is_home(known.home):
        raise HostHasHome(host=host.name, home=known.home, other=host.home)
    if known != host:
        with connection.transaction(write=True):
            hosts.note(host)
