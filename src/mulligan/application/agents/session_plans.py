"""The plans of agents' sessions: found, recorded and claimed for the time of one event.

Nothing is held between two events. A plan of an agent is at rest as what was done in place is: `apply/applied`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import timedelta
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService
from mulligan.application.plans.new_plans import add_plan, new_plan
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.runs.run import Run
from mulligan.application.runs.run_stages import RunStages
from mulligan.boundaries import act
from mulligan.domain.agents.agent_event import AgentEvent
from mulligan.domain.agents.agent_session import AgentSession
from mulligan.domain.checkpoints.checkpoint import EMPTY_STATE
from mulligan.domain.plans.plan import Phase, PlanDefinition, RollbackPolicy, State
from mulligan.domain.resources.resource import Resource
from mulligan.domain.text.ids import PlanId
from mulligan.errors import PlanBusy
from mulligan.ports import Clock, Ids, Locks, Observer
from mulligan.rows.database import Database

_PATIENCE = 30.0  # seconds that an event waits for another event, or for a command that works on the plan
_INSTANT = 0.01  # of that, for a lock that was free when it was looked at
_T = TypeVar("_T")
_AT_ONCE = 5  # old sessions that are pruned when a new one begins
_EVENTS = PlanId("events")  # the lock that one event at a time holds

# Returns the resources of a session that works in a folder.
AgentResources: TypeAlias = Callable[[str], tuple[Resource, ...]]


class SessionPlans(Struct, kw_only=True, frozen=True, eq=False):
    """The plans of agents' sessions."""

    database: Database
    claims: PlanClaims
    locks: Locks
    agent_locks: Locks
    agent_resources: AgentResources
    stages: RunStages
    manager: CheckpointManager
    checkpoints: CheckpointService
    settings: SettingsSource
    ids: Ids
    clock: Clock

    @contextmanager
    def one_by_one(self) -> Generator[None]:
        """Hold back other events of the project: they are one sequence."""
        with ExitStack() as held:
            _entered(held, self.agent_locks, _EVENTS, lambda: self.agent_locks.hold(_EVENTS))
            yield

    def find(self, event: AgentEvent) -> AgentSession | None:
        """Return the session of an event; None where there is none, or its plan was ended for good."""
        with self.database.reading() as db:
            found = db.agents.session(event.agent, event.session)
            ended = found is not None and db.plans.get(found.plan_id).state is State.CANCELLED
        return None if ended else found

    def begin(self, event: AgentEvent) -> AgentSession:
        """Record the plan of a new session."""
        definition = PlanDefinition(
            name=event.agent,
            description=f"session {event.session} of {event.agent}",
            resources=self.agent_resources(event.folder),
            config={},
            rollback_policy=RollbackPolicy(),
            variables={},
            steps=(),
            session=True,
            agent=event.agent,
        )
        now = self.clock.now()
        plan = new_plan(PlanId(self.ids.new()), definition, None, EMPTY_STATE, now)
        session = AgentSession(
            agent=event.agent,
            session=event.session,
            plan_id=plan.plan_id,
            parent_session=event.parent_session,
            entry=None,
            prompt=None,
            started_at=now,
        )
        with act("plan.create"), self.database.writing() as db:
            add_plan(db, plan)
            db.agents.save(session)
        return session

    def prune_idle(self, observer: Observer) -> None:
        """Prune checkpoints of sessions in which nothing happened for long; a few sessions at a time."""
        since = self.clock.now() - timedelta(days=self.settings.for_plan({}).agent_keep_days)
        with self.database.reading() as db:
            idle = db.agents.idle_since(since, _AT_ONCE)
        for plan_id in idle:
            with suppress(PlanBusy), self.claims.open(plan_id, observer) as run:
                self.checkpoints.prune_of_agent(run)

    @contextmanager
    def claimed(self, session: AgentSession, observer: Observer) -> Generator[Run]:
        """Claim the plan of a session, at rest, with its first group; other work on the folder is settled."""
        plan_id = session.plan_id
        with ExitStack() as held:
            run = _entered(held, self.locks, plan_id, lambda: self.claims.open(plan_id, observer))
            self.stages.start(run)
            self.stages.begin(run)
            self.rest(run)
            if self.manager.keeps_watches:
                held.enter_context(self.manager.watch(run))
            yield run

    def rest(self, run: Run) -> None:
        """Leave the plan as one that did its work in place: it holds nothing, and can go on."""
        resting = (Phase.APPLY, State.APPLIED)
        if (run.plan.phase, run.plan.state) != resting:
            run.record(replace(run.plan.moved_to(*resting, self.clock.now()), failure=None))


def _entered(
    held: ExitStack, locks: Locks, plan_id: PlanId, open_it: Callable[[], AbstractContextManager[_T]]
) -> _T:
    """Enter what needs a lock, and wait a bounded time for the process that holds it."""
    patience = _PATIENCE
    while True:
        try:
            return held.enter_context(open_it())
        except PlanBusy:
            waited = locks.wait_for(plan_id, patience)
            if waited is None:
                raise
            patience -= max(waited, _INSTANT)
            if patience <= 0:
                raise
