"""The only place where classes meet: builds a project from its folder and its surroundings.

Each service is imported and built when it is first needed: a command does not pay for what it does not use.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.adapters import home
from mulligan.adapters.db.database import SqliteDatabase
from mulligan.adapters.locks import FilePlanLocks
from mulligan.application.queries import Queries
from mulligan.bootstrap.layered_settings import LayeredSettings
from mulligan.bootstrap.surroundings import boot_id
from mulligan.bootstrap.world import SystemClock, UlidSource
from mulligan.domain.resource import Resource, ResourceType
from mulligan.errors import DatabaseUnusable, NotBuiltYet, SettingInvalid

if TYPE_CHECKING:
    from mulligan.adapters.sandboxes.kinds import LocalSandboxKinds
    from mulligan.adapters.snapshots.packed_trees import PackedTrees
    from mulligan.adapters.snapshots.store import PackedSnapshotStore
    from mulligan.adapters.tools.toolbox import LocalToolbox
    from mulligan.application.checkpoint_library import CheckpointLibrary
    from mulligan.application.checkpoint_manager import CheckpointManager
    from mulligan.application.checkpoint_queries import CheckpointQueries
    from mulligan.application.checkpoint_service import CheckpointService
    from mulligan.application.confinement_service import ConfinementService
    from mulligan.application.diff_service import DiffService
    from mulligan.application.doctor_service import DoctorService
    from mulligan.application.plan_claims import PlanClaims
    from mulligan.application.plan_executor import PlanExecutor
    from mulligan.application.plan_resume_service import PlanResumeService
    from mulligan.application.plan_service import PlanService
    from mulligan.application.prune_service import PruneService
    from mulligan.application.recorder import Recorder
    from mulligan.application.return_service import ReturnService
    from mulligan.application.rollback_service import RollbackService
    from mulligan.application.sandbox_service import SandboxService
    from mulligan.application.sweep_service import SweepService
    from mulligan.bootstrap.surroundings import Surroundings
    from mulligan.domain.tool import ToolDeclaration
    from mulligan.ports import Confinement

_SQLITE = "sqlite:///"


class Services:
    """Everything of one project, each built when it is first needed, from what it must have."""

    def __init__(self, *, folder: Path, around: Surroundings) -> None:
        """Stand on this project folder."""
        self.folder = folder
        self.home = folder / home.NAME
        self.settings_file = self.home / "config.toml"
        self._around = around
        self._clock = SystemClock()
        self._ids = UlidSource()

    @cached_property
    def settings(self) -> LayeredSettings:
        """Where settings come from."""
        return LayeredSettings(around=self._around, project_file=self.settings_file)

    @cached_property
    def database_path(self) -> Path:
        """The file of the database."""
        url = self.settings.of_project().database_url
        if url is None:
            return self.home / "mulligan.db"
        if not url.startswith(_SQLITE):
            raise NotBuiltYet(
                feature=f"a database other than SQLite (core.database.url: {url})",
                hint="use `sqlite:///PATH`, or unset it with `mulligan config unset core.database.url`",
            )
        path = url.removeprefix(_SQLITE)
        if not path:
            raise SettingInvalid(key="core.database.url", reason="names no file", allowed="sqlite:///PATH")
        return self.folder / path

    @cached_property
    def database(self) -> SqliteDatabase:
        """Where rows are kept. An empty one beside a full store is a loss, not a beginning."""
        files = (self.database_path, Path(f"{self.database_path}-wal"))
        empty = not any(file.exists() and file.stat().st_size for file in files)
        packs = self.home / "store" / "packs"
        if empty and packs.is_dir() and any(packs.iterdir()):
            raise DatabaseUnusable(
                database=str(self.database_path),
                reason="it is empty or missing, but the store beside it holds snapshots",
                hint=f"put the database back; to start anew instead, move {self.home} away",
            )
        return SqliteDatabase(self.database_path)

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
                toolbox=self.toolbox, confinement=self._confinement, ids=self._ids, clock=self._clock
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
            toolbox=self.toolbox,
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
        from mulligan.adapters.sandboxes.folders import LocalPlanFolders
        from mulligan.application.sweep_service import SweepService

        return SweepService(
            database=self.database,
            store=self._store,
            kinds=self._kinds,
            folders=LocalPlanFolders(home=self.home / "sandboxes"),
            scratch=LocalPlanFolders(home=self._scratch),
            locks=self._locks,
            recorder=self._recorder,
            clock=self._clock,
        )

    @cached_property
    def doctor(self) -> DoctorService:
        """Looks the project over."""
        from mulligan.application.doctor_service import DoctorService

        return DoctorService(
            database=self.database,
            store=self._store,
            kinds=self._kinds,
            locks=self._locks,
            toolbox=self.toolbox,
            sweeps=self.sweeps,
        )

    @cached_property
    def diffs(self) -> DiffService:
        """Compares checkpoints."""
        from mulligan.application.diff_service import DiffService

        return DiffService(database=self.database, trees=self._trees)

    @property
    def known_tools(self) -> Mapping[str, ToolDeclaration]:
        """Tools by name."""
        return self.toolbox.declarations()

    @property
    def default_resource(self) -> Resource:
        """What a plan without `resources:` works on: the project folder."""
        is_git = (self.folder / ".git").exists()
        return Resource(
            name="workspace",
            type=ResourceType.GIT_CHECKOUT if is_git else ResourceType.FS_DIRECTORY,
            location=".",
            strategy=None,
            from_revision=None,
            create=False,
        )

    @cached_property
    def toolbox(self) -> LocalToolbox:
        """The tools, and the processes they keep."""
        from mulligan.adapters.tools.toolbox import LocalToolbox

        return LocalToolbox(
            python=sys.executable, base_environment=self._around.environ, scratch=self._scratch
        )

    @cached_property
    def confinement(self) -> Confinement:
        """Confines what tools may write."""
        from mulligan.bootstrap.confining import confinement

        kept = (self.home, self.database_path)
        return confinement(self.folder, kept, self._scratch, self._around.environ)

    @cached_property
    def _confinement(self) -> ConfinementService:
        from mulligan.application.confinement_service import ConfinementService

        return ConfinementService(confinement=self.confinement)

    @property
    def _scratch(self) -> Path:
        return self.home / "scratch"

    @cached_property
    def _locks(self) -> FilePlanLocks:
        return FilePlanLocks(folder=self.home / "locks", clock=self._clock)

    @cached_property
    def _trees(self) -> PackedTrees:
        from mulligan.adapters.snapshots.packed_trees import PackedTrees

        return PackedTrees(home=self.home / "store")

    @cached_property
    def _store(self) -> PackedSnapshotStore:
        from mulligan.adapters.snapshots.store import PackedSnapshotStore

        return PackedSnapshotStore(home=self.home / "store", now_ns=time.time_ns, boot_id=boot_id())

    @cached_property
    def _kinds(self) -> LocalSandboxKinds:
        from mulligan.bootstrap.sandbox_kinds import sandbox_kinds

        return sandbox_kinds(store=self._store, project_home=self.home)

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
        from mulligan.application.return_service import ReturnService

        return ReturnService(
            database=self.database,
            store=self._store,
            manager=self._manager,
            checkpoints=self._checkpoints,
            recorder=self._recorder,
            toolbox=self.toolbox,
            ids=self._ids,
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
            sandboxes=self._sandboxes,
            sweeps=self.sweeps,
            clock=self._clock,
        )
