"""Whatever a tree holds and however it changes: walking it in C finds what walking it in Python finds."""

import os
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mulligan.domain.checkpoints.store_report import Capture
from tests.properties.test_snapshot_property import ACTS, Act, Playground
from tests.support.long_run import LONGER
from tests.support.snapshot_world import Watcher, new_store, tree_at
from tests.support.walkers import WALKERS, walked

_MANY = 70  # fewer files are not worth a stat cache on disk
_LATER = 5_000_000_000  # ns: seen from then on everything is old enough for the cache to be trusted


def _capture(home: Path, tree: Path, how: str, patterns: tuple[str, ...]) -> Capture:
    """Capture as a new process does, which knows what is on disk."""
    with walked(how):
        later = new_store(home / how, ahead_ns=_LATER)
        return later.capture(tree_at(tree, patterns=patterns), Watcher())


@settings(max_examples=30 * LONGER, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rounds=st.lists(st.lists(ACTS, max_size=10), min_size=1, max_size=3),
    patterns=st.sampled_from([(), (), ("a", "1*"), ("/*/b/", "2/**/[3-5]*", "!2/1/5")]),
)
def test_both_ways_to_walk_find_the_same(rounds: list[list[Act]], patterns: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory(prefix="walk-property-") as name:
        home, tree = Path(name), Path(name) / "tree"
        playground = Playground(tree)
        for number in range(_MANY):
            (tree / f"{number % 4}" / f"{number % 3}").mkdir(parents=True, exist_ok=True)
            (tree / f"{number % 4}" / f"{number % 3}" / f"{number}").touch()
        for number, acts in enumerate(rounds):
            for act in acts:
                playground.do(act)
            fresh = _capture(home / f"fresh {number}", tree, "in Python", patterns)
            for how in WALKERS:
                found = _capture(home, tree, how, patterns)
                assert found.snapshot == fresh.snapshot, how
                assert (found.files, found.unheld) == (fresh.files, fresh.unheld), how
            time.sleep(0.01)  # longer than a tick of the clock that stamps files: no grain is waited for here
        for folder, _, _ in os.walk(tree):
            os.chmod(folder, 0o700)
