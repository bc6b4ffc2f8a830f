"""A program that uses the public API, for type checkers: every `assert_type` is a promise. It is never run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_type

import mulligan


def plans(project: mulligan.Project) -> None:
    assert_type(mulligan.open("."), mulligan.Project)
    assert_type(project.execute("upgrade.yaml"), mulligan.PlanStatus)
    assert_type(project.create(Path("upgrade.yaml")), mulligan.PlanStatus)
    assert_type(project.resume("upgrade"), tuple[mulligan.PlanStatus, mulligan.Execution])
    assert_type(project.preview_resume("upgrade"), tuple[mulligan.PlanStatus, mulligan.ResumePreview])
    assert_type(project.plans(mulligan.State.ERRORED), mulligan.Listing[mulligan.PlanLine])
    assert_type(project.log("upgrade"), mulligan.Listing[mulligan.Event])
    assert_type(project.history("upgrade"), mulligan.PlanHistory)
    assert_type(project.progress("upgrade"), mulligan.PlanProgress)
    assert_type(project.tree("upgrade"), mulligan.TreeNode)
    assert_type(project.diff("upgrade", old="first"), mulligan.Diff)
    assert_type(project.report("upgrade"), str)
    assert_type(project.rollback("upgrade", "first", dry_run=True), mulligan.Rollback)
    assert_type(project.correct("01J", guidance="better"), tuple[mulligan.PlanStatus, mulligan.Corrected])
    assert_type(project.resolve("upgrade", ["a.txt"]), mulligan.PlanStatus)
    assert_type(project.apply("upgrade"), tuple[mulligan.PlanStatus, mulligan.Application])
    assert_type(project.unapply("upgrade"), tuple[mulligan.PlanStatus, mulligan.Application])
    assert_type(project.cancel("upgrade", "enough"), mulligan.PlanStatus)
    assert_type(project.doctor(), mulligan.Diagnosis)
    assert_type(project.gc(), mulligan.SweepReport)
    assert_type(project.config, mulligan.Configuration)
    assert_type(project.config.get("core.format").value is None, bool)
    assert_type(project.tools, mulligan.Tools)


def checkpoints(project: mulligan.Project) -> None:
    kept = project.checkpoints
    assert_type(kept, mulligan.Checkpoints)
    for checkpoint in kept.list("upgrade"):
        assert_type(checkpoint, mulligan.CheckpointView)
        assert_type(checkpoint.label, str | None)
    assert_type(kept.create("upgrade", "mine"), Sequence[mulligan.CheckpointView])
    assert_type(kept.verify(quick=True), mulligan.Verification)
    assert_type(kept.prune("upgrade", keep=3), mulligan.Pruning)
    assert_type(kept.restore("first", Path("there")), Sequence[mulligan.ExportedFolder])


def session(project: mulligan.Project) -> None:
    resources = {"app": mulligan.git("."), "data": mulligan.sqlite("app.db", create=True)}
    with project.session("fix", resources=resources, config={"sandbox.cleanup": "manual"}) as session:
        assert_type(session, mulligan.Session)
        with session.step("edit") as nothing:
            assert_type(nothing, None)
            assert_type(session.path("app"), Path)
            assert_type(session.record_decision("Which?", chosen="a", alternatives=["b"], by="me"), str)
        assert_type(session.state, dict[str, Any])
        assert_type(session.done("edit"), bool)
        assert_type(session.steps, tuple[str, ...])
        assert_type(session.checkpoint("done"), str)
        assert_type(session.rollback("first"), mulligan.Rollback)
    project.apply(session.plan_id)


@mulligan.tool(read_only=True)
def count(context: mulligan.StepContext, name: str) -> int:
    """Count."""
    return len(context.path().name + name)


def called() -> None:
    try:
        mulligan.open("nowhere")
    except mulligan.errors.ProjectNotFound as refusal:
        assert_type(refusal.exit_code, int)
