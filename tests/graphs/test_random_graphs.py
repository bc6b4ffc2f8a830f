"""Whatever is done with a graph, and wherever it is killed: files and state of each checkpoint are of one moment."""

from pathlib import Path

import pytest

from tests.graphs.random_graphs import lives
from tests.graphs.small_graphs import project_in
from tests.support.long_run import LONGER

LIVES, ACTS = (3, 4) if LONGER == 1 else (5, 9)  # of a program, and of each of its lives


@pytest.mark.parametrize("kind", ["own", "sqlite"])
def test_files_and_states_are_of_one_moment_after_random_acts(tmp_path: Path, kind: str) -> None:
    for seed in range(1 if LONGER == 1 else 4 * LONGER):
        folder = tmp_path / f"{seed}"
        project_in(folder).close()
        lives(folder, kind, seed, LIVES, ACTS)
