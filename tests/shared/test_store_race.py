"""Captures, sweeps that stand still, prunes and readers at once over one bucket: whatever a row names can be read."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.support import seaweed
from tests.support.shared_store import SharedStore, kept_store
from tests.support.store_race import Race


@pytest.fixture
def own_bucket() -> Iterator[seaweed.Seaweed]:
    """A real object store that a test may end."""
    if seaweed.program() is None:
        pytest.skip(seaweed.WHY_NOT)
    with tempfile.TemporaryDirectory(prefix="mulligan-weed-") as folder:
        server = seaweed.Seaweed(Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.stop()


def test_nothing_is_lost(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with kept_store() as store:
        race = Race(store, tmp_path, seed=1, grace=0.1)
        race.run(captures=6, capturers=2, sweepers=2)
    assert race.lost == []
    assert race.counts["captures"]
    record_property("race", dict(race.counts))


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_in_a_real_store(
    own_bucket: seaweed.Seaweed, tmp_path: Path, seed: int, record_property: Callable[[str, object], None]
) -> None:
    store = SharedStore(own_bucket.endpoint, own_bucket.environ)
    race = Race(store, tmp_path, seed=seed, grace=0.05)
    race.run(captures=60, capturers=4, sweepers=2, readers=2)
    store.close()
    record_property("race", dict(race.counts))
    assert race.lost == []
    assert race.counts["refused at their commit"], "commits were checked"
    assert race.counts["sweeps that stood still before their deletes"]


def test_without_the_check_snapshots_are_lost(own_bucket: seaweed.Seaweed, tmp_path: Path) -> None:
    """What shows that the race looks: so many captures never come through."""
    for seed in range(20):
        store = SharedStore(own_bucket.endpoint, own_bucket.environ)
        race = Race(store, tmp_path / str(seed), seed=seed, grace=0.02, checked=False)
        race.run(captures=40, capturers=4, sweepers=2)
        store.close()
        if race.lost:
            return
    raise AssertionError("nothing was lost in 20 runs")


def test_a_store_that_is_killed_and_started_again_is_waited_for(
    own_bucket: seaweed.Seaweed, tmp_path: Path
) -> None:
    store = SharedStore(own_bucket.endpoint, own_bucket.environ)
    race = Race(store, tmp_path, seed=5, grace=0.5)
    over = Event()

    def crash() -> None:
        while not over.is_set():
            until = race.counts["captures"] + 15
            while race.counts["captures"] < until and not over.wait(0.05):
                continue
            own_bucket.stop()
            race.add("crashes of the store")
            own_bucket.start()

    nemesis = Thread(target=crash)
    nemesis.start()
    try:
        race.run(captures=40, capturers=3, sweepers=1)
    finally:
        over.set()
        nemesis.join()
        store.close()
    assert race.lost == []
    assert race.counts["crashes of the store"] > 1
