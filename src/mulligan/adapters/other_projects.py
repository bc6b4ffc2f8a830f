"""Other projects around and inside a folder: who of them works in place there.

A plan keeps what it works on in place from its first step until it is applied or cancelled, across processes. So
nothing is marked or locked for that long: the rows of the other project say so, as long as it and its plan last.
"""

import fcntl
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.domain.text.ids import PlanId
from mulligan.errors import Advice, DatabaseUnusable, LockImpossible, NextStep, Refused
from mulligan.ports import Neighbour
from mulligan.rows.place_codec import Places
from mulligan.rows.sql_connection import SqlConnection
from mulligan.rows.tables.sandbox_rows import SandboxRepository

_LOCK = "in-place.lock"  # in a project home; a file, because on NFS a folder cannot be locked


class LocalNeighbours:
    """The projects whose folders lie around a location, or inside it: no other can have to do with it."""

    def __init__(
        self,
        *,
        project: Path,
        home_of: Callable[[Path], Path | None],
        read: Callable[[Path], tuple[SqlConnection, Places] | None],
    ) -> None:
        """Take the folder of this project, and for another one ways to its home and its database, if it has them.

        What paths in its rows are relative to comes with the connection.
        """
        self._project = project.resolve()
        self._home_of = home_of
        self._read = read

    def at_work(self, location: Path, inside: Iterable[Path] | None = None) -> Neighbour | None:
        """A plan of another project that works in place there, on a folder inside, or on one around."""
        below = _inside(location) if inside is None else _projects_among(inside, location)
        for project in (*self._around(location), *below):
            if project != self._project and self._own_home(project) is not None:
                for plan_id, path in self._in_place(project):
                    if _lie_together(location, Path(path)):
                        return Neighbour(project=project, plan_id=plan_id, path=path)
        return None

    @contextmanager
    def hold(self, locations: Iterable[Path]) -> Generator[None]:
        """Keep those who may come to work there from starting meanwhile: of any two one lies around the other."""
        projects = {project for location in locations for project in self._around(location)}
        with ExitStack() as held:
            for project in sorted(projects, key=lambda each: len(each.parts)):  # all in the same order
                home = self._own_home(project)
                if home is None:
                    continue
                lock = home / _LOCK
                try:
                    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                    held.callback(os.close, fd)
                    fcntl.flock(fd, fcntl.LOCK_EX)
                except OSError as exc:
                    raise LockImpossible(path=str(lock), reason=exc.strerror or str(exc)) from exc
            yield

    def _in_place(self, project: Path) -> Sequence[tuple[PlanId, str]]:
        try:
            found = self._read(project)
            if found is None:
                return []
            connection, places = found
            with closing(connection):
                return SandboxRepository(connection, places).at_work_in_place()
        except DatabaseUnusable as exc:
            raise DatabaseUnusable(
                database=exc.facts["database"],
                reason=f"mulligan cannot read what its plans work on in place: {exc.facts['reason']}",
                hint=Advice(
                    "see ", NextStep("doctor", project=str(project)), "; or move its project home away"
                ),
            ) from exc

    def _around(self, location: Path) -> list[Path]:
        return [folder for folder in (location, *location.parents) if self._own_home(folder) is not None]

    def _own_home(self, project: Path) -> Path | None:
        """Return the home of a folder, if it is a project of this user: those of others cannot be read.

        A copy of a project has none: its rows are those of the original.
        """
        try:
            return self._home_of(project)
        except Refused:
            return None


def _projects_among(folders: Iterable[Path], location: Path) -> Iterator[Path]:
    """The same, of folders below that are known."""
    for folder in folders:
        home = folder / PROJECT_HOME
        if folder != location and home.is_dir() and not home.is_symlink():
            yield folder


def _inside(location: Path) -> Iterator[Path]:
    """Projects in folders below; no symlink is followed."""
    pending = [str(location)]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:  # what may not be read is not restored
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    continue
                if entry.name != PROJECT_HOME:
                    pending.append(entry.path)
                elif (folder := Path(entry.path).parent) != location:
                    yield folder


def _lie_together(one: Path, other: Path) -> bool:
    """Return whether one is the other, or inside it, under any name: a folder may be mounted twice."""
    first, second = _identities(one), _identities(other)
    return bool(first and second) and (first[0] in second or second[0] in first)


def _identities(path: Path) -> list[tuple[int, int]]:
    """The device and inode of a place and of all folders around it; none where it is gone."""
    try:
        stats = [each.lstat() for each in (path, *path.parents)]
    except OSError:
        return []
    return [(st.st_dev, st.st_ino) for st in stats]
