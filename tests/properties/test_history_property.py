"""Whatever sequence of checkpoints, rollbacks, corrections and prunes: every checkpoint listed restores exactly."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mulligan.api.project import Project
from mulligan.domain.views.history_tree import NodeType, TreeNode
from mulligan.errors import Refused
from tests.faults.projects import project_in
from tests.support.long_run import LONGER
from tests.support.snapshot_world import picture

PLAN = """name: p
config: {sandbox.checkpoint.max-checkpoints-per-plan: 7}
steps:
  - {name: one, tool: write_file, args: {path: made/one, content: "1"}}
  - {name: choose, decision: {question: Q, chosen: x}}
  - {name: two, tool: move_file, args: {path: kept, to: moved}}
"""
NAMES = st.sampled_from(["a", "b", "made/one", "deep/er/file"])
CHOICES = st.integers(0, 100)

Tree = dict[bytes, tuple[object, ...]]


class Histories(RuleBasedStateMachine):
    """A plan in whose sandbox things happen, and whose user takes, visits and prunes checkpoints."""

    def __init__(self) -> None:
        super().__init__()
        self._root = Path(tempfile.mkdtemp(prefix="mulligan-history-"))
        self._seen: dict[str, Tree] = {}  # by checkpoint id: its files when it was first listed
        self._sandbox = self._root
        self._labels = 0
        self._exports = 0

    @property
    def _project(self) -> Project:
        """A new process opens it every time."""
        return project_in(self._root / "project")

    @initialize()
    def execute(self) -> None:
        folder = self._root / "project"
        folder.mkdir()
        (folder / "kept").write_text("kept")
        (self._root / "plan.yaml").write_text(PLAN)
        self._sandbox = Path(self._project.execute(self._root / "plan.yaml").sandboxes[0].path)

    @rule(name=NAMES, content=st.binary(max_size=20), mode=st.sampled_from([0o644, 0o755, 0o400]))
    def write(self, name: str, content: bytes, mode: int) -> None:
        path = self._sandbox / name
        if path.parent.is_file():
            path.parent.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        path.chmod(mode)

    @rule(name=st.sampled_from(["a", "made", "deep", "moved"]))
    def remove(self, name: str) -> None:
        path = self._sandbox / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    @rule()
    def take(self) -> None:
        self._labels += 1
        (taken,) = self._project.checkpoints.create("p", f"label {self._labels}")
        assert self._exported(taken.checkpoint_id) == picture(self._sandbox)

    @rule(choice=CHOICES, forward=st.booleans())
    def go(self, choice: int, forward: bool) -> None:
        listed = self._project.checkpoints.list("p", superseded=forward)
        target = listed[choice % len(listed)].checkpoint_id
        kept = self._project.rollback("p", target).post_rollback_state.pre_rollback_checkpoint
        assert kept
        assert picture(self._sandbox) == self._seen[target]

    @rule()
    def run_on(self) -> None:
        try:
            self._project.execute("p")
        except Refused:
            return  # it is complete

    @rule(choice=CHOICES, choose=st.sampled_from([None, "x", "y"]), execute=st.booleans())
    def correct(self, choice: int, choose: str | None, execute: bool) -> None:
        project = self._project
        decided = _decisions(project.tree("p"))
        if not decided:
            return
        node = decided[choice % len(decided)]
        chosen = choose if node.about["decision_type"] == "choice" else None
        attempt = project.status("p").attempt
        status, corrected = project.correct(node.id, guidance="g", choose=chosen, execute=execute)
        assert (status.attempt, corrected.correction.attempt) == (attempt + 1, attempt + 1)
        assert [c.attempt for c in status.corrections] == [*range(2, attempt + 2)]
        live = {decision.id for decision in _decisions(project.tree("p"))}
        assert node.id not in live
        assert corrected.correction.intervention_id in live
        if not execute:
            assert picture(self._sandbox) == self._seen[corrected.correction.restored_checkpoint]

    @rule(keep=st.integers(2, 5))
    def prune(self, keep: int) -> None:
        self._project.checkpoints.prune("p", keep=keep)

    @rule(choice=CHOICES)
    def delete(self, choice: int) -> None:
        listed = self._project.checkpoints.list("p", superseded=True)
        try:
            self._project.checkpoints.delete(listed[choice % len(listed)].checkpoint_id)
        except Refused:
            return  # it must stay

    @rule()
    def free(self) -> None:
        self._project.gc()

    @invariant()
    def every_listed_checkpoint_restores_exactly(self) -> None:
        for view in self._project.checkpoints.list("p", superseded=True):
            files = self._exported(view.checkpoint_id)
            assert self._seen.setdefault(view.checkpoint_id, files) == files

    def _exported(self, checkpoint_id: str) -> Tree:
        self._exports += 1
        place = self._root / f"export {self._exports}"
        self._project.checkpoints.restore(checkpoint_id, place)
        found = picture(place)
        shutil.rmtree(place)
        return found

    def teardown(self) -> None:
        shutil.rmtree(self._root)


def _decisions(node: TreeNode) -> list[TreeNode]:
    here = [node] if node.type is NodeType.DECISION else []
    return [*here, *(found for child in node.children for found in _decisions(child))]


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=4 * LONGER, stateful_step_count=20, deadline=None)
