"""Access to the page: a token that opens it once, and the sessions of the browsers that it was opened in."""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie

_BYTES = 32


class PageAccess:
    """The one-time token of a served page, and the cookies that were given for it."""

    def __init__(self, port: int) -> None:
        self.cookie = f"mulligan-{port}"  # cookies are shared by all ports of a machine
        self.token = secrets.token_urlsafe(_BYTES)
        self._key = secrets.token_bytes(_BYTES)
        self._opened = False
        self._sessions: set[str] = set()

    def open(self, token: str) -> str | None:
        """Exchange the token for a session; None where it is another one, or was exchanged already."""
        if self._opened or not _same(token, self.token):
            return None
        self._opened = True
        session = secrets.token_urlsafe(_BYTES)
        self._sessions.add(session)
        return session

    def session_of(self, cookies: str) -> str | None:
        """Return the session that a Cookie header names; None where it names none of ours."""
        try:
            named = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return None
        known = [session for session in self._sessions if named is not None and _same(named.value, session)]
        return known[0] if known else None

    def set_cookie(self, session: str) -> str:
        """Return the header that hands a session to a browser, out of reach of scripts and other sites."""
        return f"{self.cookie}={session}; HttpOnly; SameSite=Strict; Path=/"

    def act_token(self, session: str) -> str:
        """Return what each act of a session has to bring along: no other page can know it."""
        return hmac.new(self._key, session.encode(), sha256).hexdigest()

    def may_act(self, session: str, given: str) -> bool:
        """Return whether that is the token of acts of the session."""
        return _same(given, self.act_token(session))


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), known.encode())
