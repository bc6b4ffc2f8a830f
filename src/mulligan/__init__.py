"""mulligan: run plans so that nothing they do is final until you say so.

    import mulligan

    project = mulligan.open(".")
    plan = project.execute(Path("upgrade.yaml"))
    project.rollback(plan.plan_id, "first")

Everything is loaded when it is first used: `import mulligan` costs next to nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mulligan import errors
    from mulligan.adapters.tools.user_tools.tool_decorator import tool
    from mulligan.adapters.tools.worker.step_context import StepContext
    from mulligan.api.entrance import init, open
    from mulligan.api.project import Project
    from mulligan.api.project_checkpoints import Checkpoints
    from mulligan.api.project_settings import Configuration
    from mulligan.api.project_tools import Tools
    from mulligan.api.sessions.resource_factories import directory, git, sqlite
    from mulligan.api.sessions.session import Session
    from mulligan.application.apply.apply_preparation import Application
    from mulligan.application.checkpoints.checkpoint_library import ExportedFolder, Verification
    from mulligan.application.checkpoints.project_sweep import SweepReport
    from mulligan.application.checkpoints.prune_service import Pruning
    from mulligan.application.corrections.correction_result import Corrected
    from mulligan.application.plans.plan_resume import ResumePreview
    from mulligan.application.queries.checkpoint_queries import CheckpointView
    from mulligan.application.queries.listing import Listing
    from mulligan.application.queries.plan_queries import PlanLine, PlanStatus
    from mulligan.application.queries.progress_queries import PlanProgress
    from mulligan.application.rollback.rollback_service import Rollback
    from mulligan.application.runs.plan_executor import Execution
    from mulligan.application.sandboxes.doctor import Diagnosis
    from mulligan.domain.plans.event import Event
    from mulligan.domain.plans.plan import State
    from mulligan.domain.resources.resource import Resource
    from mulligan.domain.trees.diff import Diff
    from mulligan.domain.views.history_tree import TreeNode
    from mulligan.domain.views.timeline import Timeline
    from mulligan.errors import MulliganError

__all__ = [
    "Application",
    "CheckpointView",
    "Checkpoints",
    "Configuration",
    "Corrected",
    "Diagnosis",
    "Diff",
    "Event",
    "Execution",
    "ExportedFolder",
    "Listing",
    "MulliganError",
    "PlanLine",
    "PlanProgress",
    "PlanStatus",
    "Project",
    "Pruning",
    "Resource",
    "ResumePreview",
    "Rollback",
    "Session",
    "State",
    "StepContext",
    "SweepReport",
    "Timeline",
    "Tools",
    "TreeNode",
    "Verification",
    "directory",
    "errors",
    "git",
    "init",
    "open",
    "sqlite",
    "tool",
]

_HOMES = {
    "Application": "mulligan.application.apply.apply_preparation",
    "CheckpointView": "mulligan.application.queries.checkpoint_queries",
    "Checkpoints": "mulligan.api.project_checkpoints",
    "Configuration": "mulligan.api.project_settings",
    "Corrected": "mulligan.application.corrections.correction_result",
    "Diagnosis": "mulligan.application.sandboxes.doctor",
    "Diff": "mulligan.domain.trees.diff",
    "Event": "mulligan.domain.plans.event",
    "Execution": "mulligan.application.runs.plan_executor",
    "ExportedFolder": "mulligan.application.checkpoints.checkpoint_library",
    "Listing": "mulligan.application.queries.listing",
    "MulliganError": "mulligan.errors",
    "PlanLine": "mulligan.application.queries.plan_queries",
    "PlanProgress": "mulligan.application.queries.progress_queries",
    "PlanStatus": "mulligan.application.queries.plan_queries",
    "Project": "mulligan.api.project",
    "Pruning": "mulligan.application.checkpoints.prune_service",
    "Resource": "mulligan.domain.resources.resource",
    "ResumePreview": "mulligan.application.plans.plan_resume",
    "Rollback": "mulligan.application.rollback.rollback_service",
    "Session": "mulligan.api.sessions.session",
    "State": "mulligan.domain.plans.plan",
    "StepContext": "mulligan.adapters.tools.worker.step_context",
    "SweepReport": "mulligan.application.checkpoints.project_sweep",
    "Timeline": "mulligan.domain.views.timeline",
    "Tools": "mulligan.api.project_tools",
    "TreeNode": "mulligan.domain.views.history_tree",
    "Verification": "mulligan.application.checkpoints.checkpoint_library",
    "directory": "mulligan.api.sessions.resource_factories",
    "git": "mulligan.api.sessions.resource_factories",
    "init": "mulligan.api.entrance",
    "open": "mulligan.api.entrance",
    "sqlite": "mulligan.api.sessions.resource_factories",
    "tool": "mulligan.adapters.tools.user_tools.tool_decorator",
}


def __getattr__(name: str) -> object:
    """Load a public name from its room when it is first asked for."""
    import importlib

    if name == "errors":
        return importlib.import_module("mulligan.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'mulligan' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
