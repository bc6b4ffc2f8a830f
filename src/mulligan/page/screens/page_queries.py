"""Parameters of addresses, read with care: a number is a number, and what is empty is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from starlette.requests import Request

_LARGEST = 1 << 53


def text_in(request: Request, name: str) -> str | None:
    """Return a parameter; None where it is missing or empty."""
    return request.query_params.get(name) or None


def text_of(request: Request, name: str) -> str:
    """Return a parameter that has to be there."""
    found = text_in(request, name)
    if found is None:
        raise UsageWrong(reason=f"the address names no {name}", hint="start from the timeline")
    return found


def number_in(request: Request, name: str) -> int | None:
    """Return a number that is a parameter; None where it is missing or empty."""
    text = text_in(request, name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()) or int(text[:20]) > _LARGEST:
        raise UsageWrong(reason=f"{name} is not a number: {text[:40]!r}", hint="leave it out")
    return int(text)
