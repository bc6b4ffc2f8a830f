"""Making project homes, and tying them to their folders: the small folder, the index, the record of a moved project.

A crash at any instant leaves a home that the next command finds and completes: the record comes first, then the index,
and the small folder last.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.adapters.homes.folder_identity import identity_of, mount_of
from mulligan.adapters.homes.home_adoption import Adoption, held_open
from mulligan.adapters.homes.home_index import MARK, PART, HomeIndex
from mulligan.adapters.homes.home_link import (
    HomeLink,
    HomeRecord,
    check_owner,
    is_in_a_step,
    moves_of,
    read_link,
    read_record,
    small_folder,
    write_link,
    write_record,
)
from mulligan.adapters.homes.home_search import (
    ProjectPlace,
    Standing,
    had_home_inside,
    place_of,
    refuse_sandbox,
    refuse_symlink,
    standing_of,
)
from mulligan.adapters.homes.tree_copy import remove_folder
from mulligan.boundaries import act
from mulligan.errors import (
    Advice,
    LockImpossible,
    NextStep,
    ProjectCopied,
    ProjectHomeMissing,
    ProjectUncertain,
    ProjectUnusable,
    SystemFailed,
)
from mulligan.osfiles.folders import make_private_folder, sync_folder

_LOCK = "moves.lock"  # in the folder of all homes: one process at a time makes or moves one
# Old and new places, by which what a home keeps of git has to follow.
Follow = Callable[[Path, tuple[tuple[str, str], ...]], None]
_DOUBTS = (ProjectCopied, ProjectHomeMissing, ProjectUncertain)


class HomeKeeper(Struct, frozen=True, eq=False, kw_only=True):
    """Makes homes and keeps folders and homes tied together."""

    index: HomeIndex
    follow: Follow
    recorded_folder: Callable[
        [Path], str | None
    ]  # the project folder that a database of an earlier version names
    reserved: Callable[[Path], str]  # why a folder cannot become a project; empty: it can
    is_tracked: Callable[[Path], bool]  # whether git tracks something in a folder: it came with a checkout
    drop_settings: Callable[
        [Path, Path], tuple[str, ...]
    ]  # drops what only the user may set in a home, of that folder; returns notes

    def plan_for(self, folder: Path, home: Path | None) -> ProjectPlace:
        """Return the place of a project that is yet to be made; refuse a folder that can have none."""
        refuse_sandbox(folder)
        small = small_folder(folder)
        if (reason := self.reserved(folder)) and not os.path.lexists(small):
            raise ProjectUnusable(
                path=str(folder), reason=reason, hint="change to the folder that plans should work on"
            )
        if not folder.is_dir():
            there = os.path.lexists(folder)
            raise ProjectUnusable(
                path=str(small),
                reason=f"{folder} {'is not a folder' if there else 'does not exist'}",
                hint="name a folder" if there else f"make the folder first: `mkdir -p {folder}`",
            )
        try:
            str(folder).encode()
        except UnicodeEncodeError as exc:
            raise ProjectUnusable(path=repr(str(folder)), reason="its name is not UTF-8 text") from exc
        refuse_symlink(small)
        if small.is_symlink() or (small.exists() and not small.is_dir()):
            raise ProjectUnusable(path=str(small), reason="there is something that is not a folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise SystemFailed(path=str(small), reason=os.strerror(errno.EACCES))
        self._refuse_nested(folder, home or self.index.root)
        if home is not None and home.name.endswith(PART):
            raise ProjectUnusable(
                path=str(home),
                reason=f"names that end in {PART} are those of homes that are being copied",
                hint=Advice("name another one: ", NextStep("init", path=str(folder), home=...)),
            )
        return ProjectPlace(folder=folder, home=home or self.index.new_home(folder), standing=Standing.NEW)

    def make(self, folder: Path, home: Path | None, *, fresh: bool) -> tuple[ProjectPlace, bool]:
        """Make the home of a folder, or settle the one that it has; return whether it is new.

        `home` names the place of a new one, or of one that was moved. With `fresh` the folder gets a new one whatever
        it names; the other stays as it is.
        """
        planned = self.plan_for(folder, home)
        try:
            found = None if fresh else place_of(folder, self.index)
        except _DOUBTS:
            if home is None:
                raise
            found = None
        if found is not None and (home is None or home == found.home):
            return self.settle(found), False
        if found is not None and found.standing is not Standing.INSIDE:
            raise ProjectUnusable(
                path=str(home),
                reason=f"{folder} has a project home already: {found.home}",
                hint=f"move it there while nothing runs: `mv {found.home} {home}`, then repeat the command",
            )
        with self.alone(), self._translated(planned.home):
            if not fresh and home is not None and (record := read_record(home)) is not None:
                return self._taken_up(folder, home, record), False
            if found is not None:
                return self._adopted(found, planned.home), False
            if fresh:
                self._set_aside(folder)
            return self._made(planned), True

    def take_in(
        self,
        folder: Path,
        home: Path | None,
        unpack: Callable[[Path], HomeRecord],
        prepare: Callable[[Path], None],
    ) -> ProjectPlace:
        """Make the home of a folder from what `unpack` writes into a new folder; refuse one that has a home.

        `unpack` returns the record that came with it. `prepare` gets the folder once all in it names the new places.
        """
        planned = self.plan_for(folder, home)
        if (found := place_of(folder, self.index)) is not None:
            raise ProjectUnusable(
                path=str(planned.home),
                reason=f"{folder} has a project home already: {found.home}",
                hint="import it into another folder",
            )
        with self.alone(), self._translated(planned.home):
            self._refuse_full(planned.home)
            part = planned.home.with_name(f".{planned.home.name}.{os.urandom(8).hex()}{PART}")
            planned.home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                came = unpack(part)
                record = replace(
                    self._record(folder),
                    former_folders=_added(came.former_folders, came.folder, str(folder)),
                    former_homes=_added(came.former_homes, str(planned.home)),
                )
                with act("home.follow"):
                    self.follow(part, moves_of(record, folder, planned.home))
                prepare(part)
                write_record(part, record)
            except BaseException:
                if part.exists():
                    remove_folder(part)
                raise
            with act("home.move"):
                part.rename(planned.home)
                sync_folder(planned.home.parent)
            (planned.home / MARK).unlink(missing_ok=True)
            return self._tied(planned)

    def settle(self, place: ProjectPlace) -> ProjectPlace:
        """Write down what a search found, so that the next one is short; return where the home is then."""
        if place.standing is Standing.SETTLED:
            return place
        if place.standing is Standing.UNLINKED:
            with suppress(
                OSError
            ):  # a folder that cannot be written: the next command finds the home in the same way
                self._tie(place.folder, place.home)
            return place
        with self.alone(), self._translated(place.home):
            again = place if place.standing is Standing.NEW else place_of(place.folder, self.index)
            if again is None or again.standing is Standing.NEW:
                found = place_of(place.folder, self.index)  # another process was faster
                return found if found is not None else self._made(place)
            if again.standing is Standing.INSIDE:
                return self._adopted(again, self._noted_or_new(again.folder))
            if again.standing is Standing.COPIED:
                again = Adoption(again.folder, again.home.with_suffix("")).named(again.home)
                return self._tied(again)
            if again.standing is Standing.MOVED:
                return self._moved(again)
            return self._tied(again)

    def _made(self, place: ProjectPlace) -> ProjectPlace:
        home = place.home
        make_private_folder(self.index.root)
        self._refuse_full(home)
        with act("home.make"):
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with act("home.sync"):  # a new home outlasts a power cut, with all that is made durable in it
            sync_folder(home.parent)
        record = self._record(place.folder)
        write_record(home, record)
        return self._tied(place)

    def _refuse_full(self, home: Path) -> None:
        """Refuse a place for a home that holds something else."""
        if os.path.lexists(home) and not (home.is_dir() and not any(home.iterdir())):
            raise ProjectUnusable(path=str(home), reason="it is not empty, and it is not a project home")

    def _tied(self, place: ProjectPlace) -> ProjectPlace:
        self._tie(place.folder, place.home)
        record, now = read_record(place.home), identity_of(place.folder)
        if record is not None and now is not None and not record.identity.matches(now):
            # An overlay makes a folder again when something is first written in it, with another time of birth.
            write_record(place.home, replace(record, identity=now))
        return replace(place, standing=Standing.SETTLED)

    def _tie(self, folder: Path, home: Path) -> None:
        """Note in the index and in the folder where the home is; in the index first, which git does not clean."""
        if self.index.lookup(folder) != home:
            self.index.note(folder, home)
        link = HomeLink(home=str(home), folder=str(folder), identity=self._record(folder).identity)
        write_link(folder, link)

    def _record(self, folder: Path) -> HomeRecord:
        identity = identity_of(folder)
        if identity is None:
            raise SystemFailed(path=str(folder), reason="it went away")
        return HomeRecord(folder=str(folder), identity=identity, mount=mount_of(folder))

    def _moved(self, place: ProjectPlace) -> ProjectPlace:
        """Let a home follow its project: first what git keeps in it, then its record, the index and the folder."""
        record = read_record(place.home)
        assert record is not None, "it was read before"
        return self._taken_up(place.folder, place.home, record)

    def _taken_up(self, folder: Path, home: Path, record: HomeRecord) -> ProjectPlace:
        """Tie a folder to a home that has a record already; refuse where another folder is its original."""
        check_owner(home)
        if record.folder != str(folder):
            standing_of(folder, home, record)
        link = read_link(folder)
        moved_home = () if link is None or link.home == str(home) else (link.home,)
        renewed = replace(
            self._record(folder),
            former_folders=_added(record.former_folders, record.folder, str(folder)),
            former_homes=_added(record.former_homes, *moved_home, str(home)),
        )
        with act("home.follow"):
            self.follow(home, moves_of(renewed, folder, home))
        write_record(home, renewed)
        place = self._tied(ProjectPlace(folder=folder, home=home, standing=Standing.SETTLED))
        if record.folder != str(folder):
            self.index.forget(Path(record.folder), home)
        return place

    def _adopted(self, place: ProjectPlace, home: Path) -> ProjectPlace:
        """Move a home of an earlier version out of the project folder; while plans run there, it stays."""
        if self.is_tracked(place.home):
            raise ProjectUnusable(
                path=str(place.home),
                reason="git tracks files in it, so it came with the checkout",
                hint=Advice("begin without it: ", NextStep("init", path=str(place.folder), fresh=True)),
            )
        recorded = self.recorded_folder(place.home) or str(place.folder)
        original = Path(recorded)
        if recorded != str(place.folder) and had_home_inside(original):
            raise ProjectCopied(path=str(place.folder), original=recorded, home=str(small_folder(original)))
        adoption = Adoption(place.folder, home)
        notes = self.drop_settings(place.home, place.folder)
        with held_open(place.home) as at_rest:
            if not at_rest:
                return replace(place, notes=notes)
            record = replace(
                self._record(place.folder),
                former_folders=_added((), recorded, str(place.folder)),
                former_homes=_added((), f"{recorded}/{place.home.name}", str(home)),
            )
            make_private_folder(self.index.root)
            self.index.note(place.folder, home)
            moves = moves_of(record, place.folder, home)
            moved = adoption.run(record, lambda new: self.follow(new, moves))
            return replace(self._tied(moved), notes=notes)

    def _noted_or_new(self, folder: Path) -> Path:
        """Return where an earlier attempt was about to put the home, or a new place."""
        noted = self.index.lookup(folder)
        return noted if noted is not None and not noted.exists() else self.index.new_home(folder)

    def _set_aside(self, folder: Path) -> None:
        """Take a copied home of an earlier version out of a folder: it becomes a home without a folder."""
        small = small_folder(folder)
        if (
            small.is_dir()
            and read_link(folder) is None
            and any(small.iterdir())
            and not self.is_tracked(small)
        ):
            home = self.index.new_home(folder)
            adoption = Adoption(folder, home)
            make_private_folder(self.index.root)
            record = replace(self._record(folder), folder="")
            adoption.run(record, lambda _: None)

    def _refuse_nested(self, folder: Path, root: Path) -> None:
        """Refuse homes inside the project folder, which would be part of its own checkpoints, and the opposite."""
        real, homes = folder.resolve(), Path(os.path.realpath(root))
        named = Path(os.path.normpath(root.absolute()))
        # A symlink in the project folder may lead out of it, but it comes and goes with the folder.
        if any(Path(os.path.realpath(each)).is_relative_to(real) for each in (named, *named.parents)):
            raise ProjectUnusable(
                path=str(root),
                reason=f"it is inside the project folder {folder}",
                hint="set MULLIGAN_HOME to a folder outside of it",
            )
        if real.is_relative_to(homes):
            raise ProjectUnusable(path=str(folder), reason=f"it is inside {root}, where project homes are")

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep other processes from making or moving homes meanwhile."""
        file = self.index.root / _LOCK
        try:
            make_private_folder(self.index.root)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise self._unusable(self.index.root, exc) from exc
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            except OSError as exc:
                raise LockImpossible(path=str(file), reason=exc.strerror or str(exc)) from exc
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _translated(self, home: Path) -> Generator[None]:
        try:
            yield
        except OSError as exc:
            raise self._unusable(home, exc) from exc

    def _unusable(self, home: Path, exc: OSError) -> ProjectUnusable | SystemFailed:
        reason, path = exc.strerror or str(exc), Path(str(exc.filename or home))
        closed = exc.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
        if closed and is_in_a_step():
            return ProjectUnusable(
                path=str(path),
                reason="a step of a plan may not write there",
                hint="run mulligan outside of the plan's steps",
            )
        if closed and (path == home or path.is_relative_to(self.index.root)):
            return ProjectUnusable(
                path=str(path),
                reason=reason,
                hint="set MULLIGAN_HOME to a folder that you may write, which then holds the homes of all projects",
            )
        return SystemFailed(path=str(path), reason=reason)


def _added(known: tuple[str, ...], *places: str) -> tuple[str, ...]:
    """Add former places; the last one named is the present, which is not one of them."""
    *former, present = places
    return tuple(dict.fromkeys(each for each in (*known, *former) if each not in (present, "")))
