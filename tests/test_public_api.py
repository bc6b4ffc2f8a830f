"""The names that users import, exactly these, and what they do."""

import inspect
from pathlib import Path

import pytest

import mulligan

PLAN = """
name: small
steps:
  - {name: one, tool: write_file, args: {path: a.txt, content: new}}
  - {name: two, tool: shell, args: {command: "exit 3"}}
"""


def test_the_public_names_are_exactly_these() -> None:
    assert mulligan.__all__ == sorted(mulligan.__all__)
    assert mulligan.__all__ == dir(mulligan)
    assert {name: getattr(mulligan, name).__name__ for name in mulligan.__all__} == {
        name: name for name in mulligan.__all__
    }


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        mulligan.nothing_of_the_kind  # noqa: B018 - looking it up is the point  # pyright: ignore[reportAttributeAccessIssue] - likewise


def test_opening_and_making_take_a_folder() -> None:
    assert list(inspect.signature(mulligan.open).parameters) == ["path"]
    assert list(inspect.signature(mulligan.init).parameters) == ["path"]


def test_a_program_runs_looks_and_goes_back(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "plan.yaml").write_text(PLAN)
    project = mulligan.init(tmp_path)
    status = project.execute(tmp_path / "plan.yaml")
    assert (status.phase, status.state) == ("execute", "errored")
    assert status.error is not None
    assert status.error.step == "two"
    sandbox = Path(status.sandboxes[0].path)
    assert (sandbox / "a.txt").read_text() == "new"
    types = [c.checkpoint_type for c in project.checkpoints.list(status.plan_id)]
    assert types == ["pre_execute", "before_step", "before_step", "on_error"]
    preview = project.rollback(status.plan_id, "first", dry_run=True)
    done = mulligan.open(tmp_path).rollback("small", "first")
    assert preview.changes_reverted == done.changes_reverted
    assert (sandbox / "a.txt").read_text() == "old"
    assert project.plans()[0].state == "queued"
    assert project.cancel("small", "enough").state == "cancelled"
    assert [e.type for e in project.log("small")][-1] == "plan_state"


TOOLS = """
import mulligan

def undo(context, arguments, result):
    context.log(f"undid {arguments} {result}")

@mulligan.tool(side_effects=["external"], undo=undo)
def publish(context: mulligan.StepContext, title: str) -> str:
    "Publish a page."
    return title.upper()
"""


def test_a_program_trusts_its_tools_and_undoes_them(tmp_path: Path) -> None:
    project = mulligan.init(tmp_path)
    (tmp_path / ".mulligan" / "tools.py").write_text(TOOLS)
    (tmp_path / "plan.yaml").write_text("name: p\nsteps: [{name: s, tool: publish, args: {title: one}}]\n")
    with pytest.raises(mulligan.MulliganError, match="is not trusted yet"):
        project.execute(tmp_path / "plan.yaml")
    assert [tool.name for tool in project.tools.trust().tools] == ["publish"]
    assert project.execute(tmp_path / "plan.yaml").state == "complete"
    assert project.rollback("p", "first").impact.undo == ("publish in step 's'",)
    assert "undid {'title': 'one'} ONE" in str([event.data for event in project.log("p")])
    shown = project.tools.show("publish")
    assert (shown.origin, shown.undo, shown.side_effects) == ("tools.py", True, ("external",))
    assert {tool.origin for tool in project.tools.list().tools} == {"built in", "tools.py"}


def test_a_folder_without_a_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mulligan.MulliganError, match="no project") as refusal:
        mulligan.open(tmp_path)
    assert refusal.value.exit_code == 3
