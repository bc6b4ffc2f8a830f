"""The adapters that the contracts run against: a new one is a line here."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mulligan.ports import SnapshotStore
from tests.support.shared_store import SharedStore, kept_store
from tests.support.snapshot_world import new_store
from tests.support.walkers import WALKERS, walked
from tests.support.watched_world import watching_store

STORES: dict[str, Callable[[Path, ExitStack], SnapshotStore]] = {
    "packed": lambda home, _: new_store(home),
    "packed, watching": watching_store,
}


BUCKET = "packed, in a bucket"
# Where packs are has nothing to do with how trees are walked.
_WAYS = [*((store, walker) for store in STORES for walker in WALKERS), (BUCKET, next(iter(WALKERS)))]


@pytest.fixture(scope="module")
def shared_store() -> Iterator[SharedStore]:
    with kept_store() as store:
        yield store


@pytest.fixture(params=_WAYS, ids=" ".join)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], SnapshotStore]]:
    store, walker = request.param
    with ExitStack() as watches, walked(walker):
        if store == BUCKET:
            shared: SharedStore = request.getfixturevalue("shared_store").wipe()
            yield lambda: shared.open(tmp_path / "store").store()
        else:
            yield lambda: STORES[store](tmp_path / "store", watches)


@pytest.fixture(params=_WAYS[:-1], ids=" ".join)
def make_waiting_store(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[], SnapshotStore]]:
    """Open a store whose sweep waits for captures; others refuse the commit, as tests/unit/object_packs shows."""
    store, walker = request.param
    with ExitStack() as watches, walked(walker):
        yield lambda: STORES[store](tmp_path / "store", watches)


@pytest.fixture
def store(make_store: Callable[[], SnapshotStore]) -> SnapshotStore:
    return make_store()
