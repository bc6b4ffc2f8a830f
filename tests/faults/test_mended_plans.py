"""Rolling forward to checkpoints of steps that a mended plan file has replaced since."""

from pathlib import Path

from mulligan.domain.plans.plan import State
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
    status, _ = project.resume("p", corrected=new)
    assert status.state is State.COMPLETE
    sandbox = Path(status.sandboxes[0].path)
    project.rollback("p", groups["after two"])  # and its plan file comes back with it
    steps = [(step.name, step.status.value) for step in project.status("p").steps]
    assert steps == [("one", "done"), ("two", "done"), ("three", "pending")]
    assert (sandbox / "two").read_text() == "old"
    assert not (sandbox / "zwei").exists()
