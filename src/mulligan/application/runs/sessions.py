"""Opens sessions: plans whose steps are code of a program, with the same claim, stages and groups as any other."""

from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.project_sweep import SweepService
from mulligan.application.plans.guards import refuse_ended, refuse_waiting
from mulligan.application.plans.new_plans import add_plan, new_plan
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.plan_resume import PlanResumeService
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.rollback.rollback_service import RollbackService
from mulligan.application.runs.execute_phase import ExecutePhase
from mulligan.application.runs.run import Run
from mulligan.application.runs.run_stages import RunStages
from mulligan.application.runs.session_run import SessionRun, in_words
from mulligan.application.runs.step_failure import FailureService
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.boundaries import act
from mulligan.config import Isolation, Settings
from mulligan.domain.checkpoints.checkpoint import EMPTY_STATE
from mulligan.domain.plans.plan import PlanDefinition, PlanFailure, State
from mulligan.domain.text.ids import PlanId
from mulligan.errors import ConfinementImpossible, NotASession, PlanAlreadyComplete, PlanTakenOver
from mulligan.ports import Clock, Ids, Observer
from mulligan.rows.database import Database


class SessionService(Struct, kw_only=True, frozen=True, eq=False):
    """Starts and resumes sessions, and records how their programs end."""

    database: Database
    claims: PlanClaims
    sandboxes: SandboxService
    resumes: PlanResumeService
    stages: RunStages
    manager: CheckpointManager
    phase: ExecutePhase
    failures: FailureService
    rollbacks: RollbackService
    sweeps: SweepService
    settings: SettingsSource
    ids: Ids
    clock: Clock

    def create(self, definition: PlanDefinition) -> PlanId:
        """Record the plan of a new session, without copying anything yet."""
        settings = self.settings.for_plan(definition.config)
        _refuse_unconfined(settings)
        self.sandboxes.check(definition, settings)
        plan = new_plan(PlanId(self.ids.new()), definition, None, EMPTY_STATE, self.clock.now())
        with act("plan.create"), self.database.writing() as db:
            add_plan(db, plan)
        return plan.plan_id

    @contextmanager
    def open(self, plan_id: PlanId, observer: Observer) -> Generator[SessionRun]:
        """Hold the plan while its program works, from a known state until it completes or stops."""
        with self.claims.open(plan_id, observer) as run:
            self._refuse(run)
            session: SessionRun | None = None
            try:
                is_new = self.stages.start(run)
                with self.manager.watch(run):
                    resumed = None if is_new else self.stages.resume(run)
                    self.stages.begin(run)
                    run.inform(*_never_fire(run.settings))
                    session = SessionRun(
                        run=run,
                        resumed_from=resumed,
                        phase=self.phase,
                        failures=self.failures,
                        rollbacks=self.rollbacks,
                        stages=self.stages,
                        sweeps=self.sweeps,
                        clock=self.clock,
                        begun=self.clock.now(),
                    )
                    yield session
                    if not (session.asks or session.pauses):
                        session.complete()
            except PlanTakenOver:
                raise  # this process may no longer write
            except BaseException as exc:
                if session is None or not (session.asks or session.pauses or exc is session.failed_with):
                    self._stop(run, exc)
                raise

    def _refuse(self, run: Run) -> None:
        plan = run.plan
        if not plan.definition.session:
            raise NotASession(plan_id=plan.plan_id)
        refuse_ended(plan, run.sandboxes)
        if plan.is_executed:
            raise PlanAlreadyComplete(plan_id=plan.plan_id)
        refuse_waiting(plan)
        _refuse_unconfined(run.settings)
        self.resumes.refuse_where_impossible(run)
        self.sandboxes.refuse_taken(run)

    def _stop(self, run: Run, exc: BaseException) -> None:
        if not isinstance(exc, Exception):
            self.stages.interrupt(run)
            return
        failure = PlanFailure(message=in_words(exc), step=None, tool=None, checkpoint=None)
        self.stages.stop(run, State.ERRORED, failure)


def _never_fire(settings: Settings) -> list[str]:
    """Name the triggers that are on and never fire in a session.

    A capture opens and closes files, which drops the locks that this very process, the session's program, has on them:
    it must not happen at any moment of its work.
    """
    named = [trigger.value for trigger in settings.triggers if trigger.is_at_work]
    said = f"{' and '.join(named)} never fire in a session; `session.checkpoint(LABEL)` takes a group at any time"
    return [said] if named else []


def _refuse_unconfined(settings: Settings) -> None:
    """Refuse required confinement: nothing confines a session's program."""
    if settings.isolate is Isolation.REQUIRED:
        raise ConfinementImpossible(
            reason="a session's steps are code of its own program, which nothing confines",
            hint="set `sandbox.isolate` to `auto` for this session (`config=`), or run a plan file",
        )
