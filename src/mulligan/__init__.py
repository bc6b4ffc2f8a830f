"""mulligan: run plans so that nothing they do is final until you say so.

    import mulligan

    project = mulligan.open(".")
    plan = project.execute(Path("upgrade.yaml"))
    project.rollback(plan.plan_id, "first")

Everything is loaded when it is first used: `import mulligan` costs next to nothing.
"""

from mulligan.lazy_exports import lazy_exports

TYPE_CHECKING = False  # that of `typing`, which takes longer to load than a short command that is handed over
if TYPE_CHECKING:
    from mulligan import errors as errors
    from mulligan.adapters.homes.home_archive import Exported as Exported
    from mulligan.adapters.tools.user_tools.tool_decorator import tool as tool
    from mulligan.adapters.tools.worker.step_context import StepContext as StepContext
    from mulligan.api.agents.agent_install import AgentChanges as AgentChanges
    from mulligan.api.agents.agent_overview import AgentList as AgentList
    from mulligan.api.agents.agent_overview import HookTests as HookTests
    from mulligan.api.entrance import agents as agents
    from mulligan.api.entrance import import_project as import_project
    from mulligan.api.entrance import init as init
    from mulligan.api.entrance import install_hooks as install_hooks
    from mulligan.api.entrance import open as open
    from mulligan.api.entrance import pause_hooks as pause_hooks
    from mulligan.api.entrance import projects as projects
    from mulligan.api.entrance import prune_projects as prune_projects
    from mulligan.api.entrance import try_hooks as try_hooks
    from mulligan.api.entrance import uninstall_hooks as uninstall_hooks
    from mulligan.api.operations.home_operations import ProjectList as ProjectList
    from mulligan.api.operations.home_operations import PrunedProjects as PrunedProjects
    from mulligan.api.project import Project as Project
    from mulligan.api.project_checkpoints import Checkpoints as Checkpoints
    from mulligan.api.project_settings import Configuration as Configuration
    from mulligan.api.project_tools import Tools as Tools
    from mulligan.api.sessions.resource_factories import directory as directory
    from mulligan.api.sessions.resource_factories import git as git
    from mulligan.api.sessions.resource_factories import git_remote as git_remote
    from mulligan.api.sessions.resource_factories import sqlite as sqlite
    from mulligan.api.sessions.session import Session as Session
    from mulligan.api.trials.variant_words import Tried as Tried
    from mulligan.application.apply.apply_preparation import Application as Application
    from mulligan.application.checkpoints.checkpoint_library import ExportedFolder as ExportedFolder
    from mulligan.application.checkpoints.checkpoint_library import Verification as Verification
    from mulligan.application.checkpoints.project_sweep import SweepReport as SweepReport
    from mulligan.application.checkpoints.prune_service import Pruning as Pruning
    from mulligan.application.corrections.correction_result import Corrected as Corrected
    from mulligan.application.forks.variant_queries import Variant as Variant
    from mulligan.application.paths.path_purge import Purge as Purge
    from mulligan.application.paths.path_restore import PathRestores as PathRestores
    from mulligan.application.plans.plan_removal import PlanRemoval as PlanRemoval
    from mulligan.application.plans.plan_resume import ResumePreview as ResumePreview
    from mulligan.application.queries.checkpoint_queries import CheckpointView as CheckpointView
    from mulligan.application.queries.listing import Listing as Listing
    from mulligan.application.queries.plan_queries import PlanLine as PlanLine
    from mulligan.application.queries.plan_queries import PlanStatus as PlanStatus
    from mulligan.application.queries.progress_queries import PlanProgress as PlanProgress
    from mulligan.application.queries.tree_queries import StoredPath as StoredPath
    from mulligan.application.queries.tree_queries import TreeListing as TreeListing
    from mulligan.application.rollback.rollback_service import Rollback as Rollback
    from mulligan.application.runs.plan_executor import Execution as Execution
    from mulligan.application.sandboxes.doctor import Diagnosis as Diagnosis
    from mulligan.application.timeline.timeline_queries import EntryView as EntryView
    from mulligan.application.timeline.timeline_service import Undone as Undone
    from mulligan.domain.plans.event import Event as Event
    from mulligan.domain.plans.plan import State as State
    from mulligan.domain.resources.resource import Resource as Resource
    from mulligan.domain.trees.diff import Diff as Diff
    from mulligan.domain.views.history_tree import TreeNode as TreeNode
    from mulligan.domain.views.plan_history import PlanHistory as PlanHistory
    from mulligan.errors import MulliganError as MulliganError

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "mulligan": "errors",
        "mulligan.adapters.tools.user_tools.tool_decorator": "tool",
        "mulligan.adapters.tools.worker.step_context": "StepContext",
        "mulligan.adapters.homes.home_archive": "Exported",
        "mulligan.api.entrance": "agents import_project init install_hooks open pause_hooks projects "
        "prune_projects try_hooks uninstall_hooks",
        "mulligan.api.agents.agent_install": "AgentChanges",
        "mulligan.api.agents.agent_overview": "AgentList HookTests",
        "mulligan.api.operations.home_operations": "ProjectList PrunedProjects",
        "mulligan.api.trials.variant_words": "Tried",
        "mulligan.api.project": "Project",
        "mulligan.api.project_checkpoints": "Checkpoints",
        "mulligan.api.project_settings": "Configuration",
        "mulligan.api.project_tools": "Tools",
        "mulligan.api.sessions.resource_factories": "directory git git_remote sqlite",
        "mulligan.api.sessions.session": "Session",
        "mulligan.application.apply.apply_preparation": "Application",
        "mulligan.application.checkpoints.checkpoint_library": "ExportedFolder Verification",
        "mulligan.application.checkpoints.project_sweep": "SweepReport",
        "mulligan.application.checkpoints.prune_service": "Pruning",
        "mulligan.application.corrections.correction_result": "Corrected",
        "mulligan.application.forks.variant_queries": "Variant",
        "mulligan.application.paths.path_purge": "Purge",
        "mulligan.application.paths.path_restore": "PathRestores",
        "mulligan.application.plans.plan_removal": "PlanRemoval",
        "mulligan.application.plans.plan_resume": "ResumePreview",
        "mulligan.application.queries.checkpoint_queries": "CheckpointView",
        "mulligan.application.queries.listing": "Listing",
        "mulligan.application.queries.plan_queries": "PlanLine PlanStatus",
        "mulligan.application.queries.progress_queries": "PlanProgress",
        "mulligan.application.queries.tree_queries": "StoredPath TreeListing",
        "mulligan.application.rollback.rollback_service": "Rollback",
        "mulligan.application.runs.plan_executor": "Execution",
        "mulligan.application.sandboxes.doctor": "Diagnosis",
        "mulligan.application.timeline.timeline_queries": "EntryView",
        "mulligan.application.timeline.timeline_service": "Undone",
        "mulligan.domain.plans.event": "Event",
        "mulligan.domain.plans.plan": "State",
        "mulligan.domain.resources.resource": "Resource",
        "mulligan.domain.trees.diff": "Diff",
        "mulligan.domain.views.history_tree": "TreeNode",
        "mulligan.domain.views.plan_history": "PlanHistory",
        "mulligan.errors": "MulliganError",
    },
)
