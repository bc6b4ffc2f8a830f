"""What the use cases of a project share: each part imported and built when it is first needed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mulligan.wiring.foundation import Foundation

if TYPE_CHECKING:
    from mulligan.adapters.sandboxes.plan_folders import LocalRepositoryFolders
    from mulligan.application.apply.apply_preparation import ApplyPreparing
    from mulligan.application.apply.real_change_service import RealChangeService
    from mulligan.application.apply.snapshot_merge import MergeService
    from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
    from mulligan.application.checkpoints.checkpoint_service import CheckpointService
    from mulligan.application.checkpoints.project_sweep import SweepService
    from mulligan.application.plans.plan_claims import PlanClaims
    from mulligan.application.plans.plan_resume import PlanResumeService
    from mulligan.application.rollback.outside_effects import UndoService
    from mulligan.application.rollback.return_service import ReturnService
    from mulligan.application.rollback.way_back import WayBackService
    from mulligan.application.runs.confinement_rules import ConfinementService
    from mulligan.application.runs.recorder import Recorder
    from mulligan.application.runs.run_stages import RunStages
    from mulligan.application.runs.step_failure import FailureService
    from mulligan.application.sandboxes.ended_sandboxes import EndedSandboxes
    from mulligan.application.sandboxes.sandbox_renewal import SandboxRenewal
    from mulligan.application.sandboxes.sandbox_service import SandboxService
    from mulligan.application.subplans.child_plans import ChildPlans


class Machinery(Foundation):
    """How plans are claimed, kept, merged and brought back, on the foundation of one project."""

    @cached_property
    def _children(self) -> ChildPlans:
        from mulligan.application.subplans.child_plans import ChildPlans

        return ChildPlans(kinds=self._kinds, locks=self._locks, recorder=self._recorder)

    @cached_property
    def sweeps(self) -> SweepService:
        """Frees what nothing refers to."""
        from mulligan.adapters.sandboxes.plan_folders import LocalPlanFolders
        from mulligan.application.checkpoints.project_sweep import SweepService

        return SweepService(
            database=self.database,
            store=self._store,
            kinds=self._kinds,
            folders=LocalPlanFolders(home=self.home / "sandboxes"),
            repositories=self._repositories,
            scratch=LocalPlanFolders(home=self._scratch),
            locks=self._locks,
            ended=self._ended,
            recorder=self._recorder,
            clock=self._clock,
        )

    @cached_property
    def _repositories(self) -> LocalRepositoryFolders:
        from mulligan.adapters.sandboxes.plan_folders import LocalRepositoryFolders

        return LocalRepositoryFolders(home=self.home / "git", release=self._release)

    @cached_property
    def _ended(self) -> EndedSandboxes:
        from mulligan.adapters.sandboxes.plan_folders import LocalPlanFolders
        from mulligan.application.sandboxes.ended_sandboxes import EndedSandboxes

        return EndedSandboxes(
            home=self.home / "sandboxes",
            database=self.database,
            kinds=self._kinds,
            folders=LocalPlanFolders(home=self.home / "sandboxes"),
            repositories=self._repositories,
            locks=self._locks,
            settings=self.settings,
        )

    @cached_property
    def _confinement(self) -> ConfinementService:
        from mulligan.application.runs.confinement_rules import ConfinementService

        return ConfinementService(confinement=self.confinement)

    @cached_property
    def _recorder(self) -> Recorder:
        from mulligan.application.runs.recorder import Recorder

        return Recorder(database=self.database, clock=self._clock)

    @cached_property
    def _manager(self) -> CheckpointManager:
        from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager

        return CheckpointManager(kinds=self._kinds, store=self._store)

    @cached_property
    def _checkpoints(self) -> CheckpointService:
        from mulligan.application.checkpoints.checkpoint_service import CheckpointService

        return CheckpointService(
            database=self.database,
            store=self._store,
            manager=self._manager,
            recorder=self._recorder,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def _ways(self) -> WayBackService:
        from mulligan.application.rollback.way_back import WayBackService

        return WayBackService(
            store=self._store, kinds=self._kinds, manager=self._manager, merges=lambda: self._merges
        )

    @cached_property
    def _returns(self) -> ReturnService:
        from mulligan.application.corrections.correction_records import CorrectionRecords
        from mulligan.application.rollback.return_service import ReturnService

        return ReturnService(
            database=self.database,
            store=self._store,
            manager=self._manager,
            ways=self._ways,
            checkpoints=self._checkpoints,
            undos=self._undos,
            children=self._children,
            corrections=CorrectionRecords(checkpoints=self._checkpoints, recorder=self._recorder),
            settings=self.settings,
            recorder=self._recorder,
            toolbox=self.toolbox,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def _merges(self) -> MergeService:
        from mulligan.application.apply.snapshot_merge import MergeService

        return MergeService(store=self._store, clock=self._clock)

    @cached_property
    def _preparing(self) -> ApplyPreparing:
        from mulligan.application.apply.apply_preparation import ApplyPreparing

        return ApplyPreparing(store=self._store, kinds=self._kinds, merges=self._merges, clock=self._clock)

    @cached_property
    def _real_changes(self) -> RealChangeService:
        from mulligan.application.apply.real_change_service import RealChangeService

        return RealChangeService(
            database=self.database,
            store=self._store,
            kinds=self._kinds,
            manager=self._manager,
            ways=self._ways,
            recorder=self._recorder,
            ids=self._ids,
            clock=self._clock,
        )

    @cached_property
    def _undos(self) -> UndoService:
        from mulligan.application.rollback.outside_effects import UndoService

        return UndoService(
            database=self.database,
            toolbox=self.toolbox,
            confinement=self._confinement,
            recorder=self._recorder,
            clock=self._clock,
        )

    @cached_property
    def _sandboxes(self) -> SandboxService:
        from mulligan.application.sandboxes.sandbox_service import SandboxService

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
        from mulligan.application.plans.plan_claims import PlanClaims

        return PlanClaims(
            database=self.database,
            locks=self._locks,
            toolbox=self.toolbox,
            settings=self.settings,
            returns=self._returns,
            real_changes=self._real_changes,
            sandboxes=self._sandboxes,
            sweeps=self.sweeps,
            renewal=self._renewal,
            clock=self._clock,
        )

    @cached_property
    def _renewal(self) -> SandboxRenewal:
        from mulligan.adapters.sandboxes.plan_folders import LocalPlanFolders
        from mulligan.application.sandboxes.sandbox_renewal import SandboxRenewal

        folders = LocalPlanFolders(home=self.home / "sandboxes")
        return SandboxRenewal(kinds=self._kinds, store=self._store, folders=folders)

    @cached_property
    def resumes(self) -> PlanResumeService:
        """Says and does what a stopped plan needs before it runs on."""
        from mulligan.application.plans.plan_resume import PlanResumeService

        return PlanResumeService(
            database=self.database, claims=self.claims, manager=self._manager, returns=self._returns
        )

    @cached_property
    def _stages(self) -> RunStages:
        from mulligan.application.runs.run_stages import RunStages

        return RunStages(
            database=self.database,
            sandboxes=self._sandboxes,
            resumes=self.resumes,
            checkpoints=self._checkpoints,
            recorder=self._recorder,
            clock=self._clock,
        )

    @cached_property
    def _failures(self) -> FailureService:
        from mulligan.application.runs.step_failure import FailureService

        return FailureService(
            database=self.database,
            checkpoints=self._checkpoints,
            returns=self._returns,
            recorder=self._recorder,
            clock=self._clock,
        )
