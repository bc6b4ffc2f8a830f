"""The only place where classes meet: builds the use cases of a project over its adapters.

A service is imported and built when it is first asked for: a command does not pay for what it does not use. It gets
what the parameters of its constructor name: attributes of `Services`, or else of `Adapters`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mulligan.wiring.adapters import Adapters

if TYPE_CHECKING:
    from pathlib import Path

    from mulligan.adapters.engine.threads import ThreadEngine
    from mulligan.adapters.homes.home_search import ProjectPlace
    from mulligan.application.agents.agent_events import AgentEventService
    from mulligan.application.apply.plan_apply import PlanApplyService
    from mulligan.application.apply.plan_unapply import PlanUnapplyService
    from mulligan.application.apply.snapshot_merge import MergeService
    from mulligan.application.bisection.bisect_service import BisectService
    from mulligan.application.checkpoints.checkpoint_library import CheckpointLibrary
    from mulligan.application.checkpoints.checkpoint_service import CheckpointService
    from mulligan.application.checkpoints.project_sweep import SweepService
    from mulligan.application.checkpoints.prune_service import PruneService
    from mulligan.application.corrections.append import AppendService
    from mulligan.application.corrections.revert import CorrectionService
    from mulligan.application.forks.plan_fork import PlanForkService
    from mulligan.application.forks.variant_queries import VariantQueries
    from mulligan.application.forks.variant_trial import TryService
    from mulligan.application.graphs.graph_states import GraphStateService
    from mulligan.application.paths.path_purge import PathPurgeService
    from mulligan.application.paths.path_restore import PathRestoreService
    from mulligan.application.plans.acceptance import AcceptService
    from mulligan.application.plans.plan_claims import PlanClaims
    from mulligan.application.plans.plan_extension import ExtensionService
    from mulligan.application.plans.plan_removal import PlanRemovalService
    from mulligan.application.plans.plan_resume import PlanResumeService
    from mulligan.application.plans.plan_service import PlanService
    from mulligan.application.plans.question_answers import AnswerService
    from mulligan.application.plans.recovery import Recovery
    from mulligan.application.queries.checkpoint_diff import DiffService
    from mulligan.application.queries.checkpoint_queries import CheckpointQueries
    from mulligan.application.queries.plan_queries import Queries
    from mulligan.application.queries.plan_report import ReportService
    from mulligan.application.queries.progress_queries import ProgressQueries
    from mulligan.application.queries.step_outputs import StepOutputs
    from mulligan.application.queries.tree_queries import TreeQueries
    from mulligan.application.queues.plan_submission import SubmissionService
    from mulligan.application.queues.queued_runs import QueuedRuns
    from mulligan.application.rollback.rollback_service import RollbackService
    from mulligan.application.runs.plan_executor import PlanExecutor
    from mulligan.application.runs.sessions import SessionService
    from mulligan.application.sandboxes.doctor import DoctorService
    from mulligan.application.subplans.conflict_editor import ConflictEditor
    from mulligan.application.subplans.conflict_resolution import ResolveService
    from mulligan.application.timeline.attributions import Attributions
    from mulligan.application.timeline.left_processes import LeftProcesses
    from mulligan.application.timeline.only_undo import OnlyUndoService
    from mulligan.application.timeline.timeline_queries import TimelineQueries
    from mulligan.application.timeline.timeline_service import TimelineService
    from mulligan.application.timeline.timeline_windows import TimelineWindows
    from mulligan.domain.plans.plan import PlanDefinition
    from mulligan.domain.plans.step import Subplans
    from mulligan.domain.text.ids import PlanId
    from mulligan.domain.text.json_value import JsonObject
    from mulligan.ports import Ended, Engine, Observer, StopRequest
    from mulligan.wiring.surroundings import Surroundings


class Lazy:
    """A service that is built when it is first read."""

    def __init__(self, place: str) -> None:
        self.module, _, self.made = place.rpartition(".")

    def __set_name__(self, owner: type[Services], name: str) -> None:
        self._name = name

    def __get__(self, services: Services, owner: type[Services]) -> object:
        made = getattr(importlib.import_module(f"mulligan.application.{self.module}"), self.made)
        built = made(**{name: services.part(name) for name in _parameters(made)})
        services.__dict__[self._name] = built  # found before this descriptor from here on
        return built


def _parameters(made: Any) -> Sequence[str]:
    if fields := getattr(made, "__struct_fields__", ()):
        return fields
    code = made.__init__.__code__
    return code.co_varnames[1 : 1 + code.co_kwonlyargcount]


def _in(place: str) -> Any:
    return Lazy(place)


class Services:
    """Every use case of one project, and what they share, each with the module and the class that it is."""

    # What front doors call, with its type
    agent_events: AgentEventService = _in("agents.agent_events.AgentEventService")
    acceptances: AcceptService = _in("plans.acceptance.AcceptService")
    answers: AnswerService = _in("plans.question_answers.AnswerService")
    appends: AppendService = _in("corrections.append.AppendService")
    applies: PlanApplyService = _in("apply.plan_apply.PlanApplyService")
    bisections: BisectService = _in("bisection.bisect_service.BisectService")
    checkpoint_queries: CheckpointQueries = _in("queries.checkpoint_queries.CheckpointQueries")
    corrections: CorrectionService = _in("corrections.revert.CorrectionService")
    diffs: DiffService = _in("queries.checkpoint_diff.DiffService")
    doctor: DoctorService = _in("sandboxes.doctor.DoctorService")
    editor: ConflictEditor = _in("subplans.conflict_editor.ConflictEditor")
    extensions: ExtensionService = _in("plans.plan_extension.ExtensionService")
    executor: PlanExecutor = _in("runs.plan_executor.PlanExecutor")
    graph_states: GraphStateService = _in("graphs.graph_states.GraphStateService")
    library: CheckpointLibrary = _in("checkpoints.checkpoint_library.CheckpointLibrary")
    only_undos: OnlyUndoService = _in("timeline.only_undo.OnlyUndoService")
    outputs: StepOutputs = _in("queries.step_outputs.StepOutputs")
    path_purges: PathPurgeService = _in("paths.path_purge.PathPurgeService")
    path_restores: PathRestoreService = _in("paths.path_restore.PathRestoreService")
    plan_forks: PlanForkService = _in("forks.plan_fork.PlanForkService")
    plan_removals: PlanRemovalService = _in("plans.plan_removal.PlanRemovalService")
    plans: PlanService = _in("plans.plan_service.PlanService")
    progress: ProgressQueries = _in("queries.progress_queries.ProgressQueries")
    prunes: PruneService = _in("checkpoints.prune_service.PruneService")
    queries: Queries = _in("queries.plan_queries.Queries")
    queued_runs: QueuedRuns = _in("queues.queued_runs.QueuedRuns")
    reports: ReportService = _in("queries.plan_report.ReportService")
    resolves: ResolveService = _in("subplans.conflict_resolution.ResolveService")
    rollbacks: RollbackService = _in("rollback.rollback_service.RollbackService")
    sessions: SessionService = _in("runs.sessions.SessionService")
    submissions: SubmissionService = _in("queues.plan_submission.SubmissionService")
    tree_queries: TreeQueries = _in("queries.tree_queries.TreeQueries")
    timeline: TimelineQueries = _in("timeline.timeline_queries.TimelineQueries")
    timeline_windows: TimelineWindows = _in("timeline.timeline_windows.TimelineWindows")
    tries: TryService = _in("forks.variant_trial.TryService")
    turns: TimelineService = _in("timeline.timeline_service.TimelineService")
    variants: VariantQueries = _in("forks.variant_queries.VariantQueries")
    unapplies: PlanUnapplyService = _in("apply.plan_unapply.PlanUnapplyService")

    # What these share: most of it is only handed to constructors, which name its type
    agent_plans = _in("agents.session_plans.SessionPlans")
    appearances = _in("sandboxes.appearance_rules.AppearanceService")
    calls = _in("runs.tool_calls.ToolCallService")
    checkpoints: CheckpointService = _in("checkpoints.checkpoint_service.CheckpointService")
    copies = _in("bisection.scratch_copies.ScratchCopies")
    children = _in("subplans.child_plans.ChildPlans")
    claims: PlanClaims = _in("plans.plan_claims.PlanClaims")
    attributions: Attributions = _in("timeline.attributions.Attributions")
    cut_off = _in("timeline.cut_off_work.CutOffWork")
    ended = _in("sandboxes.ended_sandboxes.EndedSandboxes")
    failures = _in("runs.step_failure.FailureService")
    forks = _in("sandboxes.fork_sources.ForkSources")
    known_calls = _in("agents.found_changes.KnownCalls")
    left_processes: LeftProcesses = _in("timeline.left_processes.LeftProcesses")
    leftovers = _in("paths.purge_leftovers.PurgeLeftovers")
    manager = _in("checkpoints.checkpoint_manager.CheckpointManager")
    mending = _in("plans.plan_edits.PlanMending")
    merges: MergeService = _in("apply.snapshot_merge.MergeService")
    merging = _in("subplans.child_merge.ChildMerging")
    phase = _in("runs.execute_phase.ExecutePhase")
    in_place_plans = _in("timeline.in_place_plans.InPlacePlans")
    places = _in("paths.real_resources.RealResources")
    pins = _in("sandboxes.pin_service.PinService")
    preparing = _in("apply.apply_preparation.ApplyPreparing")
    real_undos = _in("timeline.real_undo.RealUndoService")
    real_changes = _in("apply.real_change_service.RealChangeService")
    recovery: Recovery = _in("plans.recovery.Recovery")
    renewal = _in("sandboxes.sandbox_renewal.SandboxRenewal")
    repairs = _in("sandboxes.sandbox_repairs.SandboxRepairs")
    resumes: PlanResumeService = _in("plans.plan_resume.PlanResumeService")
    revival = _in("sandboxes.sandbox_revival.SandboxRevival")
    remnants = _in("timeline.remnants.Remnants")
    returns = _in("rollback.return_service.ReturnService")
    rules = _in("runs.confinement_rules.ConfinementService")
    sandboxes = _in("sandboxes.sandbox_service.SandboxService")
    sources = _in("paths.path_sources.PathSources")
    stages = _in("runs.run_stages.RunStages")
    subplans = _in("subplans.subplan_service.SubplanService")
    sweeps: SweepService = _in("checkpoints.project_sweep.SweepService")
    transfer = _in("sandboxes.sandbox_transfer.SandboxTransfer")
    undos = _in("rollback.outside_effects.UndoService")
    work_groups = _in("checkpoints.groups_at_work.WorkGroupService")
    ways = _in("rollback.way_back.WayBackService")

    def __init__(
        self,
        *,
        place: ProjectPlace,
        around: Surroundings,
        stop: StopRequest | None,
        prepare: Callable[[], None] | None = None,
        worker: str | None = None,
    ) -> None:
        """Build nothing yet. Other threads ask work here to `stop`; None: nobody can.

        `prepare` makes the home of a project that has none yet; it is called when something is to be recorded.
        `worker` is the id of the worker that this process is: child plans go to others too.
        """
        more = {} if prepare is None else {"prepare": prepare}
        self.adapters = Adapters(place=place, around=around, stop=stop, worker=worker, **more)

    def part(self, name: str) -> object:
        """Return what a parameter of that name gets."""
        return getattr(self if name in vars(Services) else self.adapters, name)

    def apart(self, stop: StopRequest | None) -> Services:
        """The same project with adapters of its own, as a process of its own would have them."""
        own = self.adapters
        return Services(place=own.place, around=own.around, stop=stop, prepare=own.prepare, worker=own.worker)

    @cached_property
    def engine(self) -> Engine:
        """Runs child plans: here, or in a worker on any worker."""
        if self.adapters.worker is None:
            return self.local_engine
        from mulligan.application.queues.shared_children import SharedEngine

        own = self.adapters
        return SharedEngine(
            database=own.database,
            locks=own.locks,
            local_engine=self.local_engine,
            stop=own.stop,
            clock=own.clock,
        )

    @cached_property
    def local_engine(self) -> ThreadEngine:
        """Runs child plans in threads of this process."""
        from mulligan.adapters.engine.threads import ThreadEngine

        return ThreadEngine(self._run_child, self.adapters.stop)

    def find_recovery(self) -> Recovery:
        """Return the recovery; who seldom needs it asks here."""
        return self.recovery

    @property
    def discard(self) -> Callable[[Path], None]:
        """Removes a folder that an export could not complete."""
        from mulligan.adapters.sandboxes.removal import remove_new_tree

        return remove_new_tree

    def read_spawn(
        self, document: JsonObject, definition: PlanDefinition, step: str, outputs: Collection[str]
    ) -> Subplans:
        """Read the child plans that a tool asks for."""
        from mulligan.planfile import read_spawn  # here: few tools ask for any

        return read_spawn(
            document,
            place=f"spawn in step {step!r}",
            definition=definition,
            outputs=outputs,
            declarations=self.adapters.toolbox.declarations(),
        )

    def _run_child(self, plan_id: PlanId, retries: int, observer: Observer, stop: StopRequest) -> Ended:
        """Run a child plan with adapters of its own, as a process of its own would have them."""
        from mulligan.application.subplans.child_runs import run_child

        own = self.apart(stop)
        try:
            return run_child(own.executor, own.rollbacks, plan_id, retries, observer)
        finally:
            own.adapters.close()
