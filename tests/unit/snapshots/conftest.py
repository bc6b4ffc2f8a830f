"""What the snapshot store promises holds whichever way trees are walked."""

from collections.abc import Iterator

import pytest

from tests.walkers import WALKERS, walked


@pytest.fixture(autouse=True, params=WALKERS)
def walker(request: pytest.FixtureRequest) -> Iterator[str]:
    with walked(request.param):
        yield request.param
