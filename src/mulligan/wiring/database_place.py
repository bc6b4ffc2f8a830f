"""The location and the kind of a project's database: a second kind is chosen here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mulligan import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from mulligan.adapters.postgres.server_address import ServerAddress
    from mulligan.config import Settings
    from mulligan.domain.resources.host import Host
    from mulligan.ports import Clock, Locks, StopRequest
    from mulligan.rows.database import Database, RowGuard
    from mulligan.rows.place_codec import Places
    from mulligan.rows.sql_connection import SqlConnection

SQLITE = "sqlite:///"
POSTGRESQL = "postgresql://"


def database_in(folder: Path, home: Path, settings: Settings) -> Path | ServerAddress:
    """The file of the database, or the address of the server that has it.

    It is that of the project home, unless the settings name another one; paths are relative to the folder.
    """
    url = settings.database_url
    if url is None:
        return home / "mulligan.db"
    if url.startswith(POSTGRESQL):
        from mulligan.adapters.postgres.server_address import ServerAddress  # here: most projects have a file

        return ServerAddress.of(url)
    path = url.removeprefix(SQLITE)
    if not path:
        raise errors.SettingInvalid(key="core.database.url", reason="names no file", allowed="sqlite:///PATH")
    return folder / path


def database_at(
    place: Path | ServerAddress,
    places: Places,
    prepare: Callable[[], None],
    guard: RowGuard | None = None,
    host: Host | None = None,
) -> Database:
    """Return the database there, opened when it is first needed, after `prepare`.

    Paths in its rows are relative to the places; the guard may refuse a transaction that writes. `host` is this
    machine, which the rows of a shared project know.
    """
    from mulligan.rows.database import Database

    def connect() -> SqlConnection:
        prepare()
        if not isinstance(place, Path):
            return open_shared(place, host)
        from mulligan.adapters.db.database_file import open_sqlite

        return open_sqlite(place)

    return Database(connect, places, guard)


def open_shared(address: ServerAddress, host: Host | None = None) -> SqlConnection:
    """Open the database of a shared project, and let it know this machine where one is given."""
    if address.project is None:
        raise errors.DatabaseNotMade(database=address.shown)
    require_driver()
    from mulligan.adapters.postgres.schema_versions import open_postgres

    connection = open_postgres(address)
    if host is not None:
        from mulligan.rows.host_names import note_host

        try:
            note_host(connection, host, lambda home: _has_project(home, address))
        except BaseException:
            connection.close()
            raise
    return connection


def _has_project(home: str, address: ServerAddress) -> bool:
    """Return whether a home on this machine is one of that project."""
    from mulligan.adapters.settings_files import read_settings
    from mulligan.config import Source
    from mulligan.config.database_address import parts_of

    values = read_settings(Path(home) / "config.toml", Source.PROJECT_FILE).values
    url = values.get("core.database.url")
    if not isinstance(url, str) or not url.startswith(POSTGRESQL):
        return False
    return parts_of(url).project == address.project


def refuse_second_home(address: ServerAddress, host: str, name: str, home: Path | None) -> None:
    """Refuse a home for a project that has another one on this machine."""
    from contextlib import closing

    from mulligan.rows.host_names import HostRepository

    with closing(open_shared(address)) as connection:
        known = HostRepository(connection).known(host)
    if known is not None and str(home) != known.home and _has_project(known.home, address):
        other = "this folder's" if home is None else str(home)
        raise errors.HostHasHome(host=name, home=known.home, other=other)


def make_shared(address: ServerAddress, project: str) -> None:
    """Make the tables of a project that has them not yet; refuse those of another project."""
    from mulligan.adapters.postgres.schema_versions import make_schema

    if make_schema(address, project) != project:
        raise errors.DatabaseOfAnotherProject(database=address.shown)


def shared_project_in(url: str) -> str | None:
    """Return the id of the project that a server holds at that address; None for none."""
    require_driver()
    from mulligan.adapters.postgres.schema_versions import project_in
    from mulligan.adapters.postgres.server_address import ServerAddress

    return project_in(ServerAddress.of(url))


def shared_claims(
    address: ServerAddress, clock: Clock, stop: StopRequest | None, host: Host, worker: str | None
) -> Locks:
    """Return the claims of plans of a shared project.

    A worker runs many plans: it is stopped, and plans are taken from it, as if it were on another machine, without a
    signal that would end all of them.
    """
    require_driver()
    import os

    from mulligan.adapters.postgres.postgres_claims import PostgresClaims
    from mulligan.wiring.surroundings import boot_id

    # A process id means something to processes of the same boot, the same namespace and the same user only.
    machine = f"{boot_id()} {os.stat('/proc/self/ns/pid').st_ino} {host.host}"  # noqa: PTH116 - one question
    if worker is not None:
        machine += f" worker {worker}"
    return PostgresClaims(address=address, clock=clock, stop=stop, host=host.name, machine=machine)


def upgrade_database(place: Path | ServerAddress, find_host: Callable[[], Host]) -> tuple[int, int]:
    """Bring the tables of a project to this version; return the version they had, and the one they have."""
    if isinstance(place, Path):
        from contextlib import closing

        from mulligan.adapters.db.connection import SqliteConnection
        from mulligan.adapters.db.database_file import NEWEST_VERSION, open_sqlite, version_of

        with closing(SqliteConnection(place)) as connection:
            found = version_of(connection)
        open_sqlite(place).close()
        return found, NEWEST_VERSION
    require_driver()
    from mulligan.adapters.postgres.schema_versions import upgrade_schema

    return upgrade_schema(place, find_host().host)


def require_driver() -> None:
    """Refuse a database on a server where the packages for it are not installed."""
    require_package("psycopg", "a database on PostgreSQL")


def require_package(name: str, feature: str) -> None:
    """Refuse a part of shared projects where the packages for it are not installed."""
    from importlib.util import find_spec

    if find_spec(name) is None:
        import sys

        raise errors.ExtraMissing(
            extra="shared",
            feature=feature,
            command=f"{sys.executable} -m pip install 'mulligan[shared]'",
        )


def reader_of(place: Path | ServerAddress, *, mode: Literal["ro", "rw"], patience: float) -> SqlConnection:
    """Open a database as it is, to read it; wait so many seconds for a writer to finish."""
    if not isinstance(place, Path):
        return open_shared(place)
    from mulligan.adapters.db.connection import SqliteReader

    return SqliteReader(place, mode=mode, patience=patience)


def quick_reader_of(address: ServerAddress, patience: float) -> SqlConnection:
    """Open the database of a shared project for a question that nobody waits for longer than that, in seconds.

    A server that does not answer is waited for by a thread of its own, which ends with the process.
    """
    import queue
    import threading

    if address.project is None:
        raise errors.DatabaseNotMade(database=address.shown)
    require_driver()
    from mulligan.adapters.postgres.schema_versions import open_postgres  # loaded before the time runs

    opened: queue.SimpleQueue[SqlConnection | errors.MulliganError] = queue.SimpleQueue()

    def open_it() -> None:
        try:
            opened.put(open_postgres(address))
        except errors.MulliganError as exc:
            opened.put(exc)

    threading.Thread(target=open_it, daemon=True).start()
    try:
        found = opened.get(timeout=patience)
    except queue.Empty:
        raise errors.DatabaseUnusable(
            database=address.shown, reason=f"it did not answer within {patience} s"
        ) from None
    if isinstance(found, errors.MulliganError):
        raise found
    found.execute(f"SET statement_timeout = {int(patience * 1000)}")
    return found
