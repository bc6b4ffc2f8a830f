"""What the use cases of a project share: each part imported and built when it is first needed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mulligan.bootstrap.foundation import Foundation

if TYPE_CHECKING:
    from mulligan.adapters.sandboxes.folders import LocalRepositoryFolders
    from mulligan.application.apply_preparing import ApplyPreparing
    from mulligan.application.checkpoint_manager import CheckpointManager
    from mulligan.application.checkpoint_service import CheckpointService
    from mulligan.application.child_plans import ChildPlans
    from mulligan.application.confinement_service import ConfinementService
    from mulligan.application.ended_sandboxes import EndedSandboxes
    from mulligan.application.failure_service import FailureService
    from mulligan.application.merge_service import MergeService
    from mulligan.application.plan_claims import PlanClaims
    from mulligan.application.plan_resume_service import PlanResumeService
    from mulligan.application.real_change_service import RealChangeService
    from mulligan.application.recorder import Recorder
    from mulligan.application.return_service import ReturnService
    from mulligan.application.run_stages import RunStages
    from mulligan.application.sandbox_renewal import SandboxRenewal
    from mulligan.application.sandbox_service import SandboxService
    from mulligan.application.sweep_service import SweepService
    from mulligan.application.undo_service import UndoService
    from mulligan.application.way_back_service import WayBackService


class Machinery(Foundation):
    """How plans are claimed, kept, merged and brought back, on the foundation of one project."""

    @cached_property
    def _children(self) -> ChildPlans:
        from mulligan.application.child_plans import ChildPlans

        return ChildPlans(kinds=self._kinds, locks=self._locks, recorder=self._recorder)

    @cached_property
    def sweeps(self) -> SweepService:
        """Frees what nothing refers to."""
        from mulligan.adapters.sandboxes.folders import LocalPlanFolders
        from mulligan.application.sweep_service import SweepService

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
        from mulligan.adapters.sandboxes.folders import LocalRepositoryFolders

        return LocalRepositoryFolders(home=self.home / "git", release=self._release)

    @cached_property
    def _ended(self) -> EndedSandboxes:
        from mulligan.adapters.sandboxes.folders import LocalPlanFolders
        from mulligan.application.ended_sandboxes import EndedSandboxes

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
    def _ways(self) -> WayBackService:
        from mulligan.application.way_back_service import WayBackService

        return WayBackService(
            store=self._store, kinds=self._kinds, manager=self._manager, merges=lambda: self._merges
        )

    @cached_property
    def _returns(self) -> ReturnService:
        from mulligan.application.correction_records import CorrectionRecords
        from mulligan.application.return_service import ReturnService

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
            ways=self._ways,
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
        from mulligan.application.plan_claims import PlanClaims

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
        from mulligan.adapters.sandboxes.folders import LocalPlanFolders
        from mulligan.application.sandbox_renewal import SandboxRenewal

        folders = LocalPlanFolders(home=self.home / "sandboxes")
        return SandboxRenewal(kinds=self._kinds, store=self._store, folders=folders)

    @cached_property
    def resumes(self) -> PlanResumeService:
        """Says and does what a stopped plan needs before it runs on."""
        from mulligan.application.plan_resume_service import PlanResumeService

        return PlanResumeService(
            database=self.database, claims=self.claims, manager=self._manager, returns=self._returns
        )

    @cached_property
    def _stages(self) -> RunStages:
        from mulligan.application.run_stages import RunStages

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
        from mulligan.application.failure_service import FailureService

        return FailureService(
            database=self.database,
            checkpoints=self._checkpoints,
            returns=self._returns,
            recorder=self._recorder,
            clock=self._clock,
        )
