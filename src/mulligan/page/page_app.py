"""The table of addresses of the page."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from mulligan.api.operations.foreign_errors import our_error
from mulligan.errors import InternalError, MulliganError
from mulligan.page.programs.http_api import HttpApi
from mulligan.page.programs.problem_documents import is_for_programs, refusal
from mulligan.page.screens.act_screen import ActScreen
from mulligan.page.screens.comparison_screen import ComparisonScreen
from mulligan.page.screens.conflict_screen import ConflictScreen
from mulligan.page.screens.plan_screen import PlanScreen
from mulligan.page.screens.timeline_screen import TimelineScreen
from mulligan.page.screens.tree_screen import TreeScreen
from mulligan.page.screens.upkeep_screen import UpkeepScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from mulligan.page.acts.act_jobs import ActJobs
    from mulligan.page.live_changes import LiveChanges
    from mulligan.page.project_desk import ProjectDesk
    from mulligan.page.screens.page_templates import PageTemplates

_HANDLED = (HTTPException, MulliganError, OSError, ValueError, Exception)
_STATIC = Path(__file__).parent / "static"


def page_app(
    desk: ProjectDesk,
    jobs: ActJobs,
    live: LiveChanges,
    templates: PageTemplates,
    version: str,
    complain: Callable[[str], object],
) -> Starlette:
    """Return the application behind the guard."""
    timeline, comparison = TimelineScreen(desk, templates), ComparisonScreen(desk, templates)
    tree, plan = TreeScreen(desk, templates), PlanScreen(desk, templates)
    act, upkeep, api = (
        ActScreen(desk, templates, jobs),
        UpkeepScreen(desk, templates),
        HttpApi(desk, jobs, version),
    )
    conflict = ConflictScreen(desk, templates, jobs)
    look = ["GET"]
    routes = [
        Route("/", timeline.timeline, methods=look),
        Route("/timeline/rows", timeline.rows, methods=look),
        Route("/entry", timeline.entry, methods=look),
        Route("/history", timeline.history, methods=look),
        Route("/plans", plan.plans, methods=look),
        Route("/plan", plan.plan, methods=look),
        Route("/conflict", conflict.edit, methods=look),
        Route("/conflict", conflict.save, methods=["POST"]),
        Route("/output", plan.output, methods=look),
        Route("/compare", comparison.compare, methods=look),
        Route("/compare/files", comparison.files, methods=look),
        Route("/compare/rows", comparison.rows, methods=look),
        Route("/compare/database", comparison.database, methods=look),
        Route("/tree", tree.tree, methods=look),
        Route("/file", tree.file, methods=look),
        Route("/image", tree.image, methods=look),
        Route("/download", tree.download, methods=look),
        Route("/upkeep", upkeep.upkeep, methods=look),
        Route("/act/{name}", act.preview, methods=look),
        Route("/act/{name}", act.perform, methods=["POST"]),
        Route("/job", act.job, methods=look),
        Route("/job/interrupt", act.interrupt, methods=["POST"]),
        Route("/events", live.stream, methods=look),
        *api.routes(),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]

    async def failed(request: Request, exc: Exception) -> Response:
        if isinstance(exc, HTTPException):
            return refusal(request.url.path, exc.status_code, exc.detail, exc.headers)
        error = our_error(exc)
        if isinstance(error, InternalError):
            complain("".join(traceback.format_exception(exc)))
        if is_for_programs(request.url.path):
            return api.problem(error)
        return templates.page(request, "error.html", error.http_status, error=error)

    return Starlette(routes=routes, exception_handlers=dict.fromkeys(_HANDLED, failed))
