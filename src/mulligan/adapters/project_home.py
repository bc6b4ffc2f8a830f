"""The project home: the folder `.mulligan/`, where it is found, and how one is made."""

import os
from pathlib import Path

from mulligan.boundaries import act
from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.errors import Advice, NextStep, ProjectForeign, ProjectNotFound, ProjectUnusable, SystemFailed
from mulligan.osfiles.folders import sync_folder

NAME = PROJECT_HOME

_IGNORE_ALL = (
    "# Plans, checkpoints and sandboxes of mulligan; nothing here belongs into version control.\n*\n"
)


def find_project(start: Path) -> Path:
    """The nearest folder upwards that has a project home of this user."""
    for folder in (start, *start.parents):
        if (folder / NAME).is_dir():
            _check_owner(folder / NAME)
            return folder
    raise ProjectNotFound(path=str(start), searched=f"in {start} or any folder above it")


def require_project(folder: Path) -> Path:
    """The folder itself, if it has a project home of this user."""
    if not (folder / NAME).is_dir():
        there = folder.is_dir()
        hint = (
            Advice("create one with ", NextStep("init", path=str(folder)))
            if there
            else "name a folder that has one"
        )
        searched = f"in {folder}" if there else f"in {folder}: there is no such folder"
        raise ProjectNotFound(path=str(folder), searched=searched, hint=hint)
    _check_owner(folder / NAME)
    return folder


def make_project(folder: Path) -> bool:
    """Make a project home that only its owner can read; return whether it is new."""
    home = folder / NAME
    if not folder.is_dir():
        there = os.path.lexists(folder)
        raise ProjectUnusable(
            path=str(home),
            reason=f"{folder} {'is not a folder' if there else 'does not exist'}",
            hint="name a folder" if there else f"make the folder first: `mkdir -p {folder}`",
        )
    try:
        str(folder).encode()
    except UnicodeEncodeError as exc:
        raise ProjectUnusable(path=repr(str(folder)), reason="its name is not UTF-8 text") from exc
    if home.is_symlink() or (home.exists() and not home.is_dir()):
        raise ProjectUnusable(path=str(home), reason="there is something that is not a folder")
    new = not home.is_dir()
    try:
        with act("home.make"):
            home.mkdir(mode=0o700, exist_ok=True)
        _check_owner(home)
        ignore = home / ".gitignore"
        if not ignore.exists():  # it comes last: a home without it may be new, by a process that was killed
            with act("home.sync"):  # a new home outlasts a power cut, with all that is made durable in it
                sync_folder(folder)
            draft = home / ".gitignore.new"
            draft.write_text(_IGNORE_ALL, "utf-8")
            with act("home.complete"):
                draft.replace(ignore)
    except OSError as exc:
        raise SystemFailed(path=str(home), reason=exc.strerror or str(exc)) from exc
    return new


def _check_owner(home: Path) -> None:
    owner = home.stat().st_uid
    if owner != os.geteuid():
        raise ProjectForeign(path=str(home), owner=owner)
