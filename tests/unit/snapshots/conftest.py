"""What the snapshot store promises holds whichever way trees are walked."""

from collections.abc import Iterator

import pytest

from mulligan.adapters.snapshots import store as storing
from mulligan.adapters.snapshots.capture import tree_reader as looking
from tests.support.walkers import WALKERS, walked


@pytest.fixture(autouse=True)
def on_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run in memory where they can; what is believed of files is told of disks."""
    for module in (looking, storing):
        monkeypatch.setattr(module, "keeps_no_times", lambda _path: False)


@pytest.fixture(autouse=True, params=WALKERS)
def walker(request: pytest.FixtureRequest) -> Iterator[str]:
    with walked(request.param):
        yield request.param
