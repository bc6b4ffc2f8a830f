"""The identity of this machine in shared projects: an id that is made once, in the folder of the user's settings."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.boundaries import act
from mulligan.domain.text.ids import is_id
from mulligan.osfiles.folders import sync_folder

if TYPE_CHECKING:
    from collections.abc import Callable

_SETTING = "core.host"


def host_in(file: Path, new_id: Callable[[], str], name: str) -> tuple[str, str]:
    """Return the id and the name in the file, which is made with that name where it is missing.

    The first line is the id; the second one is for people, who may change it.
    """
    if (found := _read(file)) is None:
        _make(file, f"{new_id()}\n{name}\n")
        found = _read(file)
    assert found is not None, "it was just made"
    host, _, rest = found.partition("\n")
    if not is_id(host):
        raise errors.SettingInvalid(
            key=_SETTING,
            reason=f"{file} has no id in its first line",
            allowed="an id of 26 characters, as mulligan wrote it",
            hint=f"put the file back; without it (`rm {file}`) this machine counts as a new one",
        )
    return host, rest.strip().partition("\n")[0] or host


def _read(file: Path) -> str | None:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise _unusable(file, exc) from exc


def _make(file: Path, text: str) -> None:
    """Give the file its name once it is durable; one that another process made meanwhile stays."""
    draft = file.with_name(f".{file.name}.{os.urandom(8).hex()}.new")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with act("host.make"):
            try:
                with draft.open("x", encoding="utf-8") as new:
                    new.write(text)
                    new.flush()
                    os.fsync(new.fileno())
                with suppress(FileExistsError):
                    os.link(draft, file)
            finally:
                draft.unlink(missing_ok=True)
            sync_folder(file.parent)
    except OSError as exc:
        raise _unusable(file, exc) from exc


def _unusable(file: Path, exc: Exception) -> errors.SystemFailed:
    reason = getattr(exc, "strerror", None) or str(exc)
    hint = "correct that, or give this machine an id of your own: set MULLIGAN_CORE_HOST to a word that no other has"
    return errors.SystemFailed(path=str(file), reason=reason, hint=hint)
