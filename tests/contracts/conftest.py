"""The adapters that the contracts run against: a new one is a line here."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mulligan.ports import SnapshotStore
from tests.support.snapshot_world import new_store
from tests.support.walkers import WALKERS, walked
from tests.support.watched_world import watching_store

STORES: dict[str, Callable[[Path, ExitStack], SnapshotStore]] = {
    "packed": lambda home, _: new_store(home),
    "packed, watching": watching_store,
}


@pytest.fixture(params=WALKERS)
def walker(request: pytest.FixtureRequest) -> Iterator[str]:
    with walked(request.param):
        yield request.param


@pytest.fixture(params=STORES)
def make_store(
    request: pytest.FixtureRequest, tmp_path: Path, walker: str
) -> Iterator[Callable[[], SnapshotStore]]:
    with ExitStack() as watches:
        yield lambda: STORES[request.param](tmp_path / "store", watches)


@pytest.fixture
def store(make_store: Callable[[], SnapshotStore]) -> SnapshotStore:
    return make_store()
