"""A file in conflict: what both sides began with, what each made of it, and a box to write what it is to become."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from msgspec import Struct, ValidationError, convert
from starlette.responses import RedirectResponse

from mulligan.api.operations.command_words import command_line
from mulligan.domain.trees.line_diff import changed_lines, lines_of
from mulligan.errors import MulliganError, UsageWrong
from mulligan.page.acts.act_arguments import ResolveWith
from mulligan.page.acts.act_table import ACTS
from mulligan.page.screens.page_links import address
from mulligan.page.screens.page_queries import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.responses import Response

    from mulligan.api.project import Project
    from mulligan.api.results import ConflictFile, ConflictSide, PlanStatus
    from mulligan.domain.trees.line_diff import Change
    from mulligan.page.acts.act_jobs import ActJobs
    from mulligan.page.project_desk import ProjectDesk
    from mulligan.page.screens.page_templates import PageTemplates

_ACT = ACTS["edit"]
_AT_ONCE = 1.5  # seconds within which it is saved before the screen of the act is shown
_UNSEEN = ("Cc", "Cf", "Zl", "Zp")  # categories of characters that cannot be seen
_PLAIN = "\n\r\t"
_AROUND = 20  # lines that are shown around one that changed, in a long file
_LONG, _MOST = 1000, 3000  # lines of a side: all of them are shown up to there; at most so many


class PaneLine(Struct, frozen=True, kw_only=True):
    """One line of a side."""

    number: int
    text: str
    changed: bool
    left_out: int  # lines before it that are not shown


class Pane(Struct, frozen=True, kw_only=True):
    """One side of a file in conflict, to read."""

    title: str
    name: str
    lines: tuple[PaneLine, ...] | None
    left_out: int  # lines at the end that are not shown
    tone: str  # of lines that changed
    text: str
    why: str  # there is nothing to read


class ConflictScreen:
    """The editor of files in conflict."""

    def __init__(self, desk: ProjectDesk, templates: PageTemplates, jobs: ActJobs) -> None:
        self._desk, self._templates, self._jobs = desk, templates, jobs

    async def edit(self, request: Request) -> Response:
        """Show the sides, and what the sandbox has in the box."""
        return await self._shown(request, None, None)

    async def save(self, request: Request) -> Response:
        """Save what was written, and mark it as solved; a refusal is shown above what was written."""
        body = (await request.body()).decode("utf-8", "surrogateescape")
        fields = dict(parse_qsl(body, keep_blank_values=True))
        _, found = await self._look(request)
        typed = fields.get("content")
        try:
            given = {
                "plan": found.handle,
                "path": found.path,
                "content": None if typed is None else _with_ends_of(typed, found),
                "seen": fields.get("seen") or None,
            }
            wish = convert(given, ResolveWith)
            await self._desk.look(lambda project: _ACT.perform(project, wish, dry_run=True))
        except ValidationError as exc:
            return await self._shown(request, typed, UsageWrong(reason=str(exc), hint="write less"))
        except MulliganError as error:
            return await self._shown(request, typed, error)
        job = self._jobs.start(_ACT, wish)
        await job.ended(_AT_ONCE)
        if job.error is not None:
            return await self._shown(request, typed, job.error)
        return RedirectResponse(address("/job", number=job.number), 303)

    async def _look(self, request: Request) -> tuple[PlanStatus, ConflictFile]:
        plan, path = text_of(request, "plan"), text_of(request, "path")

        def look(project: Project) -> tuple[PlanStatus, ConflictFile]:
            return project.status(plan), project.conflict_file(plan, path)

        return await self._desk.look(look)

    async def _shown(self, request: Request, typed: str | None, error: MulliganError | None) -> Response:
        status, found = await self._look(request)
        text = _text_of(found.result.content) if typed is None else typed
        unseen = sum(unicodedata.category(c) in _UNSEEN and c not in _PLAIN for c in text)
        ours, theirs = (_changes(found.base, side) for side in (found.ours, found.theirs))
        left = {
            n for each in (ours, theirs) for change in each for n in range(change.old_start, change.old_end)
        }
        panes = [
            _pane("Ours", found.ours, _new_lines(ours), "added"),
            _pane("Base", found.base, left, "removed"),
            _pane("Theirs", found.theirs, _new_lines(theirs), "added"),
        ]
        wish = ResolveWith(plan=found.handle, path=found.path, content="")
        return self._templates.page(
            request,
            "conflict.html",
            error.http_status if error is not None else 200,
            status=status,
            found=found,
            panes=panes,
            text=text,
            gone=found.result.content is None,
            unseen=unseen,
            error=error,
            others=[str(c["path"]) for c in status.conflicts if c["path"] != found.path],
            command=command_line(_ACT.command(wish)),
        )


def _changes(base: ConflictSide, side: ConflictSide) -> list[Change]:
    if base.content is None or side.content is None:
        return []
    return list(changed_lines(lines_of(base.content), lines_of(side.content)))


def _new_lines(changes: Iterable[Change]) -> set[int]:
    return {number for change in changes for number in range(change.new_start, change.new_end)}


def _pane(title: str, side: ConflictSide, changed: set[int], tone: str) -> Pane:
    if side.content is None:
        return Pane(title=title, name=side.name, lines=None, left_out=0, tone=tone, text="", why=side.why)
    texts = [line.decode("utf-8").rstrip("\r\n") for line in lines_of(side.content)]
    near = {n + by for n in changed for by in range(-_AROUND, _AROUND + 1)}
    shown = [n for n in range(len(texts)) if len(texts) <= _LONG or n in near][:_MOST]
    before = [-1, *shown]
    lines = [
        PaneLine(number=n + 1, text=texts[n], changed=n in changed, left_out=n - last - 1)
        for n, last in zip(shown, before, strict=False)
    ]
    left = len(texts) - 1 - before[-1]
    text = _text_of(side.content)
    return Pane(title=title, name=side.name, lines=tuple(lines), left_out=left, tone=tone, text=text, why="")


def _text_of(content: bytes | None) -> str:
    return "" if content is None else content.decode("utf-8")


def _with_ends_of(typed: str, found: ConflictFile) -> str:
    """Return a text with the line ends of the file: a browser sends its own."""
    sides = (found.result, found.theirs, found.ours, found.base)
    known = next((side.content for side in sides if side.content is not None), b"")
    plain = typed.replace("\r\n", "\n").replace("\r", "\n")
    return plain.replace("\n", "\r\n") if b"\r\n" in known else plain
