"""The only place where classes meet: builds the use cases of a project on its foundation.

Each service is imported and built when it is first needed: a command does not pay for what it does not use.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mulligan.application.queries import Queries
from mulligan.bootstrap.foundation import Foundation

if TYPE_CHECKING:
    from mulligan.application.apply_preparing import ApplyPreparing
    from mulligan.application.checkpoint_library import CheckpointLibrary
    from mulligan.application.checkpoint_manager import CheckpointManager
    from mulligan.application.checkpoint_queries import CheckpointQueries
    from mulligan.application.checkpoint_service import CheckpointService
    from mulligan.application.confinement_service import ConfinementService
    from mulligan.application.correction_service import CorrectionService
    from mulligan.application.diff_service import DiffService
    from mulligan.application.doctor_service import DoctorService
    from mulligan.application.merge_service import MergeService
    from mulligan.application.plan_apply_service import PlanApplyService
    from mulligan.application.plan_claims import PlanClaims
    from mulligan.application.plan_executor import PlanExecutor
    from mulligan.application.plan_resume_service import PlanResumeService
    from mulligan.application.plan_service import PlanService
    from mulligan.application.plan_unapply_service import PlanUnapplyService
    from mulligan.application.prune_service import PruneService
    from mulligan.application.real_change_service import RealChangeService
    from mulligan.application.recorder import Recorder
    from mulligan.application.return_service import ReturnService
    from mulligan.application.rollback_service import RollbackService
    from mulligan.application.sandbox_service import SandboxService
    from mulligan.application.sweep_service import SweepService
    from mulligan.application.undo_service import UndoService


class Services(Foundation):
    """Every use case of one project, each built when it is first needed, from what it must have."""

    @cached_property
    def queries(self) -> Queries:
        """What screens show."""
        return Queries(database=self.database, locks=self._locks, trees=self._trees)

    @cached_property
    def checkpoint_queries(self) -> CheckpointQueries:
        """What screens show of checkpoints."""
        from mulligan.application.checkpoint_queries import CheckpointQueries

        return CheckpointQueries(database=self.database)

    @cached_property
    def plans(self) -> PlanService:
        """The beginning and early end of plans."""
        from mulligan.application.plan_service import PlanService

        return PlanService(
            database=self.database,
            claims=self.claims,
            locks=self._locks,
            sandboxes=self._sandboxes,
            settings=self.settings,
            recorder=self._recorder,
            toolbox=self.toolbox,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def executor(self) -> PlanExecutor:
        """Runs plans."""
        from mulligan.application.execute_phase import ExecutePhase
        from mulligan.application.failure_service import FailureService
        from mulligan.application.plan_executor import PlanExecutor
        from mulligan.application.plan_mending import PlanMending
        from mulligan.application.tool_call_service import ToolCallService

        failures = FailureService(
            database=self.database,
            checkpoints=self._checkpoints,
            returns=self._returns,
            recorder=self._recorder,
            clock=self._clock,
        )
        phase = ExecutePhase(
            checkpoints=self._checkpoints,
            calls=ToolCallService(
                toolbox=self.toolbox,
                manager=self._manager,
                confinement=self._confinement,
                ids=self._ids,
                clock=self._clock,
            ),
            failures=failures,
            recorder=self._recorder,
            ids=self._ids,
            clock=self._clock,
        )
        return PlanExecutor(
            database=self.database,
            claims=self.claims,
            sandboxes=self._sandboxes,
            resumes=self.resumes,
            mending=PlanMending(
                database=self.database, settings=self.settings, recorder=self._recorder, clock=self._clock
            ),
            checkpoints=self._checkpoints,
            manager=self._manager,
            phase=phase,
            recorder=self._recorder,
            sweeps=self.sweeps,
            toolbox=self.toolbox,
            clock=self._clock,
        )

    @cached_property
    def rollbacks(self) -> RollbackService:
        """Goes back and forward."""
        from mulligan.application.rollback_service import RollbackService

        return RollbackService(
            database=self.database,
            claims=self.claims,
            manager=self._manager,
            returns=self._returns,
            undos=self._undos,
        )

    @cached_property
    def applies(self) -> PlanApplyService:
        """Brings results into the real resources."""
        from mulligan.application.plan_apply_service import PlanApplyService

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
        from mulligan.application.plan_unapply_service import PlanUnapplyService

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
        from mulligan.application.correction_service import CorrectionService

        return CorrectionService(
            database=self.database,
            claims=self.claims,
            manager=self._manager,
            returns=self._returns,
            undos=self._undos,
            executor=self.executor,
            settings=self.settings,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def library(self) -> CheckpointLibrary:
        """Checkpoints in the hands of a user."""
        from mulligan.adapters.sandboxes.removal import remove_new_tree
        from mulligan.application.checkpoint_library import CheckpointLibrary

        return CheckpointLibrary(
            database=self.database,
            claims=self.claims,
            checkpoints=self._checkpoints,
            store=self._store,
            kinds=self._kinds,
            discard=remove_new_tree,
        )

    @cached_property
    def resumes(self) -> PlanResumeService:
        """Says and does what a stopped plan needs before it runs on."""
        from mulligan.application.plan_resume_service import PlanResumeService

        return PlanResumeService(
            database=self.database, claims=self.claims, manager=self._manager, returns=self._returns
        )

    @cached_property
    def prunes(self) -> PruneService:
        """Prunes and deletes checkpoints by hand."""
        from mulligan.application.prune_service import PruneService

        return PruneService(
            database=self.database,
            claims=self.claims,
            sweeps=self.sweeps,
            settings=self.settings,
            recorder=self._recorder,
            clock=self._clock,
        )

    @cached_property
    def sweeps(self) -> SweepService:
        """Frees what nothing refers to."""
        from mulligan.adapters.sandboxes.folders import LocalPlanFolders, LocalRepositoryFolders
        from mulligan.application.sweep_service import SweepService

        return SweepService(
            database=self.database,
            store=self._store,
            kinds=self._kinds,
            folders=LocalPlanFolders(home=self.home / "sandboxes"),
            repositories=LocalRepositoryFolders(home=self.home / "git", release=self._release),
            scratch=LocalPlanFolders(home=self._scratch),
            locks=self._locks,
            recorder=self._recorder,
            clock=self._clock,
        )

    @cached_property
    def doctor(self) -> DoctorService:
        """Looks the project over."""
        from mulligan.application.doctor_service import DoctorService
        from mulligan.application.sandbox_repairs import SandboxRepairs

        return DoctorService(
            database=self.database,
            store=self._store,
            locks=self._locks,
            repairs=SandboxRepairs(
                database=self.database, store=self._store, kinds=self._kinds, locks=self._locks
            ),
            toolbox=self.toolbox,
            sweeps=self.sweeps,
        )

    @cached_property
    def diffs(self) -> DiffService:
        """Compares checkpoints."""
        from mulligan.application.diff_service import DiffService

        return DiffService(database=self.database, trees=self._trees)

    @cached_property
    def _confinement(self) -> ConfinementService:
        from mulligan.application.confinement_service import ConfinementService

        return ConfinementService(confinement=self.confinement)

    @cached_property
    def _recorder(self) -> Recorder:
        from mulligan.application.recorder import Recorder

        return Recorder(database=self.database, clock=self._clock)

    @cached_property
    def _manager(self) -> CheckpointManager:
        from mulligan.application.checkpoint_manager import CheckpointManager

        return CheckpointManager(kinds=self._kinds, store=self._store)

    @cached_property
    def _checkpoints(self) -> CheckpointService:
        from mulligan.application.checkpoint_service import CheckpointService

        return CheckpointService(
            database=self.database,
            store=self._store,
            manager=self._manager,
            recorder=self._recorder,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def _returns(self) -> ReturnService:
        from mulligan.application.correction_records import CorrectionRecords
        from mulligan.application.return_service import ReturnService

        return ReturnService(
            database=self.database,
            store=self._store,
            manager=self._manager,
            checkpoints=self._checkpoints,
            undos=self._undos,
            corrections=CorrectionRecords(checkpoints=self._checkpoints, recorder=self._recorder),
            settings=self.settings,
            recorder=self._recorder,
            toolbox=self.toolbox,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def _merges(self) -> MergeService:
        from mulligan.application.merge_service import MergeService

        return MergeService(store=self._store, clock=self._clock)

    @cached_property
    def _preparing(self) -> ApplyPreparing:
        from mulligan.application.apply_preparing import ApplyPreparing

        return ApplyPreparing(store=self._store, kinds=self._kinds, merges=self._merges, clock=self._clock)

    @cached_property
    def _real_changes(self) -> RealChangeService:
        from mulligan.application.real_change_service import RealChangeService

        return RealChangeService(
            database=self.database,
            store=self._store,
            kinds=self._kinds,
            manager=self._manager,
            merges=self._merges,
            recorder=self._recorder,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def _undos(self) -> UndoService:
        from mulligan.application.undo_service import UndoService

        return UndoService(
            database=self.database,
            toolbox=self.toolbox,
            confinement=self._confinement,
            recorder=self._recorder,
            clock=self._clock,
        )

    @cached_property
    def _sandboxes(self) -> SandboxService:
        from mulligan.application.sandbox_service import SandboxService

        return SandboxService(
            project=self.folder,
            home=self.home / "sandboxes",
            database=self.database,
            store=self._store,
            kinds=self._kinds,
            neighbours=self._neighbours,
            confinement=self._confinement,
            recorder=self._recorder,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def claims(self) -> PlanClaims:
        """Opens plans to be worked on."""
        from mulligan.adapters.sandboxes.folders import LocalPlanFolders
        from mulligan.application.plan_claims import PlanClaims
        from mulligan.application.sandbox_renewal import SandboxRenewal

        sandbox_folders = LocalPlanFolders(home=self.home / "sandboxes")
        return PlanClaims(
            database=self.database,
            locks=self._locks,
            toolbox=self.toolbox,
            settings=self.settings,
            returns=self._returns,
            real_changes=self._real_changes,
            sandboxes=self._sandboxes,
            sweeps=self.sweeps,
            renewal=SandboxRenewal(kinds=self._kinds, store=self._store, folders=sandbox_folders),
            clock=self._clock,
        )
