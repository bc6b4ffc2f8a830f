"""Rolling forward to checkpoints of steps that a mended plan file has replaced since."""

from pathlib import Path

import pytest

from mulligan.domain.plan import State
from mulligan.errors import CheckpointOfOtherSteps
from tests.faults.projects import project_in

OLD = """name: p
steps:
  - {name: one, tool: write_file, args: {path: one, content: "1"}, checkpoint: after one}
  - {name: two, tool: write_file, args: {path: two, content: "old"}, checkpoint: after two}
  - {name: three, tool: shell, args: {command: "exit 7"}}
"""
NEW = """name: p
steps:
  - {name: one, tool: write_file, args: {path: one, content: "1"}, checkpoint: after one}
  - {name: zwei, tool: write_file, args: {path: zwei, content: "new"}}
"""


def test_steps_of_a_mended_file_are_not_complete_because_those_of_the_old_one_were(tmp_path: Path) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(OLD)
    new.write_text(NEW)
    project = project_in(tmp_path)
    assert project.execute(old).state is State.ERRORED
    groups = {v.label: v.checkpoint_id for v in project.checkpoints.list("p", superseded=True) if v.label}
    project.rollback("p", "first")
    status, _ = project.resume("p", mended=new)
    assert status.state is State.COMPLETE
    sandbox = Path(status.sandboxes[0].path)
    for dry_run in (True, False):
        with pytest.raises(CheckpointOfOtherSteps) as refused:
            project.rollback("p", groups["after two"], dry_run=dry_run)
    assert refused.value.facts["changed_from"] == 1
    assert "checkpoint restore" in refused.value.next_step
    assert (sandbox / "zwei").read_text() == "new"
    project.rollback("p", groups["after one"])  # the first step is the same in both
    assert [step.status.value for step in project.status("p").steps] == ["done", "pending"]
    assert not (sandbox / "zwei").exists()
    assert project.execute("p").state is State.COMPLETE
    assert (sandbox / "zwei").read_text() == "new"
