"""What the tests of faults share."""

import pytest

from tests.faults.both import BothTrials


@pytest.fixture(scope="session")
def trials(tmp_path_factory: pytest.TempPathFactory) -> BothTrials:
    """Both scenarios, run undisturbed once for all files of a process: that takes longer than many faults."""
    return BothTrials(tmp_path_factory.mktemp("trials"))
