"""The guard before every request: who may ask, from where, and how much.

A page of another site can make a browser send requests here. None of them is answered: the name that the browser
called must be this machine's, its origin this page, its cookie one of ours, and an act carries a token that only the
page knows. A refused request changes nothing, and does not use the one-time token up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, RedirectResponse

from mulligan.api.local_server.page_visitors import is_of_another_user
from mulligan.page.programs.problem_documents import refusal

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mulligan.page.page_access import PageAccess

ACT_HEADER, ACT_FIELD = "x-mulligan-token", "act_token"
ACT_TOKEN = "mulligan.act_token"  # noqa: S105 - the name of a member of the scope
ACT_COOKIE = "mulligan.cookie"  # another one: the name of the cookie
_LONGEST_BODY = 40 << 20  # bytes: a file that is edited, in a form
_LONGEST_QUERY = 16 << 10
_MOST_FIELDS = 10_000
_PATIENCE = 30.0  # seconds for a body
_FORM = "application/x-www-form-urlencoded"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# The browser goes on by a navigation of this page's own, which brings the cookie along, and forgets the token.
_OPENED = """<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">
<link rel="icon" href="/static/mark.svg"><title>mulligan</title><p><a href="/">Open the page</a></p></html>"""
_CLOSED = """This page is open to the browser that was given its address.
An address opens it once: end `mulligan ui` with Ctrl-C, start it again, and open the address that it prints."""


class RequestGuard:
    """Lets requests of the page itself through, and refuses all others."""

    def __init__(self, app: ASGIApp, access: PageAccess, port: int) -> None:
        self._app = app
        self._access = access
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        if port == 80:
            self._hosts |= {"127.0.0.1", "localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a connection of another kind is closed

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                held = {name.lower() for name, _ in message["headers"]}
                more = [
                    (name.lower().encode(), value.encode())
                    for name, value in _HEADERS.items()
                    if name.lower().encode() not in held
                ]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        answer = self._refused(scope, headers) or self._entered(scope, headers)
        if answer is not None:
            await answer(scope, receive, guarded)
            return
        session = self._access.session_of(headers.get("cookie", ""))
        if session is None:
            await refusal(scope["path"], 401, _CLOSED)(scope, receive, guarded)
            return
        scope[ACT_TOKEN] = self._access.act_token(session)
        scope[ACT_COOKIE] = self._access.cookie
        if scope["method"] == "POST":
            body = await _body(receive, headers)
            if isinstance(body, int):
                reason = "the request is too large, or came too slowly"
                await refusal(scope["path"], body, reason)(scope, receive, guarded)
                return
            if not self._access.may_act(session, _token_in(headers, body)):
                reason = "an act needs the token of this page: load the page again"
                await refusal(scope["path"], 403, reason)(scope, receive, guarded)
                return
            receive = _again(body, receive)
        await self._app(scope, receive, guarded)

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        """Return the refusal of a request that another page sent, or that no browser here would send."""
        path: str = scope["path"]
        if [name for name, _ in scope["headers"]].count(b"host") != 1 or headers["host"] not in self._hosts:
            return refusal(path, 421, "this page is not served under that name")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return refusal(path, 405, "only GET, HEAD and POST", {"Allow": "GET, HEAD, POST"})
        if len(scope["query_string"]) > _LONGEST_QUERY:
            return refusal(path, 414, "the address is too long")
        if headers.get("origin", f"http://{headers['host']}") != f"http://{headers['host']}":
            return refusal(path, 403, "another page may not ask for this")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not _enters(scope):
            return refusal(path, 403, "another page may not ask for this")
        return None

    def _entered(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        """Exchange the one-time token for a cookie, where the request brings one."""
        if not _enters(scope):
            return None
        if self._access.session_of(headers.get("cookie", "")) is not None:
            return RedirectResponse("/", 303)
        if is_of_another_user(tuple(scope["client"]), tuple(scope["server"])):
            return refusal(scope["path"], 403, "this page is another user's")
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        session = self._access.open(given)
        if session is None:
            return refusal(scope["path"], 401, _CLOSED)
        return HTMLResponse(_OPENED, headers={"Set-Cookie": self._access.set_cookie(session)})


def _enters(scope: Scope) -> bool:
    query = scope["query_string"]
    return scope["method"] == "GET" and scope["path"] == "/" and query.startswith(b"token=")


async def _body(receive: Receive, headers: Mapping[str, str]) -> bytes | int:
    """Return the body of a request, or the status of its refusal."""
    try:
        if int(headers.get("content-length", "0")) > _LONGEST_BODY:
            return 413
        async with asyncio.timeout(_PATIENCE):
            return await _received(receive)
    except ValueError:
        return 413
    except TimeoutError:
        return 408


async def _received(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        parts.append(message.get("body", b""))
        size, more = size + len(parts[-1]), message.get("more_body", False)
        if size > _LONGEST_BODY:
            raise ValueError(size)
    return b"".join(parts)


def _token_in(headers: Mapping[str, str], body: bytes) -> str:
    if ACT_HEADER in headers:
        return headers[ACT_HEADER]
    if headers.get("content-type", "").partition(";")[0].strip() != _FORM:
        return ""
    try:
        found = parse_qs(body.decode("utf-8", "replace"), max_num_fields=_MOST_FIELDS)
    except ValueError:  # there are more
        return ""
    return found.get(ACT_FIELD, [""])[0]


def _again(body: bytes, receive: Receive) -> Receive:
    """Return the source of a request whose body was read already."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message
