"""Any two points beside each other: the files that differ, and the lines of each, some at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.trees.diff import Diff, FileDiff, FileStatus
from mulligan.errors import UsageWrong
from mulligan.page.lines.drawn_lines import one_below_the_other, side_by_side
from mulligan.page.project_desk import DiffKey
from mulligan.page.screens.page_queries import number_in, text_in, text_of
from mulligan.page.screens.stored_files import is_image

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from mulligan.api.project import Project
    from mulligan.page.project_desk import ProjectDesk
    from mulligan.page.screens.page_templates import PageTemplates

_FILES = 200  # of one comparison, at once
_ROWS = 300  # lines at once
_MOST_ROWS = 1000
_BEFORE = 3  # lines that are shown before one that was searched for
_AT_ONCE = 0.35  # seconds within which a comparison is part of the page
_OPEN = 5  # files whose lines are shown from the start


class Comparison(Struct, frozen=True, kw_only=True):
    """A comparison with the words of its two sides, and how the reader wants to see it."""

    old: str  # a checkpoint, as commands accept it
    new: str
    diff: Diff
    key: DiffKey

    @property
    def starts(self) -> list[int]:
        """The place at which the patch of each file starts."""
        found = [0]
        for size in self.diff.sizes:
            found.append(found[-1] + size)
        return found

    def patch(self, index: int) -> bytes:
        """Return the patch of one file."""
        starts = self.starts
        return self.diff.patch[starts[index] : starts[index + 1]]


class ShownFile(Struct, frozen=True, kw_only=True):
    """A file of a comparison, for its template."""

    index: int
    file: FileDiff
    lines: int
    image: bool
    database: bool


class ComparisonScreen:
    """Screens of comparisons."""

    def __init__(self, desk: ProjectDesk, templates: PageTemplates) -> None:
        self._desk, self._templates = desk, templates

    async def compare(self, request: Request) -> Response:
        """Show two points; a comparison that takes long comes later, as a part of the page."""
        work = asyncio.ensure_future(self._desk.look(lambda project: self._compared(project, request)))
        done, _ = await asyncio.wait([work], timeout=None if text_in(request, "wait") else _AT_ONCE)
        if not done:
            work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            return self._templates.page(request, "comparison_waits.html", view=_view(request))
        return self._drawn(request, work.result(), "comparison.html")

    async def files(self, request: Request) -> Response:
        """Show the files of a comparison, as a part of its page."""
        found = await self._desk.look(lambda project: self._compared(project, request))
        return self._drawn(request, found, "comparison_files.html")

    def _drawn(self, request: Request, found: Comparison, template: str) -> Response:
        first = number_in(request, "first") or 0
        shown = [
            ShownFile(
                index=index,
                file=file,
                lines=(file.insertions or 0) + (file.deletions or 0),
                image=is_image(file.path),
                database=file.binary,
            )
            for index, file in list(enumerate(found.diff.files))[first : first + _FILES]
        ]
        return self._templates.page(
            request,
            template,
            found=found,
            shown=shown,
            first=first,
            view=_view(request),
            opened=_OPEN,
            more=max(0, len(found.diff.files) - first - _FILES),
            insertions=sum(file.insertions or 0 for file in found.diff.files),
            deletions=sum(file.deletions or 0 for file in found.diff.files),
        )

    async def rows(self, request: Request) -> Response:
        """Show some lines of one file."""
        index, first = number_in(request, "index") or 0, number_in(request, "first") or 0
        count = min(number_in(request, "count") or _ROWS, _MOST_ROWS)
        words, view = text_in(request, "find"), _view(request)

        def look(project: Project) -> dict[str, object]:
            found = self._compared(project, request)
            file = _file(found, index)
            windows = self._desk.kept_windows(found.key, index, lambda: found.patch(index))
            at = windows.find(words, first) if words is not None else None
            start = first if at is None else max(0, at - _BEFORE)
            rows = windows.rows(start, count)
            if at is not None:
                rows[at - start] = replace(rows[at - start], found=True)
            draw = one_below_the_other if view == "unified" else side_by_side
            return {
                "rows": draw(rows, file.path),
                "file": file,
                "index": index,
                "first": start,
                "next": start + len(rows),
                "count": windows.count,
                "at": at,
                "missing": words is not None and at is None,
                "found": found,
            }

        return self._templates.page(
            request, "comparison_rows.html", view=view, **(await self._desk.look(look))
        )

    async def database(self, request: Request) -> Response:
        """Show the sizes of a binary file, and what differs between two states of an SQLite database."""
        index = number_in(request, "index") or 0

        def look(project: Project) -> dict[str, object]:
            found = self._compared(project, request)
            file = _file(found, index)
            old = None if file.status is FileStatus.ADDED else (found.old, file.old_path or file.path)
            new = None if file.status is FileStatus.DELETED else (found.new, file.path)
            sizes = [
                None if place is None else project.stored_path(*place).line.size_bytes for place in (old, new)
            ]
            return {"file": file, "sizes": sizes, "changes": project.database_changes(old, new)}

        return self._templates.page(request, "comparison_database.html", **(await self._desk.look(look)))

    def _compared(self, project: Project, request: Request) -> Comparison:
        hidden = text_in(request, "hidden") is not None
        path = text_in(request, "path")
        paths = (path,) if path is not None else ()
        old, new = text_in(request, "old"), text_in(request, "new")
        plan, entry = text_in(request, "plan"), number_in(request, "entry")
        correction = text_in(request, "correction")

        def make() -> Diff:
            folder = project.folder if paths else None
            if entry is not None:
                return project.diff_of_entry(entry, hidden=hidden, paths=paths, folder=folder)
            if correction is not None:
                return project.diff_of_correction(correction, hidden=hidden, paths=paths, folder=folder)
            if plan is not None:
                return project.diff(plan, old=old, new=new, hidden=hidden, paths=paths, folder=folder)
            sides = text_of(request, "old"), text_of(request, "new")
            first, second = (project.checkpoints.named(side) for side in sides)
            return project.checkpoints.diff(first, second, hidden=hidden, paths=paths, folder=folder)

        names = _sides(project, old, new) if entry is None and plan is None and correction is None else None
        if names is not None:
            key = DiffKey(names[0], names[1], paths, hidden)
            diff = self._desk.kept_diff(key, make)
        else:
            diff = make()
            key = DiffKey(_id(diff, old=True), _id(diff, old=False), paths, hidden)
            diff = self._desk.kept_diff(key, lambda: diff)
        handles = project.handles([key.old, key.new])
        return Comparison(
            old=handles.get(key.old, key.old), new=handles.get(key.new, key.new), diff=diff, key=key
        )


def _sides(project: Project, old: str | None, new: str | None) -> tuple[str, str]:
    if old is None or new is None:
        raise UsageWrong(reason="two points are compared", hint="name `old` and `new`, a plan, or an entry")
    first, second = (project.checkpoints.show(project.checkpoints.named(side)) for side in (old, new))
    return first[0].group_id, second[0].group_id


def _id(diff: Diff, *, old: bool) -> str:
    side = diff.old if old else diff.new
    return side.checkpoint_id or side.group_id


def _file(found: Comparison, index: int) -> FileDiff:
    if index >= len(found.diff.files):
        raise UsageWrong(reason=f"no file {index} differs", hint="load the page again")
    return found.diff.files[index]


def _view(request: Request) -> str:
    return "unified" if request.query_params.get("view") == "unified" else "split"
