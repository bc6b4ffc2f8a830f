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
    from mulligan.application.apply.apply_preparation import ApplyPreparing
    from mulligan.application.apply.plan_apply import PlanApplyService
    from mulligan.application.apply.plan_unapply import PlanUnapplyService
    from mulligan.application.apply.real_change_service import RealChangeService
    from mulligan.application.apply.snapshot_merge import MergeService
    from mulligan.application.checkpoints.checkpoint_library import CheckpointLibrary
    from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
    from mulligan.application.checkpoints.checkpoint_service import CheckpointService
    from mulligan.application.checkpoints.project_sweep import SweepService
    from mulligan.application.checkpoints.prune_service import PruneService
    from mulligan.application.corrections.append import AppendService
    from mulligan.application.corrections.revert import CorrectionService
    from mulligan.application.plans.plan_claims import PlanClaims
    from mulligan.application.plans.plan_edits import PlanMending
    from mulligan.application.plans.plan_resume import PlanResumeService
    from mulligan.application.plans.plan_service import PlanService
    from mulligan.application.plans.recovery import Recovery
    from mulligan.application.queries.checkpoint_diff import DiffService
    from mulligan.application.queries.checkpoint_queries import CheckpointQueries
    from mulligan.application.queries.plan_queries import Queries
    from mulligan.application.queries.plan_report import ReportService
    from mulligan.application.queries.progress_queries import ProgressQueries
    from mulligan.application.rollback.outside_effects import UndoService
    from mulligan.application.rollback.return_service import ReturnService
    from mulligan.application.rollback.rollback_service import RollbackService
    from mulligan.application.rollback.way_back import WayBackService
    from mulligan.application.runs.confinement_rules import ConfinementService
    from mulligan.application.runs.execute_phase import ExecutePhase
    from mulligan.application.runs.plan_executor import PlanExecutor
    from mulligan.application.runs.run_stages import RunStages
    from mulligan.application.runs.sessions import SessionService
    from mulligan.application.runs.step_failure import FailureService
    from mulligan.application.runs.tool_calls import ToolCallService
    from mulligan.application.sandboxes.doctor import DoctorService
    from mulligan.application.sandboxes.ended_sandboxes import EndedSandboxes
    from mulligan.application.sandboxes.pin_service import PinService
    from mulligan.application.sandboxes.sandbox_renewal import SandboxRenewal
    from mulligan.application.sandboxes.sandbox_repairs import SandboxRepairs
    from mulligan.application.sandboxes.sandbox_service import SandboxService
    from mulligan.application.subplans.child_merge import ChildMerging
    from mulligan.application.subplans.child_plans import ChildPlans
    from mulligan.application.subplans.conflict_resolution import ResolveService
    from mulligan.application.subplans.subplan_service import SubplanService
    from mulligan.domain.plans.plan import PlanDefinition
    from mulligan.domain.plans.step import Subplans
    from mulligan.domain.text.ids import PlanId
    from mulligan.domain.text.json_value import JsonObject
    from mulligan.ports import Ended, Observer, StopRequest
    from mulligan.wiring.surroundings import Surroundings


class _Lazy:
    """A service that is built when it is first read; its class is the one that its annotation names."""

    def __init__(self, module: str) -> None:
        self._module = f"mulligan.application.{module}"

    def __set_name__(self, owner: type[Services], name: str) -> None:
        self._name = name

    def __get__(self, services: Services, owner: type[Services]) -> object:
        made = getattr(importlib.import_module(self._module), owner.__annotations__[self._name])
        built = made(**{name: services.part(name) for name in _parameters(made)})
        services.__dict__[self._name] = built  # found before this descriptor from here on
        return built


def _parameters(made: Any) -> Sequence[str]:
    if fields := getattr(made, "__struct_fields__", ()):
        return fields
    code = made.__init__.__code__
    return code.co_varnames[1 : 1 + code.co_kwonlyargcount]


def _in(module: str) -> Any:
    return _Lazy(module)


class Services:
    """Every use case of one project, and what they share, each with the module that it is in."""

    # What front doors call
    appends: AppendService = _in("corrections.append")
    applies: PlanApplyService = _in("apply.plan_apply")
    checkpoint_queries: CheckpointQueries = _in("queries.checkpoint_queries")
    corrections: CorrectionService = _in("corrections.revert")
    diffs: DiffService = _in("queries.checkpoint_diff")
    doctor: DoctorService = _in("sandboxes.doctor")
    executor: PlanExecutor = _in("runs.plan_executor")
    library: CheckpointLibrary = _in("checkpoints.checkpoint_library")
    plans: PlanService = _in("plans.plan_service")
    progress: ProgressQueries = _in("queries.progress_queries")
    prunes: PruneService = _in("checkpoints.prune_service")
    queries: Queries = _in("queries.plan_queries")
    reports: ReportService = _in("queries.plan_report")
    resolves: ResolveService = _in("subplans.conflict_resolution")
    rollbacks: RollbackService = _in("rollback.rollback_service")
    sessions: SessionService = _in("runs.sessions")
    unapplies: PlanUnapplyService = _in("apply.plan_unapply")

    # What these share
    calls: ToolCallService = _in("runs.tool_calls")
    checkpoints: CheckpointService = _in("checkpoints.checkpoint_service")
    children: ChildPlans = _in("subplans.child_plans")
    claims: PlanClaims = _in("plans.plan_claims")
    ended: EndedSandboxes = _in("sandboxes.ended_sandboxes")
    failures: FailureService = _in("runs.step_failure")
    manager: CheckpointManager = _in("checkpoints.checkpoint_manager")
    mending: PlanMending = _in("plans.plan_edits")
    merges: MergeService = _in("apply.snapshot_merge")
    merging: ChildMerging = _in("subplans.child_merge")
    phase: ExecutePhase = _in("runs.execute_phase")
    pins: PinService = _in("sandboxes.pin_service")
    preparing: ApplyPreparing = _in("apply.apply_preparation")
    real_changes: RealChangeService = _in("apply.real_change_service")
    recovery: Recovery = _in("plans.recovery")
    renewal: SandboxRenewal = _in("sandboxes.sandbox_renewal")
    repairs: SandboxRepairs = _in("sandboxes.sandbox_repairs")
    resumes: PlanResumeService = _in("plans.plan_resume")
    returns: ReturnService = _in("rollback.return_service")
    rules: ConfinementService = _in("runs.confinement_rules")
    sandboxes: SandboxService = _in("sandboxes.sandbox_service")
    stages: RunStages = _in("runs.run_stages")
    subplans: SubplanService = _in("subplans.subplan_service")
    sweeps: SweepService = _in("checkpoints.project_sweep")
    undos: UndoService = _in("rollback.outside_effects")
    ways: WayBackService = _in("rollback.way_back")

    def __init__(self, *, folder: Path, around: Surroundings, stop: StopRequest | None) -> None:
        """Build nothing yet. Other threads ask work here to `stop`; None: nobody can."""
        self.adapters = Adapters(folder=folder, around=around, stop=stop)

    def part(self, name: str) -> object:
        """Return what a parameter of that name gets."""
        return getattr(self if name in vars(Services) else self.adapters, name)

    def apart(self, stop: StopRequest | None) -> Services:
        """The same project with adapters of its own, as a process of its own would have them."""
        return Services(folder=self.adapters.project, around=self.adapters.around, stop=stop)

    @cached_property
    def engine(self) -> ThreadEngine:
        """Runs child plans."""
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
            declarations=self.adapters.known_tools,
        )

    def _run_child(self, plan_id: PlanId, retries: int, observer: Observer, stop: StopRequest) -> Ended:
        """Run a child plan with adapters of its own, as a process of its own would have them."""
        from mulligan.application.subplans.child_runs import run_child

        own = self.apart(stop)
        try:
            return run_child(own.executor, own.rollbacks, plan_id, retries, observer)
        finally:
            own.adapters.close()
