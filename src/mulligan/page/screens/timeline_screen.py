"""The timeline of the folder, one of its entries, and the history of one path over all checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.domain.history.timeline_entry import DeedKind
from mulligan.errors import UsageWrong
from mulligan.page.screens.page_queries import number_in, text_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from mulligan.api.project import Project
    from mulligan.api.results import CallView, EntryView, PlanLine, TimelineWindow
    from mulligan.page.project_desk import ProjectDesk
    from mulligan.page.screens.page_templates import PageTemplates

_ROWS = 50  # entries of one window
_CHANGES = 20  # entries of a history, with the calls of prompts
_AGENTS = 200  # newest plans whose names are offered as filters
_FOUND = "found"  # instead of a kind: what changed outside of any call
_KINDS = (*((kind.value, kind.words) for kind in DeedKind), (_FOUND, "found change"))


class Wanted(Struct, frozen=True, kw_only=True):
    """The filters of a timeline."""

    kind: str | None
    agent: str | None
    path: str | None
    before: int | None

    @staticmethod
    def of(request: Request) -> Wanted:
        """Read them from an address."""
        return Wanted(
            kind=text_in(request, "kind"),
            agent=text_in(request, "agent"),
            path=text_in(request, "path"),
            before=number_in(request, "before"),
        )

    @property
    def query(self) -> dict[str, str | None]:
        """The filters as parts of an address."""
        return {"kind": self.kind, "agent": self.agent, "path": self.path}

    @property
    def is_all(self) -> bool:
        """Return whether nothing is left out."""
        return self.kind is None and self.agent is None and self.path is None


class TimelineScreen:
    """Screens of the timeline."""

    def __init__(self, desk: ProjectDesk, templates: PageTemplates) -> None:
        self._desk, self._templates = desk, templates

    async def timeline(self, request: Request) -> Response:
        """Show the newest entries, and the plans that wait for someone."""
        wanted = Wanted.of(request)

        def look(project: Project) -> tuple[TimelineWindow, list[PlanLine], list[str]]:
            plans = project.plans(limit=_AGENTS)
            names = list(dict.fromkeys(plan.handle for plan in reversed(plans)))
            at_work = [plan for plan in plans if plan.waiting or str(plan.state) == "processing"]
            return _window(project, wanted), at_work[::-1], names

        window, at_work, names = await self._desk.look(look)
        return self._templates.page(
            request, "timeline.html", window=window, wanted=wanted, kinds=_KINDS, names=names, at_work=at_work
        )

    async def rows(self, request: Request) -> Response:
        """Show the next entries, as a part of the page that has the ones before."""
        wanted = Wanted.of(request)
        window = await self._desk.look(lambda project: _window(project, wanted))
        return self._templates.page(request, "timeline_rows.html", window=window, wanted=wanted)

    async def entry(self, request: Request) -> Response:
        """Show one entry, with the calls of an agent that it is about."""
        number = number_in(request, "number")
        if number is None:
            raise UsageWrong(reason="no entry is named", hint="the timeline lists them")

        def look(project: Project) -> tuple[EntryView, list[CallView]]:
            found = project.entry(number)
            calls = list(project.calls(number)) if found.kind is DeedKind.PROMPT else []
            return found, calls

        entry, calls = await self._desk.look(look)
        return self._templates.page(request, "entry.html", entry=entry, calls=calls)

    async def history(self, request: Request) -> Response:
        """Show who changed a path: the entries whose checkpoints before and after differ there."""
        path = text_in(request, "path")
        if path is None:
            raise UsageWrong(reason="no path is named", hint="choose a file of a checkpoint")
        wanted = Wanted(kind=None, agent=None, path=path, before=number_in(request, "before"))

        def look(project: Project) -> tuple[TimelineWindow, dict[int, Sequence[CallView]]]:
            window = _window(project, wanted, _CHANGES)
            prompts = [entry.number for entry in window.entries if entry.kind is DeedKind.PROMPT]
            return window, {number: project.calls(number, path) for number in prompts}

        window, calls = await self._desk.look(look)
        return self._templates.page(
            request, "history.html", window=window, wanted=wanted, file=path, calls=calls
        )


def _window(project: Project, wanted: Wanted, limit: int = _ROWS) -> TimelineWindow:
    found = wanted.kind == _FOUND
    kinds = [kind for kind in DeedKind if kind.value == wanted.kind]
    if wanted.kind is not None and not (kinds or found):
        known = ", ".join((*DeedKind, _FOUND))
        raise UsageWrong(reason=f"there is no kind {wanted.kind!r}", hint=f"kinds are {known}")
    return project.timeline_window(
        limit=limit, before=wanted.before, kinds=kinds, agent=wanted.agent, path=wanted.path, found=found
    )
