"""The plans, and one plan: its steps with their output, decisions, attempts, checkpoints, children and variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.views.history_tree import NodeType, TreeNode
from mulligan.errors import PlanNotATry
from mulligan.page.acts.act_table import ACTS
from mulligan.page.screens.page_queries import number_in, text_in, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from mulligan.api.project import Project
    from mulligan.api.results import CheckpointView, Listing, PlanLine, PlanStatus, StepOutput, Tried
    from mulligan.domain.plans.event import Event
    from mulligan.domain.views.status_view import StepView
    from mulligan.page.acts.act_table import Act
    from mulligan.page.project_desk import ProjectDesk
    from mulligan.page.screens.page_templates import PageTemplates

_PLANS = 200
_GROUPS = 50
_EVENTS = 200
_STEPS = 100
_MOST_GROUPS = 20_000


class Group(Struct, frozen=True, kw_only=True):
    """The checkpoints of one moment."""

    first: CheckpointView
    resources: tuple[str, ...]
    size_bytes: int


class PlanFacts(Struct, frozen=True, kw_only=True):
    """All that the screen of a plan shows."""

    status: PlanStatus
    events: tuple[Event, ...]  # the newest
    first_step: int  # the first of the steps that are shown
    steps: tuple[StepView, ...]
    decisions: tuple[TreeNode, ...]
    children: tuple[TreeNode, ...]
    groups: tuple[Group, ...]  # newest first
    older_groups: int
    tried: Tried | None
    acts: tuple[Act, ...]
    corrections: dict[str, str]  # of each correction the word by which people call it
    parent: str | None


class PlanScreen:
    """Screens of plans."""

    def __init__(self, desk: ProjectDesk, templates: PageTemplates) -> None:
        self._desk, self._templates = desk, templates

    async def plans(self, request: Request) -> Response:
        """List the plans, newest first."""
        limit = min(number_in(request, "limit") or _PLANS, 10 * _PLANS)

        def look(project: Project) -> Listing[PlanLine]:
            return project.plans(limit=limit)

        found = await self._desk.look(look)
        return self._templates.page(
            request, "plans.html", plans=list(found)[::-1], older=found.older, limit=limit
        )

    async def plan(self, request: Request) -> Response:
        """Show one plan."""
        groups = min(number_in(request, "groups") or _GROUPS, _MOST_GROUPS)
        first = number_in(request, "steps")
        facts = await self._desk.look(
            lambda project: _facts(project, text_of(request, "name"), groups, first)
        )
        return self._templates.page(request, "plan.html", plan=facts)

    async def output(self, request: Request) -> Response:
        """Show all that was recorded of what steps printed."""
        plan, step = text_of(request, "plan"), text_in(request, "step")

        def look(project: Project) -> tuple[PlanStatus, Sequence[StepOutput]]:
            return project.status(plan), project.outputs(plan, step)

        status, outputs = await self._desk.look(look)
        return self._templates.page(request, "output.html", status=status, outputs=outputs)


def _facts(project: Project, name: str, limit: int, first: int | None) -> PlanFacts:
    status = project.status(name)
    if first is None:  # those around the one that runs, failed or comes next
        here = next((step.index for step in status.steps if step.status != "done"), len(status.steps))
        first = max(0, min(here - _STEPS // 2, len(status.steps) - _STEPS))
    listed = project.checkpoints.list(name, superseded=True, limit=limit)
    try:
        tried = project.variants(name)
    except PlanNotATry:
        tried = None
    counts = status.execution
    branches = counts.decisions or counts.child_plans or status.corrections
    nodes = list(_all_nodes(project.tree(name, superseded=True))) if branches else []
    ids = [each.correction_id for each in status.corrections if each.correction_id is not None]
    parent = status.parent_plan_id
    return PlanFacts(
        status=status,
        events=tuple(project.log(name, limit=_EVENTS)),
        first_step=first,
        steps=status.steps[first : first + _STEPS],
        decisions=tuple(node for node in nodes if node.type is NodeType.DECISION),
        children=tuple(node for node in nodes if node.type is NodeType.PLAN),
        groups=tuple(_groups(listed))[::-1],
        older_groups=listed.older,
        tried=tried,
        acts=tuple(ACTS[name] for name in _suitable(status)),
        corrections=project.handles(ids),
        parent=project.handles([parent]).get(parent) if parent is not None else None,
    )


def _all_nodes(node: TreeNode) -> Iterator[TreeNode]:
    """Yield what hangs on a plan, without what hangs on its child plans."""
    for child in node.children:
        yield child
        if child.type is not NodeType.PLAN:
            yield from _all_nodes(child)


def _groups(views: Sequence[CheckpointView]) -> Iterator[Group]:
    members: dict[str, list[CheckpointView]] = {}
    for view in views:
        members.setdefault(view.group_id, []).append(view)
    for of_group in members.values():
        yield Group(
            first=of_group[0],
            resources=tuple(view.resource for view in of_group),
            size_bytes=sum(view.size_bytes for view in of_group),
        )


def _suitable(status: PlanStatus) -> list[str]:
    """Return the acts that make sense for a plan as it is."""
    gone = status.error is not None and status.error.recoverable  # whose process is not there any longer
    match status.phase, status.state:
        case (_, State.PROCESSING) if not gone:
            return ["cancel"]
        case Phase.APPLY, State.APPLIED:
            return ["unapply", "remove"]
        case (_, State.CANCELLED):
            return ["remove"]
        case Phase.EXECUTE, State.COMPLETE:
            return ["apply", "label", "cancel", "remove"]
        case Phase.STRATEGIZE, _:
            return ["resume", "cancel", "remove"]
        case _:
            if status.conflicts and status.phase is Phase.APPLY:
                return ["apply", "cancel", "remove"]
            if status.conflicts:
                return ["resolve", "cancel", "remove"]
            if status.waiting is not None:
                return ["accept", "cancel", "remove"]
            return ["resume", "accept", "label", "cancel", "remove"]
