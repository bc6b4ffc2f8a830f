"""The only place where classes meet: builds the use cases of a project on its foundation.

Each service is imported and built when it is first needed: a command does not pay for what it does not use.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING

from mulligan.application.queries.plan_queries import Queries
from mulligan.wiring.machinery import Machinery

if TYPE_CHECKING:
    from mulligan.application.apply.plan_apply import PlanApplyService
    from mulligan.application.apply.plan_unapply import PlanUnapplyService
    from mulligan.application.checkpoints.checkpoint_library import CheckpointLibrary
    from mulligan.application.checkpoints.prune_service import PruneService
    from mulligan.application.corrections.append import AppendService
    from mulligan.application.corrections.revert import CorrectionService
    from mulligan.application.plans.plan_service import PlanService
    from mulligan.application.queries.checkpoint_diff import DiffService
    from mulligan.application.queries.checkpoint_queries import CheckpointQueries
    from mulligan.application.queries.plan_report import ReportService
    from mulligan.application.queries.progress_queries import ProgressQueries
    from mulligan.application.rollback.rollback_service import RollbackService
    from mulligan.application.rollback.step_back import StepBackService
    from mulligan.application.runs.execute_phase import ExecutePhase
    from mulligan.application.runs.plan_executor import PlanExecutor
    from mulligan.application.runs.sessions import SessionService
    from mulligan.application.sandboxes.doctor import DoctorService
    from mulligan.application.subplans.conflict_resolution import ResolveService
    from mulligan.application.subplans.subplan_service import SubplanService
    from mulligan.domain.plans.plan import PlanDefinition
    from mulligan.domain.plans.step import Subplans
    from mulligan.domain.text.ids import PlanId
    from mulligan.domain.text.json_value import JsonObject
    from mulligan.ports import Ended, Observer, StopRequest


class Services(Machinery):
    """Every use case of one project, each built when it is first needed, from what it must have."""

    @cached_property
    def queries(self) -> Queries:
        """What screens show."""
        return Queries(database=self.database, locks=self._locks, trees=self._trees)

    @cached_property
    def progress(self) -> ProgressQueries:
        """What is looked at again and again while someone works on a plan."""
        from mulligan.application.queries.progress_queries import ProgressQueries

        return ProgressQueries(database=self.database, locks=self._locks)

    @cached_property
    def checkpoint_queries(self) -> CheckpointQueries:
        """What screens show of checkpoints."""
        from mulligan.application.queries.checkpoint_queries import CheckpointQueries

        return CheckpointQueries(database=self.database)

    @cached_property
    def plans(self) -> PlanService:
        """The beginning and early end of plans."""
        from mulligan.application.plans.plan_service import PlanService

        return PlanService(
            database=self.database,
            claims=self.claims,
            locks=self._locks,
            sandboxes=self._sandboxes,
            children=self._children,
            settings=self.settings,
            recorder=self._recorder,
            toolbox=self.toolbox,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def _phase(self) -> ExecutePhase:
        from mulligan.application.runs.execute_phase import ExecutePhase
        from mulligan.application.runs.tool_calls import ToolCallService

        return ExecutePhase(
            checkpoints=self._checkpoints,
            calls=ToolCallService(
                toolbox=self.toolbox,
                manager=self._manager,
                confinement=self._confinement,
                ids=self._ids,
                clock=self._clock,
            ),
            subplans=self.subplans,
            read_spawn=self._read_spawn,
            failures=self._failures,
            recorder=self._recorder,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def executor(self) -> PlanExecutor:
        """Runs plans."""
        from mulligan.application.plans.plan_edits import PlanMending
        from mulligan.application.runs.plan_executor import PlanExecutor

        return PlanExecutor(
            database=self.database,
            claims=self.claims,
            sandboxes=self._sandboxes,
            resumes=self.resumes,
            mending=PlanMending(
                database=self.database, settings=self.settings, recorder=self._recorder, clock=self._clock
            ),
            stages=self._stages,
            manager=self._manager,
            phase=self._phase,
            recorder=self._recorder,
            sweeps=self.sweeps,
            toolbox=self.toolbox,
            stop=self._stop_request,
            clock=self._clock,
        )

    @cached_property
    def sessions(self) -> SessionService:
        """Opens sessions."""
        from mulligan.application.runs.sessions import SessionService

        return SessionService(
            database=self.database,
            claims=self.claims,
            sandboxes=self._sandboxes,
            resumes=self.resumes,
            stages=self._stages,
            manager=self._manager,
            phase=self._phase,
            failures=self._failures,
            rollbacks=self.rollbacks,
            sweeps=self.sweeps,
            settings=self.settings,
            recorder=self._recorder,
            ids=self._ids,
            clock=self._clock,
        )

    def apart(self, stop: StopRequest | None) -> Services:
        """The same project with adapters of its own, as a process of its own would have them; None: never asked."""
        return Services(folder=self.folder, around=self._around, stop=stop)

    @cached_property
    def rollbacks(self) -> RollbackService:
        """Goes back and forward."""
        from mulligan.application.rollback.rollback_service import RollbackService

        return RollbackService(
            database=self.database,
            claims=self.claims,
            manager=self._manager,
            returns=self._returns,
            undos=self._undos,
            children=self._children,
        )

    @cached_property
    def steps_back(self) -> StepBackService:
        """Finds what one step back is."""
        from mulligan.application.rollback.step_back import StepBackService

        return StepBackService(database=self.database)

    @cached_property
    def subplans(self) -> SubplanService:
        """Runs and merges child plans."""
        from mulligan.adapters.engine.threads import ThreadEngine
        from mulligan.application.subplans.child_merge import ChildMerging
        from mulligan.application.subplans.subplan_service import SubplanService

        return SubplanService(
            database=self.database,
            store=self._store,
            manager=self._manager,
            checkpoints=self._checkpoints,
            children=self._children,
            merging=ChildMerging(
                database=self.database,
                store=self._store,
                kinds=self._kinds,
                manager=self._manager,
                merges=self._merges,
            ),
            engine=ThreadEngine(self._run_child, self._stop_request),
            recorder=self._recorder,
            ids=self._ids,
            clock=self._clock,
        )

    def _read_spawn(
        self, document: JsonObject, definition: PlanDefinition, step: str, outputs: Collection[str]
    ) -> Subplans:
        """Read the child plans that a tool asks for."""
        from mulligan.planfile import read_spawn  # here: few tools ask for any

        return read_spawn(
            document,
            place=f"spawn in step {step!r}",
            definition=definition,
            outputs=outputs,
            declarations=self.known_tools,
        )

    def _run_child(self, plan_id: PlanId, retries: int, observer: Observer, stop: StopRequest) -> Ended:
        """Run a child plan with adapters of its own, as a process of its own would have them."""
        from mulligan.application.subplans.child_runs import ChildRuns

        own = self.apart(stop)
        try:
            runs = ChildRuns(executor=own.executor, rollbacks=own.rollbacks)
            return runs.run(plan_id, retries, observer)
        finally:
            own.database.close()

    @cached_property
    def resolves(self) -> ResolveService:
        """Takes over what someone mended."""
        from mulligan.application.subplans.conflict_resolution import ResolveService

        return ResolveService(
            claims=self.claims,
            manager=self._manager,
            checkpoints=self._checkpoints,
            store=self._store,
            recorder=self._recorder,
            clock=self._clock,
        )

    @cached_property
    def applies(self) -> PlanApplyService:
        """Brings results into the real resources."""
        from mulligan.application.apply.plan_apply import PlanApplyService

        return PlanApplyService(
            database=self.database,
            store=self._store,
            kinds=self._kinds,
            claims=self.claims,
            manager=self._manager,
            checkpoints=self._checkpoints,
            preparing=self._preparing,
            real_changes=self._real_changes,
            sandboxes=self._sandboxes,
            clock=self._clock,
        )

    @cached_property
    def unapplies(self) -> PlanUnapplyService:
        """Takes results out of the real resources again."""
        from mulligan.application.apply.plan_unapply import PlanUnapplyService

        return PlanUnapplyService(
            database=self.database,
            store=self._store,
            kinds=self._kinds,
            claims=self.claims,
            preparing=self._preparing,
            real_changes=self._real_changes,
            clock=self._clock,
        )

    @cached_property
    def corrections(self) -> CorrectionService:
        """Corrects decisions."""
        from mulligan.application.corrections.revert import CorrectionService

        return CorrectionService(
            database=self.database,
            claims=self.claims,
            manager=self._manager,
            returns=self._returns,
            undos=self._undos,
            children=self._children,
            executor=self.executor,
            settings=self.settings,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def appends(self) -> AppendService:
        """Appends work to decisions."""
        from mulligan.application.corrections.append import AppendService
        from mulligan.application.corrections.correction_records import CorrectionRecords

        return AppendService(
            database=self.database,
            store=self._store,
            claims=self.claims,
            manager=self._manager,
            checkpoints=self._checkpoints,
            records=CorrectionRecords(checkpoints=self._checkpoints, recorder=self._recorder),
            resumes=self.resumes,
            executor=self.executor,
            sandboxes=self._sandboxes,
            recorder=self._recorder,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def library(self) -> CheckpointLibrary:
        """Checkpoints in the hands of a user."""
        from mulligan.adapters.sandboxes.removal import remove_new_tree
        from mulligan.application.checkpoints.checkpoint_library import CheckpointLibrary

        return CheckpointLibrary(
            database=self.database,
            claims=self.claims,
            checkpoints=self._checkpoints,
            store=self._store,
            kinds=self._kinds,
            discard=remove_new_tree,
        )

    @cached_property
    def prunes(self) -> PruneService:
        """Prunes and deletes checkpoints by hand."""
        from mulligan.application.checkpoints.prune_service import PruneService

        return PruneService(
            database=self.database,
            claims=self.claims,
            sweeps=self.sweeps,
            settings=self.settings,
            recorder=self._recorder,
            clock=self._clock,
        )

    @cached_property
    def doctor(self) -> DoctorService:
        """Looks the project over."""
        from mulligan.application.sandboxes.doctor import DoctorService
        from mulligan.application.sandboxes.pin_service import PinService
        from mulligan.application.sandboxes.sandbox_repairs import SandboxRepairs

        return DoctorService(
            database=self.database,
            store=self._store,
            locks=self._locks,
            repairs=SandboxRepairs(
                database=self.database,
                store=self._store,
                kinds=self._kinds,
                renewal=self._renewal,
                locks=self._locks,
            ),
            toolbox=self.toolbox,
            sweeps=self.sweeps,
            ended=self._ended,
            pins=PinService(
                project=self.folder,
                database=self.database,
                repositories=self._repositories,
                locks=self._locks,
                pins=self._sandbox_kinds.repositories,
                clock=self._clock,
            ),
        )

    @cached_property
    def reports(self) -> ReportService:
        """Tells the whole story of a plan."""
        from mulligan.application.queries.plan_report import ReportService

        return ReportService(
            database=self.database, trees=self._trees, queries=self.queries, clock=self._clock
        )

    @cached_property
    def diffs(self) -> DiffService:
        """Compares checkpoints."""
        from mulligan.application.queries.checkpoint_diff import DiffService

        return DiffService(database=self.database, trees=self._trees)
