"""The tie between a project folder and its home: a file in each, with the identity of the folder."""

import os
import re
from pathlib import Path

from msgspec import DecodeError, Struct, json

from mulligan import errors
from mulligan.adapters.homes.folder_identity import FolderIdentity, mounts
from mulligan.boundaries import act
from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.errors import MulliganError
from mulligan.osfiles.folders import sync_folder

LINK = "home.json"  # in the small folder
RECORD = "project.json"  # in the home
IGNORE = ".gitignore"
STAGING = "asides"  # in the small folder, where the home is on another filesystem
_SANDBOX = r"/sandboxes/[0-9A-Z]{26}/[^/]+$"  # the source of a mount
_IGNORE_ALL = "# The files of mulligan in this folder; nothing here belongs into version control.\n*\n"


class HomeLink(Struct, frozen=True, kw_only=True):
    """The file in the project folder that names the home."""

    home: str  # absolute path
    folder: str  # that it was written in
    identity: FolderIdentity


class HomeRecord(Struct, frozen=True, kw_only=True):
    """The file in a home that names the project folder."""

    folder: str  # absolute path
    identity: FolderIdentity
    former_folders: tuple[str, ...] = ()  # where the project was before
    former_homes: tuple[str, ...] = ()  # where this home was before
    mount: str = ""  # the mount point that the folder was reached through; empty: unknown


def small_folder(folder: Path) -> Path:
    """Return the folder of mulligan's own in a project folder."""
    return folder / PROJECT_HOME


def is_in_a_step() -> bool:
    """Return whether this process belongs to a step of a plan that sees a sandbox in the place of a real folder."""
    return any(re.search(_SANDBOX, source) for source, _ in mounts())


def is_sandbox(folder: Path) -> bool:
    """Return whether a step of a plan asks that sees a sandbox in the place of this folder, or of one around it."""
    places = (point for source, point in mounts() if re.search(_SANDBOX, source))
    return any(folder.is_relative_to(place) for place in places)


def read_link(folder: Path) -> HomeLink | None:
    """Return the link in a project folder; None where there is none. One of another user is refused."""
    file = small_folder(folder) / LINK
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as exc:
        check_owner(small_folder(folder))
        raise errors.ProjectUnusable(path=str(file), reason=exc.strerror or str(exc)) from exc
    try:
        st = os.fstat(descriptor)
        if st.st_uid != os.geteuid():
            raise errors.ProjectForeign(path=str(small_folder(folder)), owner=st.st_uid)
        data = os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)
    try:
        link = json.decode(data, type=HomeLink)
    except DecodeError as exc:
        raise errors.ProjectUnusable(
            path=str(file),
            reason="it does not name a project home",
            hint=f"remove it: `rm {file}`; the home is then found by the folder",
        ) from exc
    return link


def names_home(folder: Path, home: Path) -> bool:
    """Return whether the link in a folder names this home, through symlinks or not."""
    try:
        link = read_link(folder)
    except (MulliganError, OSError):
        return False
    return link is not None and os.path.realpath(link.home) == os.path.realpath(home)


def read_record(home: Path) -> HomeRecord | None:
    """Return the record of a home; None where there is none that can be read."""
    try:
        return json.decode((home / RECORD).read_bytes(), type=HomeRecord)
    except (OSError, DecodeError):
        return None


def write_record(home: Path, record: HomeRecord) -> None:
    """Write the record of a home, durably."""
    with act("home.record"):
        _write(home, RECORD, json.encode(record), durable=True)


def write_link(folder: Path, link: HomeLink) -> None:
    """Make the small folder, which git does not see, and in it the link, in one move."""
    small = small_folder(folder)
    try:
        small.mkdir(mode=0o700)
    except FileExistsError:
        check_owner(small)
    if not (small / IGNORE).exists():  # before the link: git sees nothing of it at any instant
        _write(small, IGNORE, _IGNORE_ALL.encode(), durable=False)
    with act("home.link"):
        _write(small, LINK, json.encode(link), durable=True)
        sync_folder(folder)


def moves_of(record: HomeRecord, folder: Path, home: Path) -> tuple[tuple[str, str], ...]:
    """Return the former and present places of a project, the inner before the outer."""
    places = [(old, str(home)) for old in record.former_homes] + [
        (old, str(folder)) for old in record.former_folders
    ]
    return tuple(sorted(places, key=lambda pair: -len(pair[0])))


def check_owner(home: Path) -> None:
    """Refuse what belongs to another user."""
    owner = home.stat().st_uid
    if owner != os.geteuid():
        raise errors.ProjectForeign(path=str(home), owner=owner)


def _write(folder: Path, name: str, data: bytes, *, durable: bool) -> None:
    draft = folder / f"{name}.{os.urandom(4).hex()}.new"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.write(descriptor, data)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        draft.rename(folder / name)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(folder)
