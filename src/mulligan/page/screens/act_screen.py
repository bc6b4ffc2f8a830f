"""Acts in a browser: what one would touch, the act itself, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args
from urllib.parse import parse_qsl

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.inspect import BoolType, LiteralType, StrType, UnionType, VarTupleType, type_info
from msgspec.inspect import Metadata as MetaType
from msgspec.structs import replace
from starlette.responses import RedirectResponse

from mulligan.api.operations.command_words import command_line
from mulligan.errors import MulliganError, UsageWrong
from mulligan.page.acts.act_arguments import Redo, Undo
from mulligan.page.acts.act_table import ACTS
from mulligan.page.request_guard import ACT_FIELD
from mulligan.page.screens.page_links import address
from mulligan.page.screens.page_queries import number_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from mulligan.page.acts.act_arguments import ActArguments
    from mulligan.page.acts.act_jobs import ActJob, ActJobs
    from mulligan.page.acts.act_outcomes import ActOutcome
    from mulligan.page.acts.act_table import Act
    from mulligan.page.project_desk import ProjectDesk
    from mulligan.page.screens.page_templates import PageTemplates

_AT_ONCE = 1.5  # seconds within which an act ends before its own page is shown
_LONG_TEXT = 5000  # characters: a field that takes more is a box
_SEEN = "seen"
_SHOWN = 500  # paths
_TYPED = ("content", "seen")  # arguments that the screen of a conflict has


class Field(Struct, frozen=True, kw_only=True):
    """A field of a form."""

    name: str
    kind: str  # text, box, switch or choice
    title: str
    about: str
    value: str
    choices: tuple[str, ...] = ()
    needed: bool = False


class ActScreen:
    """The screens of acts."""

    def __init__(self, desk: ProjectDesk, templates: PageTemplates, jobs: ActJobs) -> None:
        self._desk, self._templates, self._jobs = desk, templates, jobs

    async def preview(self, request: Request) -> Response:
        """Show what an act would touch, and the command that does the same."""
        act = _act(request)
        return await self._shown(request, act, _given(act, request.query_params.multi_items()))

    async def perform(self, request: Request) -> Response:
        """Do the act, if it still is what the reader saw; show its progress or what came of it."""
        act = _act(request)
        fields = parse_qsl((await request.body()).decode("utf-8", "surrogateescape"), keep_blank_values=True)
        given = _given(act, fields)
        seen = dict(fields).get(_SEEN, "")
        wish = _wish(act, given)
        if isinstance(wish, UsageWrong):
            return await self._shown(request, act, given)
        preview = await self._preview(act, wish)
        if isinstance(preview, MulliganError) or preview.reply.error is not None or preview.seen != seen:
            return await self._shown(request, act, given, again=bool(seen))
        job = self._jobs.start(act, _agreed(wish, preview))
        await job.ended(_AT_ONCE)
        return RedirectResponse(address("/job", number=job.number), 303)

    async def job(self, request: Request) -> Response:
        """Show an act at work, or what came of it."""
        job = self._find(request)
        facts = await self._facts(job)
        template = "job_part.html" if request.query_params.get("part") else "job.html"
        return self._templates.page(request, template, **facts)

    async def interrupt(self, request: Request) -> Response:
        """Ask an act at work to end, as Ctrl-C does."""
        job = self._find(request)
        job.interrupt()
        await job.ended(_AT_ONCE)
        return RedirectResponse(address("/job", number=job.number), 303)

    def _find(self, request: Request) -> ActJob:
        job = self._jobs.find(number_in(request, "number") or 0)
        if job is None:
            raise UsageWrong(reason="that act is not known any longer", hint="the timeline shows what it did")
        return job

    async def _facts(self, job: ActJob) -> dict[str, object]:
        return {
            "job": job,
            "progress": job.look(),
            "outcome": job.outcome,
            "error": job.error,
            "touches": _some(job.outcome),
            "messages": job.outcome.reply.messages if job.outcome is not None else (),
            "command": command_line(job.act.command(job.wish)),
            "again": (job.act.name, _not_usual(job.wish)),
        }

    async def _preview(self, act: Act, wish: ActArguments) -> ActOutcome | MulliganError:
        try:
            return await self._desk.look(lambda project: act.perform(project, wish, dry_run=True))
        except MulliganError as error:
            return error

    async def _shown(
        self, request: Request, act: Act, given: Mapping[str, object], *, again: bool = False
    ) -> Response:
        wish = _wish(act, given)
        preview: ActOutcome | None = None
        error: MulliganError | None = None
        if isinstance(wish, UsageWrong):
            error = wish if request.method == "POST" else None
        else:
            found = await self._preview(act, wish)
            if isinstance(found, MulliganError):
                # Nobody has filled in the form yet.
                untouched = request.method == "GET" and act.asked and not given.keys() & set(act.asked)
                error = None if untouched and isinstance(found, UsageWrong) else found
            else:
                preview, error = found, found.reply.error
        fields = [
            field
            for field in _fields(act, given)
            if field.name in act.asked or (field.needed and field.name not in given)
        ]
        return self._templates.page(
            request,
            "act.html",
            error.http_status if error is not None and request.method == "POST" else 200,
            act=act,
            preview=preview,
            error=error,
            touches=_some(preview),
            fields=fields,
            hidden=[pair for pair in _pairs(given) if pair[0] not in {field.name for field in fields}],
            command=None if isinstance(wish, UsageWrong) else command_line(act.command(wish)),
            again=(act.name, given),
            changed=again and error is None,
            seen_field=_SEEN,
        )


def _some(outcome: ActOutcome | None) -> tuple[list[object], int]:
    touches = outcome.touches if outcome is not None else ()
    return [*touches[:_SHOWN]], max(0, len(touches) - _SHOWN)


def _act(request: Request) -> Act:
    act = ACTS.get(str(request.path_params["name"]))
    if act is None:
        raise UsageWrong(reason="there is no such act", hint="start from the timeline")
    return act


def _given(act: Act, fields: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Return the arguments that a form or an address has; several values of one name are a list."""
    kinds = {field.name: field.type for field in _struct(act).fields}
    found: dict[str, object] = {}
    for name, value in fields:
        if name in (ACT_FIELD, _SEEN) or not value:
            continue
        if name in kinds and isinstance(_plain(kinds[name]), VarTupleType):
            cast("list[str]", found.setdefault(name, [])).append(value)
        elif name in found and name in kinds and isinstance(_plain(kinds[name]), BoolType):
            found[name] = value  # a switch that is on comes after the hidden field for one that is off
        else:
            found.setdefault(name, value)
    return found


def _agreed(wish: ActArguments, preview: ActOutcome) -> ActArguments:
    """Return the arguments with the entry that a preview meant by `newest`: it is that one or none."""
    if preview.entry is None or not isinstance(wish, Undo | Redo):
        return wish
    return replace(wish, agreed=preview.entry)


def _wish(act: Act, given: Mapping[str, object]) -> ActArguments | UsageWrong:
    try:
        return convert(dict(given), act.arguments, strict=False)
    except ValidationError as exc:
        return UsageWrong(reason=str(exc), hint="fill in the form")


def _not_usual(wish: ActArguments) -> dict[str, object]:
    usual = {field.name: field.default for field in _struct(type(wish)).fields}
    # Texts are too long for an address, and another time another entry may be the newest.
    named = [name for name in usual if name not in (*_TYPED, "agreed")]
    return {name: value for name in named if (value := getattr(wish, name)) != usual[name]}


def _pairs(given: Mapping[str, object]) -> list[tuple[str, str]]:
    return [
        (name, str(each))
        for name, value in given.items()
        for each in (cast("list[object]", value) if isinstance(value, list) else [value])
    ]


def _struct(act: Act | type[ActArguments]) -> Any:
    return type_info(act if isinstance(act, type) else act.arguments)


def _plain(kind: Any) -> Any:
    """Return a type without its description, and without None."""
    while isinstance(kind, MetaType):
        kind = kind.type
    if isinstance(kind, UnionType):
        kinds = [each for each in (_plain(each) for each in kind.types) if type(each).__name__ != "NoneType"]
        return kinds[0]
    return kind


def _fields(act: Act, given: Mapping[str, object]) -> list[Field]:
    found: list[Field] = []
    for field in _struct(act).fields:
        plain = _plain(field.type)
        metas = _metas(act.arguments, field.name)
        value = given.get(field.name)
        shown = "" if value is None else str(value)
        kind, choices = "text", ()
        if isinstance(plain, BoolType):
            kind = "switch"
            shown = str(field.default).lower() if value is None else shown
        elif isinstance(plain, LiteralType):
            kind, choices = "choice", tuple(map(str, plain.values))
            shown = shown or str(field.default)
        elif isinstance(plain, StrType) and max([m.max_length or 0 for m in metas] or [0]) > _LONG_TEXT:
            kind = "box"
        title = next((m.title for m in metas if m.title), field.name)
        about = next((m.description for m in metas if m.description), "")
        needed = bool(field.required)
        found.append(
            Field(
                name=field.name,
                kind=kind,
                title=title,
                about=about,
                value=shown,
                choices=choices,
                needed=needed,
            )
        )
    return found


def _metas(arguments: type[ActArguments], name: str) -> list[Meta]:
    from typing import get_type_hints

    def inside(kind: Any) -> Iterable[Meta]:
        yield from (each for each in getattr(kind, "__metadata__", ()) if isinstance(each, Meta))
        for part in get_args(kind):
            if not isinstance(part, Meta):
                yield from inside(part)

    hints = get_type_hints(arguments, include_extras=True)
    return list(inside(hints[name]))
