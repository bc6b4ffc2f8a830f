"""Finding the home of a project folder, and knowing a moved project from a copied one; nothing is written."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from mulligan import errors
from mulligan.adapters.homes.folder_identity import identity_of
from mulligan.adapters.homes.home_index import PART, HomeIndex
from mulligan.adapters.homes.home_link import (
    LINK,
    RECORD,
    HomeLink,
    HomeRecord,
    check_owner,
    is_sandbox,
    names_home,
    read_link,
    read_record,
    small_folder,
)
from mulligan.errors import Advice, NextStep

_OLD_HOME = ("mulligan.db", "store")  # what a home of an earlier version has; settings alone make none


class Standing(StrEnum):
    """The relation between a project folder and its home."""

    SETTLED = "settled"
    UNLINKED = "unlinked"  # the folder does not name its home: it was found by the folder
    MOVED = "moved"  # the home names another folder, or one that was replaced
    INSIDE = "inside"  # the home is in the project folder, as it was in earlier versions
    COPIED = "copied"  # the home was copied to another filesystem and waits for its name
    NEW = "new"  # there is no home yet


class ProjectPlace(Struct, frozen=True, kw_only=True):
    """A project folder and its home."""

    folder: Path
    home: Path
    standing: Standing
    notes: tuple[str, ...] = ()  # what its user has to know, such as settings that were left out


def find_project(start: Path, index: HomeIndex) -> ProjectPlace:
    """Return the nearest project upwards; from inside a home, the project that it belongs to."""
    if start.is_relative_to(index.root) and (place := _around(start, index)) is not None:
        return place
    for folder in (start, *start.parents):
        if (place := place_of(folder, index)) is not None:
            return place
    raise errors.ProjectNotFound(path=str(start), searched=f"in {start} or any folder above it")


def require_project(folder: Path, index: HomeIndex) -> ProjectPlace:
    """Return the project of this very folder."""
    if (place := place_of(folder, index)) is not None:
        return place
    there = folder.is_dir()
    hint = (
        Advice("create one with ", NextStep("init", path=str(folder)))
        if there
        else "name a folder that has one"
    )
    searched = f"in {folder}" if there else f"in {folder}: there is no such folder"
    raise errors.ProjectNotFound(path=str(folder), searched=searched, hint=hint)


def refuse_sandbox(folder: Path) -> None:
    """Refuse a folder that is a sandbox for the step that asks: its project would be taken for another one."""
    if is_sandbox(folder):
        raise errors.ProjectInSandbox(path=str(folder))


def refuse_symlink(small: Path) -> None:
    """Refuse a home behind a symlink; one of an earlier version would be moved in its place."""
    if small.is_symlink() and any((small / name).exists() for name in _OLD_HOME):
        import shlex  # here: such a home is seldom met

        target = small.resolve()
        if (record := read_record(target)) is not None:  # moved here, its own project would lose it
            raise errors.ProjectUnusable(
                path=str(small),
                reason=f"it is a symlink to {target}, the project home of {record.folder}",
                hint=f"remove the symlink, which no project needs: `rm {shlex.quote(str(small))}`",
            )
        raise errors.ProjectUnusable(
            path=str(small),
            reason=f"it is a symlink to {target}, where a project home of an earlier version is",
            hint=f"put that folder in its place: `rm {shlex.quote(str(small))} && "
            f"mv {shlex.quote(str(target))} {shlex.quote(str(small))}`",
        )


def place_of(folder: Path, index: HomeIndex) -> ProjectPlace | None:
    """Return the project of a folder; None where it has none. A copy, or a folder in doubt, is refused."""
    if (link := read_link(folder)) is not None:
        return _linked(folder, link, index)
    refuse_sandbox(folder)
    small = small_folder(folder)
    if small.is_dir():
        check_owner(small)
    refuse_symlink(small)
    inside = any((small / name).exists() for name in _OLD_HOME)
    noted = index.lookup(folder)
    record = read_record(noted) if noted is not None else None
    if noted is None or record is None or record.folder != str(folder):
        return ProjectPlace(folder=folder, home=small, standing=Standing.INSIDE) if inside else None
    check_owner(noted)
    if inside:
        raise errors.ProjectUncertain(
            path=str(folder),
            reason=f"{small} holds a project home of an earlier version, and {noted} is the home of this folder",
            hint=f"move the one away that you do not need: `mv {small} {small}.old`",
        )
    if (here := identity_of(folder)) is None or not record.identity.matches(here):
        raise errors.ProjectUncertain(
            path=str(folder),
            reason=f"the project home {noted} belongs to an earlier folder of this path",
            hint=Advice(
                "continue with its plans: ",
                NextStep("init", path=str(folder), home=str(noted)),
                "; begin without them: ",
                NextStep("init", path=str(folder), fresh=True),
            ),
        )
    return ProjectPlace(folder=folder, home=noted, standing=Standing.UNLINKED)


def _linked(folder: Path, link: HomeLink, index: HomeIndex) -> ProjectPlace:
    home = Path(link.home)
    st = folder.stat()
    if not home.is_absolute() or home.is_relative_to(folder):
        raise _strange(folder, home)
    here = link.folder == str(folder) and (link.identity.inode, link.identity.device) == (
        st.st_ino,
        st.st_dev,
    )
    try:
        check_owner(home)
        if not here and Path(os.path.realpath(home)).is_relative_to(os.path.realpath(folder)):
            raise _strange(folder, home)
    except OSError:
        return _homeless(folder, link, index)
    if not index.holds(home) and not _is_writer(folder, link):
        raise _unknown(folder, home)
    record = read_record(home)
    if here and (record is None or record.folder == str(folder)):
        return ProjectPlace(folder=folder, home=home, standing=Standing.SETTLED)
    if record is None:
        raise _missing(folder, home, f"{home / RECORD} is missing or damaged")
    return ProjectPlace(folder=folder, home=home, standing=standing_of(folder, home, record))


def _is_writer(folder: Path, link: HomeLink) -> bool:
    """Return whether the link was written in this very folder: one that came with a repository does not know it."""
    here = identity_of(folder)
    return link.folder == str(folder) and here is not None and link.identity.matches(here)


def standing_of(folder: Path, home: Path, record: HomeRecord) -> Standing:
    """Return the relation of a folder to the home that it names; ProjectCopied where another folder is the original."""
    now, before = identity_of(folder), identity_of(Path(record.folder))
    assert now is not None, "it was looked at before"
    if record.folder == str(folder):
        return Standing.UNLINKED if record.identity.matches(now) else Standing.MOVED
    if before is not None and before.matches(now):
        return Standing.SETTLED  # the same folder under another name, such as a second mount
    original = before is not None and (
        before.matches(record.identity) or names_home(Path(record.folder), home)
    )
    if original:
        raise errors.ProjectCopied(path=str(folder), original=record.folder, home=str(home))
    return Standing.MOVED


def had_home_inside(folder: Path) -> bool:
    """Return whether a folder has a home of an earlier version, or had one that was moved out of it."""
    small = small_folder(folder)
    if any((small / name).exists() for name in _OLD_HOME):
        return True
    link = read_link(folder)
    record = read_record(Path(link.home)) if link is not None else None
    return record is not None and any(Path(each).name == small.name for each in record.former_homes)


def _homeless(folder: Path, link: HomeLink, index: HomeIndex) -> ProjectPlace:
    """Return the place of a folder whose home is not where it says: half moved, or moved with all homes."""
    home = Path(link.home)
    part = Path(f"{home}{PART}")
    if (part / RECORD).is_file():
        return ProjectPlace(folder=folder, home=part, standing=Standing.COPIED)
    noted = index.lookup(folder)
    record = read_record(noted) if noted is not None and noted != home else None
    if noted is not None and record is not None and record.folder == str(folder):
        check_owner(noted)
        return ProjectPlace(folder=folder, home=noted, standing=Standing.MOVED)
    raise _missing(folder, home, f"there is no folder {home}")


def _strange(folder: Path, home: Path) -> errors.ProjectUnusable:
    """Return the refusal of a link that mulligan did not write: it may have come with a checkout."""
    file = small_folder(folder) / LINK
    return errors.ProjectUnusable(
        path=str(home),
        reason=f"{file} names it, and it is not outside of the project folder",
        hint=Advice("begin without it: ", NextStep("init", path=str(folder), fresh=True)),
    )


def _unknown(folder: Path, home: Path) -> errors.ProjectUncertain:
    """Return the refusal of a home that mulligan did not make for this user, which may have come with a checkout."""
    return errors.ProjectUncertain(
        path=str(folder),
        reason=f"{small_folder(folder) / LINK} was not written in this folder, "
        f"and the project home that it names, {home}, is not among yours",
        hint=Advice(
            "if it is yours, continue with its plans: ",
            NextStep("init", path=str(folder), home=str(home)),
            "; begin without them: ",
            NextStep("init", path=str(folder), fresh=True),
        ),
    )


def _missing(folder: Path, home: Path, reason: str) -> errors.ProjectHomeMissing:
    return errors.ProjectHomeMissing(
        path=str(folder),
        home=str(home),
        reason=reason,
        hint=Advice(
            "put it back, or name where it is now: ",
            NextStep("init", path=str(folder), home=...),
            "; begin without its plans: ",
            NextStep("init", path=str(folder), fresh=True),
        ),
    )


def _around(start: Path, index: HomeIndex) -> ProjectPlace | None:
    """Return the project of the home that a folder, such as a sandbox, lies in."""
    parts = start.relative_to(index.root).parts
    home = index.root / parts[0] if parts else index.root
    record = read_record(home)
    folder = Path(record.folder) if record is not None else None
    if folder is None or not folder.is_dir():
        return None
    place = place_of(folder, index)
    return place if place is not None and place.home == home else None
