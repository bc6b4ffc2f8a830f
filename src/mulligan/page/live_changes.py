"""Live changes: browsers are sent word when something was recorded, or goes on, by server-sent events."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, StreamingResponse

from mulligan.domain.plans.plan import State
from mulligan.errors import MulliganError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response

    from mulligan.api.project import Project
    from mulligan.page.acts.act_jobs import ActJobs
    from mulligan.page.project_desk import ProjectDesk

_PACE = 0.4  # seconds between two looks
_AT_WORK = 3  # looks after which a page of a running plan is drawn again, whatever was recorded
_QUIET = 15.0  # seconds after which a connection is used, or a proxy would close it
_MOST = 32  # browsers' tabs


class LiveChanges:
    """The one look at the database that all open pages share."""

    def __init__(self, desk: ProjectDesk, jobs: ActJobs) -> None:
        self._desk, self._jobs = desk, jobs
        self._changed = asyncio.Event()
        self._open = 0
        self._watch: asyncio.Task[None] | None = None
        self._is_over = False

    async def stream(self, request: Request) -> Response:
        """Send a word for each change until the browser or the page ends."""
        if self._open >= _MOST:
            return PlainTextResponse("too many pages are open\n", 429)
        return StreamingResponse(
            self._words(request), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )

    def end(self) -> None:
        """End all streams: the page ends."""
        self._is_over = True
        self._tell()
        if self._watch is not None:
            self._watch.cancel()

    async def _words(self, request: Request) -> AsyncIterator[str]:
        self._open += 1
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._watched())
        try:
            yield "retry: 1000\nevent: hello\ndata: 0\n\n"
            number = 0
            while not self._is_over and not await request.is_disconnected():
                changed = self._changed
                try:
                    async with asyncio.timeout(_QUIET):
                        await changed.wait()
                    number += 1
                    yield f"event: changed\ndata: {number}\n\n"
                except TimeoutError:
                    yield ": quiet\n\n"
        finally:
            self._open -= 1

    async def _watched(self) -> None:
        """Look at the database as long as someone listens."""
        known: tuple[object, ...] | None = None
        looks = 0
        while self._open:
            looks += 1
            try:
                found = await self._desk.look_alone(_state)
            except MulliganError as exc:  # what is wrong is shown by the pages themselves
                found = (exc.kind, False)
            at_work = bool(found[-1]) and looks % _AT_WORK == 0
            if known is not None and (found != known or at_work or self._jobs.at_work()):
                self._tell()
            known = found
            await asyncio.sleep(_PACE)

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _state(project: Project) -> tuple[object, ...]:
    """Return what differs after a change, and at its end whether a plan runs: its process may die unheard."""
    changes = project.changes()
    return changes, bool(len(project.plans(State.PROCESSING, limit=1)))
