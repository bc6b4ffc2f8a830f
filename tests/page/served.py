"""The page of a project, asked in this process over HTTP, as a browser or a program asks."""

import re
from collections.abc import Awaitable, Callable
from html import unescape
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import anyio
import httpx
from msgspec.structs import replace

from mulligan.api.entrance import look_around
from mulligan.page.acts.act_jobs import ActJobs
from mulligan.page.live_changes import LiveChanges
from mulligan.page.page_access import PageAccess
from mulligan.page.page_app import page_app
from mulligan.page.project_desk import ProjectDesk
from mulligan.page.request_guard import RequestGuard
from mulligan.page.screens.page_templates import PageTemplates

PORT = 8765
HOME = f"http://127.0.0.1:{PORT}"
_Result = TypeVar("_Result")


class Visit:
    """A browser, or a program, at the page."""

    def __init__(
        self, client: httpx.AsyncClient, access: PageAccess, jobs: ActJobs, complaints: list[str]
    ) -> None:
        self.client, self.access, self.jobs, self.complaints = client, access, jobs, complaints

    async def enter(self) -> None:
        """Open the address that `mulligan ui` prints."""
        opened = await self.client.get("/", params={"token": self.access.token})
        assert opened.status_code == 200, opened.text

    async def get(self, address: str, **query: Any) -> httpx.Response:
        return await self.client.get(address, params=query or None)

    async def seen(self, address: str, **query: Any) -> str:
        """Return a screen, which has to be there."""
        answer = await self.get(address, **query)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def token(self) -> dict[str, str]:
        """Return the header that acts need."""
        found = (await self.get("/api/session")).json()
        return {found["header"]: found["token"]}

    async def act(self, name: str, **body: Any) -> Any:
        """Do an act over the HTTP API; return its answer."""
        answer = await self.client.post(f"/api/acts/{name}", json=body, headers=await self.token())
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def agree(self, address: str, **typed: str) -> str:
        """Fill in the form of an act as it is previewed, send it, and return what came of it."""
        page = await self.seen(address)
        if 'name="act_token"' not in page:  # what it is to do has to be typed first
            page = await self.seen(f"{address}&{urlencode(typed)}")
        name = re.search(r'<form method="post" action="([^"]+)" class="act"', page)
        assert name, page
        form = page[name.start() :]
        fields = re.findall(r'<input (?:type="hidden" )?name="([^"]*)" value="([^"]*)"', form)
        fields += re.findall(r'<input type="checkbox" name="([^"]*)" value="([^"]*)" checked', form)
        fields += re.findall(r'<textarea name="([^"]*)"[^>]*>([^<]*)</textarea>', form)
        fields += re.findall(r'<select name="([^"]*)">.*?<option selected>([^<]*)</option>', form)
        fields += re.findall(r'<button [^>]*name="(act_token)" value="([^"]*)"', form)
        pairs = [(n, unescape(v)) for n, v in fields if n not in typed] + list(typed.items())
        sent: dict[str, list[str]] = {}
        for key, value in pairs:
            sent.setdefault(key, []).append(value)
        answer = await self.client.post(name[1], data=sent)
        if answer.status_code != 303:
            return answer.text
        place = answer.headers["location"]
        job = self.jobs.find(int(place.partition("=")[2]))
        assert job is not None
        await job.ended()
        return await self.seen(place)


def visit(
    folder: Path, body: Callable[[Visit], Awaitable[_Result]], *, inside: bool = True, **headers: str
) -> _Result:
    """Serve the project of a folder to one visitor."""
    around = replace(look_around({}), folder=folder)
    complaints: list[str] = []

    async def main() -> _Result:
        desk = ProjectDesk(around, None)
        jobs = ActJobs(around, None, complaints.append)
        access, live = PageAccess(PORT), LiveChanges(desk, jobs)
        templates = PageTemplates(folder.name, "1", desk.project.handles)
        app = page_app(desk, jobs, live, templates, "1", complaints.append)
        transport = httpx.ASGITransport(RequestGuard(app, access, PORT), raise_app_exceptions=False)
        try:
            async with httpx.AsyncClient(transport=transport, base_url=HOME, headers=headers) as client:
                visitor = Visit(client, access, jobs, complaints)
                if inside:
                    await visitor.enter()
                return await body(visitor)
        finally:
            jobs.end_all()
            desk.close()

    found = anyio.run(main)
    assert not complaints, complaints
    return found
