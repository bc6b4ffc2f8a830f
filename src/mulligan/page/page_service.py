"""The page as a service: on this machine alone, in the foreground, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from typing import TYPE_CHECKING

import uvicorn
from msgspec import Struct

from mulligan.errors import SystemFailed
from mulligan.page.acts.act_jobs import ActJobs
from mulligan.page.live_changes import LiveChanges
from mulligan.page.page_access import PageAccess
from mulligan.page.page_app import page_app
from mulligan.page.project_desk import ProjectDesk
from mulligan.page.request_guard import RequestGuard
from mulligan.page.screens.page_templates import PageTemplates

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from mulligan.api.results import Surroundings

_HOST = "127.0.0.1"
_AT_ONCE = 200  # connections
_GRACE = 3  # seconds for open connections when the page ends


class PageWish(Struct, frozen=True, kw_only=True):
    """The page to serve."""

    around: Surroundings
    project: str | None  # that the user named
    port: int  # 0: any that is free
    version: str
    ready: Callable[[str], object]  # called with the address, once it answers
    complain: Callable[[str], object]  # for those who look after the page: the traceback of a bug


class _Server(uvicorn.Server):
    """A server whose signals are ours."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the signals alone."""
        yield


def serve_page(wish: PageWish) -> None:
    """Serve the page until Ctrl-C; acts at work are interrupted then, as Ctrl-C would interrupt them."""
    desk = ProjectDesk(wish.around, wish.project)
    jobs = ActJobs(wish.around, wish.project, wish.complain)
    try:
        with _listening(wish.port) as listener:
            asyncio.run(_serve(wish, desk, jobs, listener))
    finally:
        jobs.end_all()
        desk.close()


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, port))
        listener.listen(_AT_ONCE)
    except OSError as exc:
        listener.close()
        raise SystemFailed(
            path=f"{_HOST}:{port}", reason=exc.strerror or str(exc), hint="give another --port, or 0 for any"
        ) from exc
    return listener


async def _serve(wish: PageWish, desk: ProjectDesk, jobs: ActJobs, listener: socket.socket) -> None:
    port: int = listener.getsockname()[1]
    access, live = PageAccess(port), LiveChanges(desk, jobs)
    templates = PageTemplates(desk.project.folder.name, wish.version, desk.project.handles)
    app = page_app(desk, jobs, live, templates, wish.version, wish.complain)
    config = uvicorn.Config(
        RequestGuard(app, access, port),
        lifespan="off",
        log_level="critical",  # a bug is reported where it is answered; a look that Ctrl-C cuts off is none
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=_AT_ONCE,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE,
        ws="none",
        loop="asyncio",
        http="h11",
    )
    server = _Server(config)

    def end() -> None:
        live.end()
        for job in jobs.at_work():
            job.interrupt()
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    wish.ready(f"http://{_HOST}:{port}/?token={access.token}")
    await server.serve(sockets=[listener])
