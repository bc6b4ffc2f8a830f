"""The names that users import, exactly these, and what they do."""

import inspect
import os
import subprocess
import sys
from functools import reduce
from pathlib import Path
from typing import Any, cast

import pytest

import mulligan
from tests.reference_pages import commands
from tests.support.homes import home_of

PLAN = """
name: small
steps:
  - {name: one, tool: write_file, args: {path: a.txt, content: new}}
  - {name: two, tool: shell, args: {command: "exit 3"}}
"""


NAMES = """
AgentChanges AgentList Application CheckpointView Checkpoints Configuration Corrected Diagnosis Diff EntryView
Event Execution Exported ExportedFolder HookTests Listing MulliganError PathRestores PlanHistory PlanLine
PlanProgress PlanRemoval PlanStatus Project ProjectList PrunedProjects Pruning Purge Resource ResumePreview
Rollback Session State StepContext StoredPath SweepReport Tools TreeListing TreeNode Tried Undone Variant
Verification agents
directory errors git git_remote import_project init install_hooks open pause_hooks projects prune_projects sqlite tool
try_hooks uninstall_hooks
"""

# What programs call, with the names they may give.
SIGNATURES = {
    "open": "path",
    "init": "path home fresh database store",
    "projects": "",
    "prune_projects": "dry_run",
    "agents": "",
    "install_hooks": "agents scope strict everywhere dry_run",
    "uninstall_hooks": "agents scope dry_run",
    "try_hooks": "agents",
    "pause_hooks": "path paused",
    "import_project": "file path home database store",
    "Project.export": "self file force",
    "git": "location in_place from_revision",
    "directory": "location in_place",
    "sqlite": "location create",
    "Project.create": "self file",
    "Project.execute": "self plan",
    "Project.run": "self plan",
    "Project.resume": "self plan corrected take_over start",
    "Project.session": "self name resources description config on_failure resume take_over",
    "Project.status": "self plan",
    "Project.plans": "self state limit waiting",
    "Project.log": "self plan limit after",
    "Project.history": "self plan limit",
    "Project.timeline": "self limit",
    "Project.cut_off_changes": "self",
    "Project.entry": "self number",
    "Project.diff_of_entry": "self number binary hidden paths folder",
    "Project.progress": "self plan",
    "Project.changes": "self",
    "Project.tree": "self plan superseded",
    "Project.diff": "self plan old new binary hidden paths folder",
    "Project.report": "self plan words",
    "Project.correct": "self decision guidance mode choose corrected execute dry_run",
    "Project.rollback": "self plan checkpoint dry_run",
    "Project.accept": "self plan at",
    "Project.answer": "self plan choice rationale",
    "Project.try_variants": "self words count variants check start keep_going timeout name resource folder",
    "Project.variants": "self plan",
    "Project.pick_variant": "self variant plan rationale",
    "Project.diff_of_variants": "self old new plan binary hidden paths folder",
    "Project.run_command": "self words resource in_place folder name keep on streams",
    "Project.undo": "self what dry_run onto_branch keep_commits only end_processes",
    "Project.redo": "self number dry_run onto_branch",
    "Project.resolve": "self plan paths",
    "Project.apply": "self plan dry_run commit message include onto_branch agreed",
    "Project.unapply": "self plan dry_run onto_branch",
    "Project.cancel": "self plan reason",
    "Project.submit": "self plan queue retries",
    "Project.worker": "self queues slots log",
    "Project.workers": "self",
    "Project.limit_queue": "self queue plans",
    "Project.list_tree": "self checkpoint path recursive",
    "Project.read_path": "self checkpoint path",
    "Project.copy_path": "self checkpoint path write",
    "Project.stored_path": "self checkpoint path",
    "Project.restore_paths": "self paths checkpoint entry sandbox plan delete dry_run",
    "Project.remove_plan": "self plan more dry_run",
    "Project.forget": "self paths dry_run",
    "Project.doctor": "self",
    "Project.start_server": "self",
    "Project.stop_server": "self",
    "Project.server_status": "self",
    "Project.interrupt": "self",
    "Project.gc": "self dry_run",
    "Session.step": "self name",
    "Session.path": "self resource",
    "Session.done": "self step",
    "Session.record_decision": "self question chosen alternatives rationale metadata",
    "Session.ask": "self question alternatives",
    "Session.checkpoint": "self label metadata",
    "Session.log": "self message",
    "Session.rollback": "self checkpoint",
}

# Where a command is reached whose words are no path to its method.
ELSEWHERE = {
    "hook": "Project.agent_event",
    "agent list": "agents",
    "agent install": "install_hooks",
    "agent uninstall": "uninstall_hooks",
    "agent doctor": "try_hooks",
    "agent pause": "pause_hooks",
    "agent unpause": "pause_hooks",
    "init": "init",
    "projects": "projects",
    "database upgrade": "Project.upgrade_database",
    "project export": "Project.export",
    "project import": "import_project",
    "run": "Project.run_command",
    "shell": "Project.run_command",
    "serve": "Project.start_server",
    "plan list": "Project.plans",
    "plan rm": "Project.remove_plan",
    "try": "Project.try_variants",
    "worker": "Project.worker",
    "worker list": "Project.workers",
    "worker limit": "Project.limit_queue",
    "try show": "Project.variants",
    "try pick": "Project.pick_variant",
    "try diff": "Project.diff_of_variants",
    "restore": "Project.restore_paths",
    **{f"checkpoint {verb}": f"Checkpoints.{verb}" for verb in ("list", "show", "create", "verify", "prune")},
    **{f"checkpoint {verb}": f"Checkpoints.{verb}" for verb in ("delete", "restore", "diff")},
    **{f"config {verb}": f"Configuration.{verb}" for verb in ("list", "get", "set", "unset")},
    **{f"tool {verb}": f"Tools.{verb}" for verb in ("list", "show", "trust")},
}


FOR_SHELLS_AND_AGENTS = {"completion", "help", "mcp", "ui"}  # no program has a use for them


def public(path: str) -> Any:
    """What a path of names means."""
    return reduce(getattr, path.split("."), cast("Any", mulligan))


def test_the_public_names_are_exactly_these() -> None:
    assert sorted(NAMES.split()) == mulligan.__all__ == dir(mulligan)
    for name in mulligan.__all__:
        assert getattr(mulligan, name).__name__.removeprefix("mulligan.") == name
        assert getattr(mulligan, name).__doc__


def test_the_signatures_are_exactly_these() -> None:
    found = {path: " ".join(inspect.signature(public(path)).parameters) for path in SIGNATURES}
    assert found == SIGNATURES


def test_everything_the_commands_do_can_be_called() -> None:
    for words in commands().keys() - FOR_SHELLS_AND_AGENTS:
        assert callable(public(ELSEWHERE.get(words, f"Project.{words.removeprefix('plan ')}"))), words


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(mulligan.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    "checker", [["basedpyright", "--level", "error", "--pythonpath", sys.executable], ["mypy", "--strict"]]
)
def test_type_checkers_see_the_types_that_are_promised(checker: list[str], tmp_path: Path) -> None:
    """In a program of someone else's, who has only what is installed."""
    program = tmp_path / "program.py"
    program.write_bytes((Path(__file__).parent / "support" / "typed_program.py").read_bytes())
    words = [os.fspath(Path(sys.executable).with_name(checker[0])), *checker[1:], "program.py"]
    around = {**os.environ, "MYPYPATH": os.fspath(Path(mulligan.__file__).parent.parent)}
    checked = subprocess.run(words, cwd=tmp_path, env=around, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        mulligan.nothing_of_the_kind  # noqa: B018 - looking it up is the point  # pyright: ignore[reportAttributeAccessIssue] - likewise


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
    (home_of(tmp_path) / "tools.py").write_text(TOOLS)
    (tmp_path / "plan.yaml").write_text("name: p\nsteps: [{name: s, tool: publish, args: {title: one}}]\n")
    with pytest.raises(mulligan.errors.ToolsUntrusted):
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
