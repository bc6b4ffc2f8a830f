"""A shared project in a file, and a project of a file in a server: rows and packs go from one kind of place to another.

Bytes go before rows, and all rows in one transaction: the same command completes what a killed one began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.adapters.db.database_file import open_sqlite
from mulligan.adapters.homes.home_search import ProjectPlace, Standing
from mulligan.adapters.homes.tree_copy import remove_folder
from mulligan.adapters.settings_files import read_settings, set_setting, unset_setting
from mulligan.config import Source, parse_value
from mulligan.config.database_address import parts_of
from mulligan.domain.plans.plan import State
from mulligan.rows.host_names import HostRepository
from mulligan.wiring.adapters import Adapters
from mulligan.wiring.database_place import (
    POSTGRESQL,
    make_shared,
    open_shared,
    refuse_second_home,
    require_driver,
)
from mulligan.wiring.shared.row_copy import copy_rows, count_rows, refuse_uneven

if TYPE_CHECKING:
    from mulligan.adapters.postgres.server_address import ServerAddress
    from mulligan.domain.resources.host import Host
    from mulligan.ports import PackStorage
    from mulligan.wiring.surroundings import Surroundings

_DATABASE, _STORE = "core.database.url", "core.store.url"
_OF_A_SERVER = (_DATABASE, _STORE, "core.store.endpoint", "core.host")


class PacksElsewhere(Mapping[str, Callable[[], bytes]]):
    """The packs in a bucket, each with what fetches it; they are listed when they are first asked for."""

    def __init__(self, storage: PackStorage | None) -> None:
        """None: all packs are in the home."""
        self._storage = storage

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._storage.list()) if self._storage is not None else ())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> Callable[[], bytes]:
        storage = self._storage
        assert storage is not None, "it has none"

        def fetch() -> bytes:
            try:
                return storage.read(name, 0, storage.size(name))
            except FileNotFoundError as exc:
                raise errors.StoreMoved(packs=1, reason=f"{name} is gone") from exc

        return fetch


def refuse_running(project: Adapters) -> None:
    """Refuse a shared project in which a plan runs, on whatever machine."""
    with project.database.reading() as db:
        plans = db.plans.list(None)
    for plan in plans:
        holder = project.locks.holder(plan.plan_id) if plan.state is State.PROCESSING else None
        if holder is not None:
            raise errors.PlanBusy(plan_id=plan.handle, pid=holder.pid, since=holder.since)


def copy_from_server(project: Adapters, place: ServerAddress, target: Path) -> None:
    """Write the rows of a shared project into the file of a database.

    What other machines work on in place stays with them: it has no folder here.
    """
    with (
        closing(open_shared(place)) as source,
        closing(open_sqlite(target)) as copy,
        source.transaction(write=False),
        copy.transaction(write=True),
    ):
        copied = copy_rows(source, copy, here=project.host.host, host=None)
        refuse_uneven(copy, copied, str(target))


def forget_server(home: Path) -> None:
    """Drop the settings of a home that led to a server: what came in a file is in the home."""
    file = home / "config.toml"
    if file.is_symlink():
        return
    values = read_settings(file, Source.PROJECT_FILE).values
    if str(values.get(_DATABASE, "")).startswith(POSTGRESQL):
        for key in _OF_A_SERVER:
            if key in values:
                unset_setting(file, Source.PROJECT_FILE, key)


def move_to_server(around: Surroundings, home: Path, folder: Path, database: str, store: str | None) -> None:
    """Bring the rows of a home that nothing names yet into a server, and its packs into a bucket.

    The id of the project follows from what is copied and to where, so that a repetition finds what was copied already.
    """
    require_driver()
    url = str(parse_value(_DATABASE, database, Source.COMMAND_LINE))
    if not url.startswith(POSTGRESQL):
        raise errors.SettingInvalid(
            key=_DATABASE,
            reason="--database wants a server",
            allowed="postgresql://HOST/DATABASE",
            origin=Source.COMMAND_LINE,
        )
    rows, parts = home / "mulligan.db", parts_of(url)
    project = sha256(rows.read_bytes() + parts.place.encode()).hexdigest()[:26].upper()
    settings = home / "config.toml"
    set_setting(settings, Source.PROJECT_FILE, _DATABASE, parts.holding(project))
    here = home / "store" / "packs"
    came = here.with_name("came")
    if store is not None:
        set_setting(
            settings, Source.PROJECT_FILE, _STORE, str(parse_value(_STORE, store, Source.COMMAND_LINE))
        )
        if here.is_dir():
            here.rename(came)
    adapters = Adapters(
        place=ProjectPlace(folder=folder, home=home, standing=Standing.SETTLED), around=around, stop=None
    )
    try:
        place = adapters.database_place
        if isinstance(place, Path) or place.project != project:
            raise errors.SettingInvalid(
                key=_DATABASE, reason="another place sets another database", allowed="unset it there"
            )
        make_shared(place, project)
        _refuse_used(place, adapters.host, home)
        if (bucket := adapters.object_store) is not None:
            bucket.packs.make_sure()
            _upload(came, bucket.packs)
        _copy_to_server(rows, place, adapters.host.host)
    finally:
        adapters.close()
    rows.unlink()
    if came.is_dir():
        remove_folder(came)


def _refuse_used(place: ServerAddress, host: Host, home: Path) -> None:
    """Refuse tables that this or another machine uses: what the same file brought before is a project already."""
    refuse_second_home(place, host.host, host.name, home)
    with closing(open_shared(place)) as connection:
        others = [each for each in HostRepository(connection).all() if each.host != host.host]
    if others:
        raise errors.DatabaseOfAnotherProject(database=place.shown)


def _upload(folder: Path, packs: PackStorage) -> None:
    """Store all packs of a folder; those that an earlier try stored are there."""
    known = set(packs.list())
    for file in sorted(folder.glob("*.pack")):
        if file.name not in known:
            draft = packs.draft()
            try:
                draft.file.write(file.read_bytes())
                draft.put(file.name)
            finally:
                draft.close()


def _copy_to_server(file: Path, place: ServerAddress, host: str) -> None:
    """Copy all rows in one transaction; a server that has them already keeps them."""
    with (
        closing(open_sqlite(file)) as source,
        closing(open_shared(place)) as target,
        source.transaction(write=False),
        target.transaction(write=True),
    ):
        is_there = target.row("SELECT plan_id FROM plans LIMIT 1") is not None
        copied = count_rows(source) if is_there else copy_rows(source, target, here=None, host=host)
        refuse_uneven(target, copied, str(file))
