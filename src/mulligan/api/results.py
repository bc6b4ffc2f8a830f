"""The types of what operations return, for annotations of front doors: at run time there is nothing here to load."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mulligan.adapters.tools.user_tools.tool_discovery import FileStanding
    from mulligan.application.apply.apply_preparation import Application, AppliedResource
    from mulligan.application.checkpoints.prune_service import Pruning
    from mulligan.application.corrections.correction_result import Appended, Corrected
    from mulligan.application.queries.checkpoint_queries import CheckpointView
    from mulligan.application.queries.plan_queries import PlanStatus
    from mulligan.application.queries.progress_queries import PlanProgress
    from mulligan.application.rollback.impact import Impact, RevertedChange
    from mulligan.application.rollback.rollback_service import Rollback
    from mulligan.application.runs.plan_executor import Execution
    from mulligan.rows.completion_words import Word
    from mulligan.wiring.surroundings import Surroundings

__all__ = [
    "Appended", "Application", "AppliedResource", "CheckpointView", "Corrected", "Execution", "FileStanding",
    "Impact", "PlanProgress", "PlanStatus", "Pruning", "RevertedChange", "Rollback", "Surroundings", "Word",
]  # fmt: skip
