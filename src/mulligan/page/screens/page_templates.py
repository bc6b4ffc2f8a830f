"""The templates. Every text that comes into one is inert: no markup, no control characters, no bidi tricks."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from mulligan.domain.text.exit_status import ended
from mulligan.domain.text.ids import ID_IN_TEXT
from mulligan.domain.text.inert_text import spell, without_escapes
from mulligan.domain.text.plural import counted
from mulligan.errors import MulliganError
from mulligan.page.request_guard import ACT_FIELD, ACT_TOKEN
from mulligan.page.screens.page_links import address, link_of, parts_of_advice

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from starlette.requests import Request

# What is more than a character: controls, and those that hide or turn around what is beside them.
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_FOLDER = Path(__file__).parents[1]
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_THOUSAND = 1000
_MINUTE_MS = 60_000
_TONES = {
    **dict.fromkeys(("done", "complete", "applied", "added", "repaired", "passed", "ok"), "good"),
    **dict.fromkeys(
        ("failed", "errored", "deleted", "conflict", "wrong", "removed", "forget", "remove"), "bad"
    ),
    **dict.fromkeys(("constrained", "interrupted", "cancelled", "cancel"), "warn"),
    **dict.fromkeys(("running", "processing", "modified", "renamed", "restored", "changed"), "busy"),
}
_WORDS = {"constrained": "waiting for you", "errored": "failed", "processing": "running", "queued": "ready"}


def inert(text: str) -> str:
    """Return a text in which nothing is more than a character; what would be is spelled."""
    text = spell(text)
    return _HARMFUL.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def _final(value: object) -> object:
    if value is None:
        return ""
    return inert(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _when(moment: datetime) -> Markup:
    """Return a time, which the browser's script puts into words and the reader's time zone."""
    exact = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    shown = moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return Markup('<time datetime="{}">{}</time>').format(exact, shown)


def _size(count: int) -> str:
    value, unit = float(count), 0
    while value >= _THOUSAND and unit < len(_UNITS) - 1:
        value, unit = value / _THOUSAND, unit + 1
    return f"{count} {_UNITS[0]}" if not unit else f"{value:.1f} {_UNITS[unit]}"


def _lasting(milliseconds: int) -> str:
    if milliseconds < _THOUSAND:
        return f"{milliseconds} ms"
    if milliseconds < _MINUTE_MS:
        return f"{milliseconds / _THOUSAND:.1f} s"
    return f"{milliseconds // _MINUTE_MS} min {milliseconds % _MINUTE_MS // _THOUSAND} s"


def _chip(word: object) -> Markup:
    """Return a word in a coloured frame: a state, or the kind of a change."""
    text = str(word)
    tone = _TONES.get(text, "plain")
    return Markup('<span class="chip {}">{}</span>').format(
        tone, escape(inert(_WORDS.get(text, text.replace("_", " "))))
    )


def _exact(text: str) -> Markup:
    """Return a text for a field to edit, every character as it is: what is sent back is what was there."""
    return escape(text)


class PageTemplates:
    """The templates, for one project; `handles` looks up the words by which people call ids."""

    def __init__(
        self, project: str, version: str, handles: Callable[[Collection[str]], Mapping[str, str]]
    ) -> None:
        def named(text: str) -> str:
            """Return a text for people without ids."""
            if re.search(ID_IN_TEXT, text) is None:
                return text
            ids = cast("list[str]", re.findall(ID_IN_TEXT, text))
            try:
                known = handles(ids)
            except MulliganError:  # the database itself is what is wrong: the text keeps them
                return text
            return re.sub(ID_IN_TEXT, lambda found: known.get(found[0], found[0]), text)

        environment = Environment(
            loader=FileSystemLoader(_FOLDER / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_final,
        )
        filters = cast("dict[str, object]", environment.filters)
        filters.update(when=_when, size=_size, lasting=_lasting, ended=ended, chip=_chip, named=named)
        filters.update(exact=_exact, printed=without_escapes, advice_of=parts_of_advice)
        known = cast("dict[str, object]", environment.globals)
        known.update(address=address, counted=counted, link_of=link_of, act_field=ACT_FIELD)
        known.update(project=project, version=version)
        self._environment = environment

    def page(
        self, request: Request, template: str, http_status: int = 200, /, **facts: object
    ) -> HTMLResponse:
        """Draw a template."""
        token = cast("str", request.scope[ACT_TOKEN])
        text = self._environment.get_template(template).render(
            act_token=token, path=request.url.path, query=dict(request.query_params), **facts
        )
        return HTMLResponse(text.encode("utf-8", "backslashreplace"), http_status)
