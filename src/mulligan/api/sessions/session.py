"""A session in the hands of a caller: a plan without a file, whose steps are the caller's own code."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from mulligan.adapters.tools.worker.step_context import checked_choice, require_texts
from mulligan.application.runs.session_run import kept
from mulligan.boundaries import Check, guarded_by, guards
from mulligan.domain.plans.decision import Choice, Question
from mulligan.errors import SessionClosed, StateNotJson

if TYPE_CHECKING:
    from mulligan.application.rollback.rollback_service import Rollback
    from mulligan.application.runs.session_run import SessionRun
    from mulligan.domain.plans.plan import PlanDefinition, ResumedFrom
    from mulligan.domain.text.ids import PlanId
    from mulligan.ports import Observer
    from mulligan.wiring.services import Services


class Session:
    """A plan without a file: the program's own code is its steps.

    Made by `Project.session`, and open inside `with`. Leaving it ends the plan in `execute/complete`, or `errored`
    with an exception. Any thread may call it, one call at a time; there is one step at a time.
    """

    def __init__(
        self, *, services: Services, observer: Observer, plan: PlanDefinition | PlanId, take_over: bool
    ) -> None:
        """Begin a plan of this definition, or go on with this one; nothing is done yet."""
        self._services = services  # its own: several sessions can be open at once
        self._observer = observer
        self._plan = plan
        self._take_over = take_over
        self._lock = RLock()
        self._stack = ExitStack()
        self._run: SessionRun | None = None
        self._guards: tuple[Check, ...] = ()

    def __enter__(self) -> Self:
        """Make the sandboxes and take the `pre_execute` checkpoint, or restore what was left."""
        if self._run is not None:
            raise SessionClosed(name=self.name, plan_id=self.plan_id, reason="it is opened only once")
        with self._working(), ExitStack() as stack:
            stack.callback(self._services.adapters.close)
            sessions, claims = self._services.sessions, self._services.claims
            plan_id = self._plan if isinstance(self._plan, str) else sessions.create(self._plan)
            if self._take_over:
                claims.take_over(plan_id)
            self._run = stack.enter_context(sessions.open(plan_id, self._observer))
            self._stack = stack.pop_all()
            self._guards = guards()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the plan as the program leaves it."""
        with self._working():
            try:
                self._stack.__exit__(kind, exc, trace)
            finally:
                self._opened.close("it has ended")

    @property
    def name(self) -> str:
        """The name of the session's plan."""
        return self._plan if isinstance(self._plan, str) else self._plan.name

    @property
    def plan_id(self) -> PlanId:
        """The session's plan, also when the session is over: `project.apply(session.plan_id)`."""
        return self._opened.plan_id

    @property
    def state(self) -> dict[str, Any]:
        """A JSON dict that is part of every checkpoint and comes back with it; change it in place."""
        return self._opened.state

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that are done, in order."""
        return self._opened.steps

    @property
    def guidance(self) -> str:
        """The guidance of corrections; empty without one."""
        return self._opened.guidance

    @property
    def messages(self) -> tuple[str, ...]:
        """Notes for the user, such as files that no checkpoint can hold."""
        return self._opened.messages

    @property
    def resumed_from(self) -> ResumedFrom | None:
        """The checkpoint that a resumed session was restored to; None for a new one."""
        return self._opened.resumed_from

    def done(self, step: str) -> bool:
        """Return whether the step of that name is done, in this process or before it."""
        return step in self._opened.steps

    def path(self, resource: str | None = None) -> Path:
        """The sandbox of a resource (without a name: of the first): its folder, or its database file."""
        paths = self._opened.paths
        if resource is None:
            return next(iter(paths.values()))
        if resource not in paths:
            raise LookupError(f"the session has no resource {resource!r}; it has: {', '.join(sorted(paths))}")
        return paths[resource]

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        """Do a step inside `with`: a checkpoint before it, and one after it that makes it last.

        An exception inside is a failed step: its changes are kept in an `on_error` checkpoint, sandboxes and state go
        back to the checkpoint before the step, and the exception propagates. Names are unique among the steps that are
        done. Ctrl-C, or anything else that is not an `Exception`, interrupts the session; `resume` opens it again.
        """
        require_texts(name=name)
        with self._working():
            self._opened.begin(name)
        try:
            yield
        except BaseException as exc:
            with self._working():
                self._opened.fail(exc)
            raise
        with self._working():
            try:
                self._opened.end()
            except StateNotJson as exc:
                self._opened.fail(exc)
                raise

    def record_decision(
        self,
        question: str,
        *,
        chosen: str,
        alternatives: Iterable[str] = (),
        rationale: str | None = None,
        **metadata: Any,
    ) -> str:
        """Record a choice inside a step, with its checkpoint; return the decision's id."""
        others = tuple(checked_choice(question, chosen, alternatives, rationale))
        choice = Choice(question=question, chosen=chosen, alternatives=others, rationale=rationale)
        with self._working():
            return self._opened.record_decision(choice, kept(metadata, "metadata"))

    def ask(self, question: str, alternatives: Iterable[str] = ()) -> str:
        """Return someone's answer to a question, asked between two steps.

        Without an answer, the plan waits in `execute/constrained`, the session is over, and QuestionOpen is raised.
        `mulligan answer PLAN CHOICE` answers it; the program, started again with `resume`, gets the answer here. The
        same question has the same answer.
        """
        require_texts(question=question)
        known = tuple(checked_choice(question, question, alternatives, None))
        with self._working():
            return self._opened.ask(Question(question=question, alternatives=known))

    def checkpoint(self, label: str, **metadata: Any) -> str:
        """Take a labelled checkpoint now, inside a step or between two; return its group's id."""
        require_texts(label=label)
        with self._working():
            return self._opened.checkpoint(label, kept(metadata, "metadata"))

    def log(self, message: str) -> None:
        """Write a line into the plan's log, with the next checkpoint."""
        with self._working():
            self._opened.log(str(message))

    def rollback(self, checkpoint: str) -> Rollback:
        """Bring sandboxes, state and steps back, or forward, to a checkpoint; refused inside a step.

        Files that the program has open are other files then: open them, and connections to a database, again.
        """
        require_texts(checkpoint=checkpoint)
        with self._working():
            return self._opened.rollback(checkpoint)

    def pause(self) -> None:
        """Close the session between two steps, to go on another time with `project.session(resume=PLAN_ID)`.

        Sandboxes and state are kept as they are. The plan is `execute/queued`; without a pause, leaving the session
        completes it.
        """
        with self._working():
            self._opened.pause()

    def fork(self, checkpoint: str | None = None, *, name: str | None = None) -> Session:
        """Return a session on a fork of this one, to be opened with `with`; this one goes on as it is.

        The fork starts from that checkpoint of this session, or from its sandboxes and state as they are, which are
        kept in a checkpoint first; inside a step it needs a checkpoint.
        """
        with self._working():
            plan_id, at = self._opened.fork_at(checkpoint)
            own = self._services.apart(None)
            try:
                fork = own.plan_forks.fork(plan_id, at, name, self._observer)
            finally:
                own.adapters.close()
        return Session(
            services=self._services.apart(None), observer=self._observer, plan=fork, take_over=False
        )

    @contextmanager
    def _working(self) -> Generator[None]:
        """Do one thing at a time, guarded as this session is: others may be open beside it, and in other threads."""
        with self._lock, guarded_by(self._guards):
            yield

    @property
    def _opened(self) -> SessionRun:
        if self._run is None:
            raise SessionClosed(name=self.name, reason="it was not entered")
        return self._run


@contextmanager
def at_work(session: Session) -> Generator[SessionRun]:
    """Do work of this package on a session that is open, as one of its calls."""
    with session._working():  # noqa: SLF001 - of this module # pyright: ignore[reportPrivateUsage] - of this module
        yield session._opened  # noqa: SLF001 - of this module # pyright: ignore[reportPrivateUsage] - of this module


def database_of(session: Session) -> object:
    """Return the file or the address of the database that has the rows of a session."""
    return session._services.adapters.database_place  # noqa: SLF001 - of this module # pyright: ignore[reportPrivateUsage] - of this module
