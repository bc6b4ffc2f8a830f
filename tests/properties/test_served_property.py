"""Whatever happens to a tree, processes that ask what changed in it capture what a fresh scan finds."""

from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from mulligan.adapters.snapshots.cache import stat_cache
from mulligan.adapters.snapshots.watch.tree_journals import TreeJournals
from mulligan.ports import TreeChanges, WorkingTree
from tests.properties.test_watch_property import ExcludingTree, WatchedTree
from tests.support.long_run import LONGER
from tests.support.snapshot_world import Watcher, new_store


class Reports:
    """The reports of a server that is always there."""

    def __init__(self) -> None:
        self.journals = TreeJournals()
        self.reported = 0

    def since(self, tree: WorkingTree, token: bytes) -> TreeChanges | None:
        """Ask for what changed."""
        report = self.journals.report(tree, token)
        self.reported += report is not None and report.paths is not None
        return report

    def moment(self, tree: WorkingTree) -> bytes:
        """Ask for the present moment of a tree that has a journal."""
        return self.journals.moment(tree)


class ServedTree(WatchedTree):
    """Each look by a process of its own, or by the same as before."""

    @initialize()
    def begin(self) -> None:
        super().begin()
        self.watching.__exit__(None, None, None)
        self.reports = Reports()
        self.watching = ExitStack()
        self.work_again_later()

    @rule(watched=st.booleans())
    def work_again_later(self, watched: bool = False) -> None:
        """Begin another process, which may watch the tree itself if nobody reports what changes."""
        self.watching.__exit__(None, None, None)
        self.store = new_store(self.home / "store", reports=self.reports)
        self.watching = ExitStack()
        self.watching.enter_context(self.store.at_once())
        if watched:
            self.watching.enter_context(self.store.at_work_briefly())
            self.watching.enter_context(self.store.watch(self.tree, others_at_work=True))

    @rule(again=st.booleans(), watched=st.booleans())
    def checkpoint(self, again: bool = True, watched: bool = False) -> None:
        if again:
            self.work_again_later(watched)
        super().checkpoint()

    @rule(watched=st.booleans())
    def survey(self, watched: bool = False) -> None:
        """Count before a checkpoint, as a plan does: it is what a store that knows nothing counts."""
        self.work_again_later(watched)
        found = new_store(self.home / "counting").survey(self.tree, Watcher())
        with self.store.surveys_kept():
            assert self.store.survey(self.tree, Watcher()) == found
            super().checkpoint()

    def teardown(self) -> None:
        if hasattr(self, "reports"):
            super().teardown()
            self.reports.journals.close()


class ServedExcludingTree(ServedTree, ExcludingTree):
    """The same with names that are excluded."""


@pytest.fixture(autouse=True)
def everything_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small trees have a cache on disk, which is not written again with every change."""
    monkeypatch.setattr(stat_cache, "_WORTH_SAVING_FILES", 0)
    monkeypatch.setattr(stat_cache, "_SAVING_COSTS", 2)


TestServedTree = ServedTree.TestCase
TestServedExcludingTree = ServedExcludingTree.TestCase
TestServedExcludingTree.settings = TestServedTree.settings = settings(
    max_examples=5 * LONGER,
    stateful_step_count=14,
    deadline=None,
    phases=[Phase.generate],  # what several processes do at once does not happen twice: nothing to shrink
    suppress_health_check=list(HealthCheck),
)
