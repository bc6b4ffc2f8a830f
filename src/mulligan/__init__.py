"""mulligan: run plans so that nothing they do is final until you say so.

    import mulligan

    project = mulligan.open(".")
    plan = project.execute(Path("upgrade.yaml"))
    project.rollback(plan.plan_id, "first")

Everything is loaded when it is first used: `import mulligan` costs next to nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mulligan.adapters.tools.registration import tool
    from mulligan.adapters.tools.step_context import StepContext
    from mulligan.application.apply_preparing import Application
    from mulligan.application.checkpoint_queries import CheckpointView
    from mulligan.application.correction_service import Corrected
    from mulligan.application.prune_service import Pruning
    from mulligan.application.queries import PlanLine, PlanStatus
    from mulligan.application.rollback_service import Rollback
    from mulligan.application.sweep_service import SweepReport
    from mulligan.bootstrap.entrance import init, open
    from mulligan.bootstrap.project import Project
    from mulligan.domain.diff import Diff
    from mulligan.errors import MulliganError

__all__ = [
    "Application",
    "CheckpointView",
    "Corrected",
    "Diff",
    "MulliganError",
    "PlanLine",
    "PlanStatus",
    "Project",
    "Pruning",
    "Rollback",
    "StepContext",
    "SweepReport",
    "init",
    "open",
    "tool",
]

_HOMES = {
    "Application": "mulligan.application.apply_preparing",
    "CheckpointView": "mulligan.application.checkpoint_queries",
    "Corrected": "mulligan.application.correction_service",
    "Diff": "mulligan.domain.diff",
    "MulliganError": "mulligan.errors",
    "PlanLine": "mulligan.application.queries",
    "PlanStatus": "mulligan.application.queries",
    "Project": "mulligan.bootstrap.project",
    "Pruning": "mulligan.application.prune_service",
    "Rollback": "mulligan.application.rollback_service",
    "StepContext": "mulligan.adapters.tools.step_context",
    "SweepReport": "mulligan.application.sweep_service",
    "init": "mulligan.bootstrap.entrance",
    "open": "mulligan.bootstrap.entrance",
    "tool": "mulligan.adapters.tools.registration",
}


def __getattr__(name: str) -> object:
    """Load a public name from its room when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mulligan' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
