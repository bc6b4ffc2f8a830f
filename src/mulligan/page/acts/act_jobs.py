"""Acts at work: each runs in a thread of its own, with a project of its own, and can be looked at and interrupted."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections import OrderedDict
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.api.document import harmless
from mulligan.api.entrance import open_project
from mulligan.api.operations.foreign_errors import our_error
from mulligan.domain.text.inert_text import without_escapes
from mulligan.errors import InternalError, Interrupted, MulliganError, UsageWrong

if TYPE_CHECKING:
    from collections.abc import Callable

    from mulligan.api.project import Project
    from mulligan.api.results import Surroundings
    from mulligan.domain.plans.event import Event
    from mulligan.domain.text.ids import PlanId
    from mulligan.page.acts.act_arguments import ActArguments
    from mulligan.page.acts.act_outcomes import ActOutcome
    from mulligan.page.acts.act_table import Act

_AT_ONCE = 8  # acts at work
_REMEMBERED = 100  # acts that ended
_LINES, _LINE = 200, 400  # of what is said while an act is at work
_PATIENCE = 30.0  # seconds for the ends of acts, when the page ends


class Progress(Struct, frozen=True, kw_only=True):
    """The state of an act at work."""

    lines: tuple[str, ...]  # the newest things that it said
    started_at: datetime
    is_over: bool


class ActJob:
    """One act at work, or what came of it. It is the observer of its own operation."""

    def __init__(self, number: int, act: Act, wish: ActArguments) -> None:
        self.number = number
        self.act = act
        self.wish = wish
        self.started_at = datetime.now(UTC)
        self.outcome: ActOutcome | None = None
        self.error: MulliganError | None = None
        self.over = threading.Event()
        self._lines: list[str] = []
        self._listeners: list[Callable[[], object]] = []
        self._project: Project | None = None
        self._lock = threading.Lock()
        self._interrupted = False

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Long work went on."""
        self._say(f"{what}: {done}" if total is None else f"{what}: {done} of {total}", counts=what)

    def event(self, event: Event) -> None:
        """Something was recorded."""
        step = event.data.get("step")
        self._say(event.type.replace("_", " ") + (f": {step}" if step else ""))

    def output(self, plan_id: PlanId, data: bytes) -> None:  # noqa: ARG002 - a port
        """Take what a command printed."""
        for line in without_escapes(data.decode("utf-8", "replace")).splitlines():
            self._say(f"  {line}")

    def _say(self, text: str, counts: str | None = None) -> None:
        line = harmless(text)[:_LINE]
        with self._lock:
            if counts and self._lines and self._lines[-1].startswith(f"{counts}: "):
                self._lines[-1] = line
                return
            self._lines.append(line)
            del self._lines[:-_LINES]

    def look(self) -> Progress:
        """Return how far it is."""
        with self._lock:
            return Progress(lines=tuple(self._lines), started_at=self.started_at, is_over=self.over.is_set())

    async def ended(self, patience: float | None = None) -> bool:
        """Wait for its end, for that many seconds at most; return whether it came."""
        loop = asyncio.get_running_loop()
        heard = loop.create_future()

        def hear() -> None:
            with suppress(RuntimeError):  # the page has ended
                loop.call_soon_threadsafe(lambda: heard.done() or heard.set_result(None))

        with self._lock:
            if self.over.is_set():
                return True
            self._listeners.append(hear)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await heard
        return self.over.is_set()

    def interrupt(self) -> None:
        """Ask it to end, as Ctrl-C does: processes are ended, and the plan can be resumed."""
        with self._lock:
            self._interrupted = True
            if self._project is not None:
                self._project.interrupt()

    def work(self, around: Surroundings, named: str | None, complain: Callable[[str], object]) -> None:
        """Do the act, in the thread that calls this."""
        try:
            project = open_project(around, named, self)
            with self._lock:
                self._project = project
                if self._interrupted:
                    raise Interrupted
            try:
                self.outcome = self.act.perform(project, self.wish, dry_run=False)
                self.error = self.outcome.reply.error
            finally:
                with self._lock:
                    self._project = None
                project.close()
        except KeyboardInterrupt:
            self.error = Interrupted()
        except Exception as exc:  # noqa: BLE001 - the page shows it, as the command line does
            self.error = our_error(exc)
            if isinstance(self.error, InternalError):
                complain("".join(traceback.format_exception(exc)))
        finally:
            with self._lock:
                self.over.set()
                listeners, self._listeners = self._listeners, []
            for hear in listeners:
                hear()


class ActJobs:
    """All acts that were started from the page."""

    def __init__(self, around: Surroundings, named: str | None, complain: Callable[[str], object]) -> None:
        self._around, self._named, self._complain = around, named, complain
        self._jobs: OrderedDict[int, ActJob] = OrderedDict()
        self._lock = threading.Lock()
        self._count = 0

    def start(self, act: Act, wish: ActArguments) -> ActJob:
        """Start an act in a thread; refuse where too many are at work."""
        with self._lock:
            if sum(not job.over.is_set() for job in self._jobs.values()) >= _AT_ONCE:
                raise UsageWrong(
                    reason=f"{_AT_ONCE} acts are at work already", hint="wait for one, or interrupt it"
                )
            self._count += 1
            job = self._jobs[self._count] = ActJob(self._count, act, wish)
            for number in [n for n, each in self._jobs.items() if each.over.is_set()][:-_REMEMBERED]:
                del self._jobs[number]
        work = (self._around, self._named, self._complain)
        threading.Thread(target=job.work, args=work, name=f"act {job.number}", daemon=True).start()
        return job

    def find(self, number: int) -> ActJob | None:
        """Return an act by its number."""
        with self._lock:
            return self._jobs.get(number)

    def at_work(self) -> list[ActJob]:
        """Return the acts that did not end yet."""
        with self._lock:
            return [job for job in self._jobs.values() if not job.over.is_set()]

    def end_all(self) -> None:
        """Interrupt all acts, and wait for their ends."""
        for job in self.at_work():
            job.interrupt()
        for job in self.at_work():
            job.over.wait(_PATIENCE)
