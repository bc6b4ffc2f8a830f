"""The types of what operations return, for annotations of front doors: at run time there is nothing here to load."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mulligan.adapters.homes.home_census import FoundHome
    from mulligan.adapters.telemetry.work_spans import WorkSpans
    from mulligan.adapters.tools.user_tools.tool_discovery import FileStanding
    from mulligan.api.agents.agent_install import AgentChanges
    from mulligan.api.agents.agent_overview import AgentList, AgentView, HookTests, InstalledHooks
    from mulligan.api.operations.home_operations import ProjectList, PrunedProjects
    from mulligan.api.trials.variant_words import Tried
    from mulligan.application.apply.apply_preparation import Application, AppliedResource
    from mulligan.application.bisection.bisect_service import Bisection, FirstBad, Trial
    from mulligan.application.checkpoints.prune_service import Pruning
    from mulligan.application.corrections.correction_result import Appended, Corrected
    from mulligan.application.forks.variant_queries import Variant
    from mulligan.application.paths.path_purge import Purge
    from mulligan.application.paths.path_restore import PathRestore, PathRestores
    from mulligan.application.plans.acceptance import Acceptance
    from mulligan.application.plans.plan_removal import PlanRemoval, RemovedPlan
    from mulligan.application.queries.checkpoint_queries import CheckpointView
    from mulligan.application.queries.listing import Listing
    from mulligan.application.queries.plan_queries import PlanLine, PlanStatus
    from mulligan.application.queries.progress_queries import PlanProgress
    from mulligan.application.queries.step_outputs import StepOutput
    from mulligan.application.queries.tree_queries import StoredPath, TreeListing
    from mulligan.application.rollback.impact import Impact, RevertedChange
    from mulligan.application.rollback.rollback_service import Rollback
    from mulligan.application.runs.plan_executor import Execution
    from mulligan.application.subplans.conflict_editor import ConflictFile, ConflictSide
    from mulligan.application.timeline.attributions import CallView
    from mulligan.application.timeline.timeline_queries import EntryPoint, EntryView
    from mulligan.application.timeline.timeline_service import Undone
    from mulligan.application.timeline.timeline_windows import TimelineWindow
    from mulligan.domain.agents.left_process import LeftProcess
    from mulligan.rows.completion_words import Word
    from mulligan.wiring.surroundings import Surroundings

__all__ = [
    "Acceptance",
    "AgentChanges",
    "AgentList",
    "AgentView",
    "Appended",
    "Application",
    "AppliedResource",
    "Bisection",
    "CallView",
    "CheckpointView",
    "ConflictFile",
    "ConflictSide",
    "Corrected",
    "EntryPoint",
    "EntryView",
    "Execution",
    "FileStanding",
    "FirstBad",
    "FoundHome",
    "HookTests",
    "Impact",
    "InstalledHooks",
    "LeftProcess",
    "Listing",
    "PathRestore",
    "PathRestores",
    "PlanLine",
    "PlanProgress",
    "PlanRemoval",
    "PlanStatus",
    "ProjectList",
    "PrunedProjects",
    "Pruning",
    "Purge",
    "RemovedPlan",
    "RevertedChange",
    "Rollback",
    "StepOutput",
    "StoredPath",
    "Surroundings",
    "TimelineWindow",
    "TreeListing",
    "Trial",
    "Tried",
    "Undone",
    "Variant",
    "Word",
    "WorkSpans",
]  # fmt: skip
