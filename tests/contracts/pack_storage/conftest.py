"""The storages of packs, and the leases on them, that the contract runs against: a new one is a line here."""

import errno
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from mulligan.adapters.local_packs.flock_leases import FlockLeases
from mulligan.adapters.local_packs.pack_folder import PackFolder
from mulligan.osfiles.tempdirs import Rooms
from mulligan.ports import Lease, Leases, PackStorage
from tests.support.nameless_files import refuse_nameless_files
from tests.support.shared_store import SharedStore, kept_store


def pack_folder(home: Path, _: pytest.MonkeyPatch) -> PackStorage:
    return PackFolder(home / "packs", Rooms(home / "rooms"))


def pack_folder_with_named_drafts(home: Path, monkeypatch: pytest.MonkeyPatch) -> PackStorage:
    """On a filesystem such as NFS."""
    refuse_nameless_files(monkeypatch, errno.EOPNOTSUPP)
    return PackFolder(home / "packs", Rooms(home / "rooms"))


FOLDERS: dict[str, Callable[[Path, pytest.MonkeyPatch], PackStorage]] = {
    "local folder": pack_folder,
    "local folder, named drafts": pack_folder_with_named_drafts,
}
BUCKET = "bucket"
STORAGES = [*FOLDERS, BUCKET]
LEASES: dict[str, Callable[[Path], Leases]] = {"flock": lambda home: FlockLeases(home / "store")}


@pytest.fixture(scope="module")
def shared_store() -> Iterator[SharedStore]:
    with kept_store() as store:
        yield store


@pytest.fixture(params=STORAGES)
def open_storage(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], PackStorage]:
    """Open the same storage again, as another process does; a bucket on a machine of its own."""
    if request.param != BUCKET:
        return lambda: FOLDERS[request.param](tmp_path, monkeypatch)
    store: SharedStore = request.getfixturevalue("shared_store").wipe()
    machines = count(1)
    return lambda: store.open(tmp_path / str(next(machines))).packs


@pytest.fixture(params=FOLDERS)
def open_folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], PackStorage]:
    """Open the same folder again, as another process does."""
    return lambda: FOLDERS[request.param](tmp_path, monkeypatch)


@pytest.fixture
def storage(open_storage: Callable[[], PackStorage]) -> PackStorage:
    return open_storage()


@pytest.fixture(params=LEASES)
def leases(request: pytest.FixtureRequest, tmp_path: Path) -> Leases:
    return LEASES[request.param](tmp_path)


@pytest.fixture(params=Lease)
def lease(request: pytest.FixtureRequest) -> Lease:
    return Lease(request.param)
