"""Any point: the tree of a checkpoint, each of its files as it was, and its bytes to keep."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from mulligan.errors import PathNotInCheckpoint
from mulligan.page.lines.code_colours import shown_lines
from mulligan.page.screens.page_queries import number_in, text_in, text_of
from mulligan.page.screens.stored_files import image_type, is_image, is_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from mulligan.api.project import Project
    from mulligan.api.results import StoredPath, TreeListing
    from mulligan.page.project_desk import ProjectDesk
    from mulligan.page.screens.page_templates import PageTemplates

_SHOWN = 512 << 10  # bytes of a text
_IMAGE = 16 << 20
_ENTRIES = 1000


class TreeScreen:
    """Screens of what checkpoints hold."""

    def __init__(self, desk: ProjectDesk, templates: PageTemplates) -> None:
        self._desk, self._templates = desk, templates

    async def tree(self, request: Request) -> Response:
        """List a folder of a checkpoint."""
        path, first = text_in(request, "path") or ".", number_in(request, "first") or 0

        def look(project: Project) -> tuple[str, TreeListing]:
            checkpoint = project.checkpoints.named(text_in(request, "checkpoint") or "latest")
            return checkpoint, project.list_tree(checkpoint, path)

        _, listing = await self._desk.look(look)
        entries = sorted(listing.entries, key=lambda line: (str(line.type) != "folder", line.path))
        return self._templates.page(
            request,
            "tree.html",
            listing=listing,
            entries=entries[first : first + _ENTRIES],
            more=max(0, len(entries) - first - _ENTRIES),
            first=first,
            above=_above(listing.path),
            base=posixpath.basename,
        )

    async def file(self, request: Request) -> Response:
        """Show one file of a checkpoint."""

        def look(project: Project) -> tuple[StoredPath, bytes | None]:
            checkpoint = project.checkpoints.named(text_of(request, "checkpoint"))
            path = text_of(request, "path")
            found = project.stored_path(checkpoint, path)
            small = (found.line.size_bytes or 0) <= _SHOWN
            return found, project.read_path(checkpoint, path) if small else None

        found, data = await self._desk.look(look)
        text = data.decode("utf-8", "surrogateescape") if data is not None and is_text(data) else None
        image = is_image(found.line.path) and (found.line.size_bytes or 0) <= _IMAGE
        lines = list(shown_lines(text, found.line.path)) if text is not None and not image else None
        return self._templates.page(
            request,
            "file.html",
            found=found,
            name=f"{found.handle}@{found.number}",
            lines=lines,
            image=image,
            above=_above(found.line.path),
        )

    async def image(self, request: Request) -> Response:
        """Return the bytes of an image of a checkpoint, if they are one."""

        def look(project: Project) -> tuple[str, bytes]:
            checkpoint, path = (
                project.checkpoints.named(text_of(request, "checkpoint")),
                text_of(request, "path"),
            )
            found = project.stored_path(checkpoint, path)
            large = (found.line.size_bytes or 0) > _IMAGE
            data = b"" if large else project.read_path(checkpoint, path)
            kind = image_type(path, data)
            if kind is None:
                raise PathNotInCheckpoint(path=path, checkpoint=checkpoint, hint="it is not an image")
            return kind, data

        kind, data = await self._desk.look(look)
        return Response(data, media_type=kind)

    async def download(self, request: Request) -> Response:
        """Return the bytes of a file of a checkpoint, piece by piece, to be kept."""

        def look(project: Project) -> tuple[StoredPath, list[bytes]]:
            checkpoint, path = (
                project.checkpoints.named(text_of(request, "checkpoint")),
                text_of(request, "path"),
            )
            pieces: list[bytes] = []
            return project.copy_path(checkpoint, path, pieces.append), pieces

        found, pieces = await self._desk.look(look)
        name = posixpath.basename(found.line.path)
        plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in name if c.isascii()) or "file"
        encoded = quote(name.encode("utf-8", "surrogateescape"))
        headers = {
            "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}",
            "Content-Length": str(sum(map(len, pieces))),
        }

        def each() -> Iterator[bytes]:
            while pieces:
                yield pieces.pop(0)

        return StreamingResponse(each(), media_type="application/octet-stream", headers=headers)


def _above(path: str) -> list[tuple[str, str]]:
    """Return the folders above a path, each with its name, from the top."""
    if path == ".":
        return []
    parts = path.split("/")
    return [(part, "/".join(parts[: index + 1])) for index, part in enumerate(parts)]
