"""Writes the report of a plan into a file, whole or not at all."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Document, Line
from mulligan.domain.text.plural import counted
from mulligan.errors import SystemFailed, TargetExists, UsageWrong

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation

_STDOUT = "-"
_LONGEST_NAME = 200  # characters of a name that still has room for what makes it another


def report_answer(invocation: Invocation, plan: str, file: str, *, force: bool) -> Answer:
    """Write the page and say where it is, or give it as the answer."""
    if file == _STDOUT:
        if invocation.format.is_document:
            raise UsageWrong(
                reason="stdout holds one document, and that is the answer", hint="name a FILE for the page"
            )
        page, problems = invocation.project().report_with_problems(plan)
        return Answer(data=None, blocks=[Document(page.encode())], messages=problems, warn=bool(problems))
    place = Path(os.path.realpath(file))  # a link keeps leading where it leads
    replacing = f"mulligan plan report {shlex.quote(plan)} --html {shlex.quote(file)} --force"
    _refuse(place, replacing, force=force)  # before there is any work
    page, problems = invocation.project().report_with_problems(plan)
    data = page.encode()
    try:
        _write(place, data, force=force)
    except FileExistsError as exc:  # someone made it in this moment
        raise _exists(place, replacing) from exc
    except OSError as exc:
        raise SystemFailed(path=str(place), reason=exc.strerror or str(exc)) from exc
    return Answer(
        data={"file": str(place), "size_bytes": len(data)},
        blocks=[Line(f"{place}: {counted(len(data), 'byte')}")],
        messages=problems,
        warn=bool(problems),
    )


def _refuse(place: Path, replacing: str, *, force: bool) -> None:
    """Refuse to replace what was not meant, and what is no file: a folder, a device, a pipe."""
    if not place.parent.is_dir():
        raise UsageWrong(reason=f"{place.parent} is no folder", hint="make it, or name another FILE")
    if place.exists() and not place.is_file():
        raise TargetExists(path=str(place), hint="it is no file: name one, or `--html -` for stdout")
    if place.exists() and not force:
        raise _exists(place, replacing)


def _exists(place: Path, replacing: str) -> TargetExists:
    return TargetExists(path=str(place), hint=f"`{replacing}` replaces it")


def _write(place: Path, data: bytes, *, force: bool) -> None:
    """Give the page its name when all of it is on disk; without `force` never in the place of another."""
    new = place.with_name(f".{place.name[:_LONGEST_NAME]}.{os.getpid()}.new")
    new.unlink(missing_ok=True)
    try:
        with new.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if force or not _linked(new, place):
            new.replace(place)
    finally:
        new.unlink(missing_ok=True)


def _linked(new: Path, place: Path) -> bool:
    """Give a file a second name that nobody has; False: the filesystem knows no such names, as on many sticks."""
    try:
        os.link(new, place)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True
