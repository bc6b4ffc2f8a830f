"""A bucket on a small server, rows in PostgreSQL, and machines that use both."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.support.s3_server import SmallStore, small_store
from tests.support.shared_store import Machine, SharedStore


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[SmallStore, SharedStore]]:
    with small_store() as server:
        store = SharedStore.on(server)
        yield server, store
        store.close()


@pytest.fixture
def server(servers: tuple[SmallStore, SharedStore]) -> Iterator[SmallStore]:
    """The server of the bucket, which keeps its promises until a test says otherwise."""
    server, _ = servers
    yield server
    server.failures.clear()
    server.failed = 0
    server.honours_conditions = server.honours_ranges = server.lists = True
    server.ahead = 0.0
    server.objects.clear()


@pytest.fixture
def shared(servers: tuple[SmallStore, SharedStore], server: SmallStore) -> Iterator[SharedStore]:
    """The store of a project, without a pack."""
    server.requests.clear()
    store = servers[1].wipe()
    yield store
    store.close()


@pytest.fixture
def machine(shared: SharedStore, tmp_path: Path) -> Callable[..., Machine]:
    """Open the store on one more machine."""
    numbers = count(1)
    return lambda **options: shared.open(tmp_path / f"machine {next(numbers)}", **options)
