"""Sandboxes in the places of the real resources: the mounts that it takes, and whether the system makes them."""

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.tools.launcher.namespace import Unseen
from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.process.launcher_client import PROGRAMS
from mulligan.adapters.tools.process.mount_table import other_ways_to
from mulligan.adapters.tools.process.ways_back import ways_back
from mulligan.domain.resources.appearance import Appearance, Mount
from mulligan.domain.resources.placement import PROJECT_HOME, lies_in
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.errors import RealPathImpossible, SystemFailed

_TRIAL = PlanId("trial")  # of a launcher that runs nothing
_IGNORE_ALL = "*\n"
_NOTHING = "/dev/null"
_BUSY_LIMIT = "the limit on namespaces is reached (`user.max_user_namespaces`, `user.max_mnt_namespaces`)"


class MountedPlaces(Struct, frozen=True, eq=False, kw_only=True):
    """Shows sandboxes in a mount namespace of each launcher."""

    find_launchers: Callable[[], Launchers]
    home: Path  # of the project
    sandbox_home: Path
    scratch: Path  # where calls put files

    def lacking(self) -> str | None:
        """Return why this system cannot show them; None where it can."""
        if not sys.platform.startswith("linux"):
            return f"that takes mount namespaces, which Linux has, and this is {sys.platform}"
        nothing = Appearance(places=(), mounts=())
        refused = self.find_launchers().try_to_appear(_TRIAL, nothing)
        self.find_launchers().forget(_TRIAL)
        return None if refused is None else _why_not(refused)

    def show(self, sandboxes: Sequence[Sandbox], lenders: Sequence[tuple[str, str]]) -> Appearance:
        """Return the appearance of a plan's sandboxes; a launcher that has it is kept for the plan's first command."""
        if not sys.platform.startswith("linux"):
            raise RealPathImpossible(reason=self.lacking())
        appearance = self.plan(sandboxes, lenders)
        refused = self.find_launchers().try_to_appear(sandboxes[0].plan_id, appearance)
        if refused is not None:
            raise RealPathImpossible(reason=_why_not(refused))
        return appearance

    def ways_back(self, sandboxes: Sequence[Sandbox]) -> Sequence[str]:
        """Return what leads processes of sandboxes to the real resources."""
        environment = self.find_launchers().environment
        return [text for s in sandboxes if _is_folder(s) for text in ways_back(s, environment)]

    def plan(self, sandboxes: Sequence[Sandbox], lenders: Sequence[tuple[str, str]]) -> Appearance:
        """Return the mounts, in their order, and prepare the folders that they need."""
        places = [(each.path, os.path.realpath(each.location)) for each in sandboxes if _is_folder(each)]
        alone = [each for each in sandboxes if _lies_alone(each, places)]
        for own, real in places:
            if not os.path.isdir(real):
                raise RealPathImpossible(reason=f"there is no folder {real}")
            self._require_program(own, real)
        ways = [(_source(own, inside, at), at) for own, real in places for at, inside in other_ways_to(real)]
        elsewhere = [(source, at) for source, at in ways if source is not None]
        mounts = [Mount("clone", own, real) for own, real in (*places, *elsewhere)]
        mounts += self._covers([at for source, at in ways if source is None], [at.target for at in mounts])
        try:
            around = self._home_mounts(places, sandboxes[0].plan_id)
            mounts += [*around, *self._lender_mounts(places, lenders)]
            mounts += [Mount("seal", "", around[0].target)] if around else []
        except OSError as exc:
            raise SystemFailed(path=exc.filename or str(self.home), reason=exc.strerror or str(exc)) from exc
        # One that the plan is to make has no place yet: processes find it under its own path only.
        databases = [(each.path, os.path.realpath(each.location)) for each in alone]
        mounts += [Mount("link", own, real) for own, real in databases if os.path.isfile(real)]
        return Appearance(places=(*places, *elsewhere), mounts=tuple(mounts))

    def _require_program(self, own: str, real: str) -> None:
        """Refuse a sandbox in which this program would not be found in the place where it is now."""
        for path in (self.find_launchers().python, PROGRAMS):
            if lies_in(path, real) and not os.path.exists(own + path[len(real) :]):
                raise _left_out(path)

    def _covers(self, ways: Sequence[str], hidden: Sequence[str]) -> Iterator[Mount]:
        """Cover other ways to parts of a real folder that the sandbox does not have; some are `hidden` already."""
        for path in ways:
            if any(lies_in(path, target) for target in hidden) or lies_in(os.path.realpath(self.home), path):
                continue
            if any(lies_in(each, path) for each in (self.find_launchers().python, PROGRAMS)):
                raise _left_out(path)
            if os.path.isdir(path):
                yield from (Mount("tmpfs", "", path), Mount("seal", "", path))
            else:
                yield Mount("keep", _NOTHING, path)

    def _home_mounts(self, places: Sequence[tuple[str, str]], plan_id: PlanId) -> list[Mount]:
        """Keep what processes need of a project home that a sandbox hides; its other files stay hidden.

        All of it is read-only but for the temporary folder: Landlock lets processes write here, as everywhere in the
        sandbox around it.
        """
        home = os.path.realpath(self.home)
        hidden = next(((own, real) for own, real in places if lies_in(home, real)), None)
        if hidden is None:
            return []
        own, real = hidden
        if home[len(real) :].split("/")[1] != PROJECT_HOME:  # no snapshot holds a folder of this name
            raise RealPathImpossible(reason=f"the project home {home} lies in {real}")
        _make_quietly(os.path.join(own, PROJECT_HOME))
        temporary = self.scratch / plan_id / "tmp"
        temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
        top = os.path.join(real, PROJECT_HOME)
        mounts = [Mount("tmpfs", "", top), Mount("text", _IGNORE_ALL, os.path.join(top, ".gitignore"))]
        kept = (("keep", self.sandbox_home / plan_id), ("keep", self.scratch), ("clone", temporary))
        for verb, path in ((verb, os.path.realpath(folder)) for verb, folder in kept):
            mounts += [Mount("mkdir", "", path), Mount(verb, path, path)]
        return mounts

    def _lender_mounts(
        self, places: Sequence[tuple[str, str]], lenders: Sequence[tuple[str, str]]
    ) -> Iterator[Mount]:
        """Show the real objects that sandboxes borrow, which are hidden, at their second places."""
        for lender, second in lenders:
            folder, place = os.path.realpath(lender), os.path.realpath(second)
            if any(lies_in(folder, real) for _, real in places):
                yield from self._shown_at(folder, place)
                listed = os.path.join("info", "alternates")
                if os.path.isfile(os.path.join(folder, listed)):  # the sandbox lists all that are in there
                    yield Mount("keep", _NOTHING, os.path.join(place, listed))
                large = os.path.join(os.path.dirname(folder), "lfs")  # where git-lfs looks for its own
                if os.path.isdir(large):
                    yield from self._shown_at(large, os.path.join(os.path.dirname(place), "lfs"))

    def _shown_at(self, folder: str, place: str) -> Iterator[Mount]:
        os.makedirs(place, mode=0o700, exist_ok=True)  # on disk, and again where the project home is hidden
        yield Mount("mkdir", "", place)
        yield Mount("keep", folder, place)


def _why_not(refused: Unseen) -> str:
    if refused.number == errno.ENOSYS:
        return "this kernel cannot (Linux 5.12 and later can)"
    if refused.number == errno.ENOSPC:
        return f"the system refuses {refused.part}: {_BUSY_LIMIT}"
    return f"the system refuses {refused.part}: {os.strerror(refused.number)}"


def _left_out(program: str) -> RealPathImpossible:
    return RealPathImpossible(
        reason=f"mulligan itself is installed there ({program}), and the sandbox leaves that out",
        hint="set `sandbox.include-ignored` to `true`, or install mulligan in another place",
    )


def _source(own: str, inside: str, path: str) -> str | None:
    """Return what of a sandbox is shown at another path of the real folder; None where it has no such thing.

    A symlink that a step put there, or on the way, shows nothing: it may lead back.
    """
    source = os.path.join(own, inside) if inside else own
    is_own = os.path.realpath(source) == os.path.join(os.path.realpath(own), inside).rstrip("/")
    same = os.path.lexists(source) and os.path.isdir(source) == os.path.isdir(path)
    return source if is_own and same else None


def _is_folder(sandbox: Sandbox) -> bool:
    return sandbox.type.traits.is_folder and sandbox.strategy is not Strategy.IN_PLACE


def _lies_alone(sandbox: Sandbox, places: Sequence[tuple[str, str]]) -> bool:
    """Return whether a sandbox is a file in no folder of another: with that folder it appears anyway."""
    return (
        sandbox.type.traits.is_file
        and sandbox.strategy is not Strategy.IN_PLACE
        and not any(lies_in(sandbox.path, own) for own, _ in places)
    )


def _make_quietly(folder: str) -> None:
    """Make a folder that belongs to no snapshot; the time of the folder around it stays."""
    if not os.path.isdir(folder):
        around = os.stat(os.path.dirname(folder))
        os.mkdir(folder, 0o700)
        os.utime(os.path.dirname(folder), ns=(around.st_atime_ns, around.st_mtime_ns))
