"""Writes the report of a plan into a file, whole or not at all."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from mulligan.errors import Advice, NextStep, SystemFailed, TargetExists, UsageWrong

_LONGEST_NAME = 200  # characters of a name that still has room for what makes it another


class SavedReport(Struct, frozen=True, kw_only=True):
    """A report in a file."""

    file: str
    size_bytes: int


def save_page(
    file: Path, make: Callable[[], tuple[str, Sequence[str]]], again: NextStep, *, force: bool
) -> tuple[SavedReport, Sequence[str]]:
    """Write the page that `make` returns, and return with it the problems that `make` names.

    Only with `force` does it replace another file, which is what `again` does.
    """
    place = Path(os.path.realpath(file))  # a link keeps leading where it leads
    replaces = Advice(again, " replaces it")
    _refuse(place, replaces, force=force)  # before there is any work
    page, problems = make()
    data = page.encode()
    try:
        _write(place, data, force=force)
    except FileExistsError as exc:  # another process made it in this moment
        raise TargetExists(path=str(place), hint=replaces) from exc
    except OSError as exc:
        raise SystemFailed(path=str(place), reason=exc.strerror or str(exc)) from exc
    return SavedReport(file=str(place), size_bytes=len(data)), problems


def _refuse(place: Path, replaces: Advice, *, force: bool) -> None:
    """Refuse to replace what was not meant, and what is not a file: a folder, a device, a pipe."""
    if not place.parent.is_dir():
        raise UsageWrong(reason=f"{place.parent} is not a folder", hint="make it, or name another file")
    if place.exists() and not place.is_file():
        raise TargetExists(path=str(place), hint="it is not a file: name one")
    if place.exists() and not force:
        raise TargetExists(path=str(place), hint=replaces)


def _write(place: Path, data: bytes, *, force: bool) -> None:
    """Give the page its name when all of it is on disk; without `force` never in the place of another."""
    new = place.with_name(f".{place.name[:_LONGEST_NAME]}.{os.getpid()}.new")
    new.unlink(missing_ok=True)
    try:
        with new.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            if not force:
                os.link(new, place)  # fails where another file has the name
                return
        except FileExistsError:
            raise
        except OSError:  # the filesystem has no second names, as on many sticks
            pass
        new.replace(place)
    finally:
        new.unlink(missing_ok=True)
