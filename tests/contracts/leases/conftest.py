"""The leases that the contract runs against: new ones are a line here."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.adapters.local_packs.flock_leases import FlockLeases
from mulligan.ports import Lease, Leases

LEASES: dict[str, Callable[[Path], Leases]] = {"flock": lambda home: FlockLeases(home / "store")}


@pytest.fixture(params=LEASES)
def leases(request: pytest.FixtureRequest, tmp_path: Path) -> Leases:
    return LEASES[request.param](tmp_path)


@pytest.fixture(params=Lease)
def lease(request: pytest.FixtureRequest) -> Lease:
    return Lease(request.param)
