"""The disk use of the project, by plan, and what can be freed or repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from mulligan.api.project import Project
    from mulligan.api.results import PlanLine
    from mulligan.page.project_desk import ProjectDesk
    from mulligan.page.screens.page_templates import PageTemplates

_PLANS = 200


class PlanUse(Struct, frozen=True, kw_only=True):
    """The disk use of one plan."""

    plan: PlanLine
    checkpoints: int
    added_bytes: int  # that its checkpoints added to the store
    sandbox_bytes: int


class UpkeepScreen:
    """The screen of upkeep."""

    def __init__(self, desk: ProjectDesk, templates: PageTemplates) -> None:
        self._desk, self._templates = desk, templates

    async def upkeep(self, request: Request) -> Response:
        """Show what each plan takes, and what `gc` would free."""

        def look(project: Project) -> dict[str, object]:
            report = project.gc(dry_run=True)
            kept: dict[str, int] = {}
            for each in report.sandboxes_kept:
                kept[each.plan_id] = kept.get(each.plan_id, 0) + each.size_bytes
            uses = [_use(project, plan, kept.get(plan.plan_id, 0)) for plan in project.plans(limit=_PLANS)]
            uses.sort(key=lambda use: use.added_bytes + use.sandbox_bytes, reverse=True)
            return {
                "report": report,
                "uses": uses,
                "folder": str(project.folder),
                "home": str(project.home),
                "full": project.full_homes(),
            }

        return self._templates.page(request, "upkeep.html", **(await self._desk.look(look)))


def _use(project: Project, plan: PlanLine, sandbox_bytes: int) -> PlanUse:
    views = project.checkpoints.list(plan.plan_id, superseded=True)
    return PlanUse(
        plan=plan,
        checkpoints=len({view.group_id for view in views}),
        added_bytes=sum(view.size_bytes for view in views),
        sandbox_bytes=sandbox_bytes,
    )
