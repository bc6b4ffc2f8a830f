"""The paths that a plan's tools may write, enforced with Landlock on Linux, and the writes that were stopped."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mulligan.adapters.tools.launcher import landlock
from mulligan.domain.resources.appearance import Appearance
from mulligan.domain.resources.bounds import Bounds
from mulligan.domain.resources.placement import lies_in
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import PlanId
from mulligan.errors import SystemFailed

DEVICES = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
    *("/dev/tty", "/dev/ptmx", "/dev/pts"),
)
_DENIED = re.compile(r"permission denied|\bEACCES\b", re.IGNORECASE)
_QUOTED = re.compile(r"""(?<!\w)'([^']+)'|"([^"]+)"|`([^`']+)['`]|‘([^’]+)’""")
_NAMED = re.compile(r"(?:^|[\s:=(])([^\s:='\"`,;()]*/[^\s:'\"`,;()]+)")
_LINES = 200  # of what a tool printed last, in which a complaint is looked for
_LINES_OF_ONE = 4  # that one complaint may take


class LandlockConfinement:
    """Draws the bounds of a plan: everything is refused that would open what mulligan itself keeps."""

    def __init__(
        self, *, kept: Sequence[Path], project: Path, scratch: Path, temporary: Sequence[Path], user: Path
    ) -> None:
        """`kept` is what no tool may write: the homes of projects, and the database wherever it is.

        `temporary` are the machine's folders for temporary files, first the one that programs use; `scratch`
        is where a plan's own is made, `user` the home folder that `~` means.
        """
        self._kept = [os.path.realpath(path) for path in kept]
        self._project = os.path.realpath(project)
        self._scratch = scratch
        self._temporary = [os.path.realpath(path) for path in temporary]
        self._user = user

    def lacking(self) -> str | None:
        return landlock.lacking()

    def opens_home(self, path: str) -> bool:
        real = self._real(path)
        return any(lies_in(kept, real) or lies_in(real, kept) for kept in self._kept)

    def opens_project(self, path: str) -> bool:
        return lies_in(self._project, self._real(path))

    def bounds(
        self,
        plan_id: PlanId,
        sandboxes: Sequence[Sandbox],
        besides: Sequence[str],
        appearance: Appearance | None,
    ) -> Bounds:
        """Return the bounds of the plan's tools; the temporary folder is made if it is missing."""
        listed = [self._real(path) for path in besides]
        temporary = [folder for folder in self._temporary if self._may_be_given(folder)]
        usual_one = bool(temporary) and temporary[0] == self._temporary[0]
        own = None if usual_one else self._own_temporary(plan_id)
        shown = [real for _, real in appearance.places] if appearance else []
        roots = [
            *shown,
            *_existing(roots_of(sandboxes)),
        ]  # where processes see them, and under their own paths
        others = _existing([*temporary, *filter(None, [own]), *DEVICES, *listed])
        # What lies in a sandbox is given with it; given again it could not be moved within.
        others = [path for path in others if not any(lies_in(path, root) for root in roots)]
        return Bounds(
            writable=(*roots, *others),
            sandboxes=tuple(roots),
            missing=tuple(path for path in listed if not os.path.exists(path)),
            temporary=own,
        )

    def stopped(self, complaint: str, folder: Path, bounds: Bounds) -> str | None:
        """The last path out of bounds that a tool was denied and the user would not have been."""
        for name in _denied_in(complaint.splitlines()[-_LINES:]):
            path = self._real(name if name.startswith("~") else os.path.join(folder, name))
            if not any(lies_in(path, each) for each in bounds.writable) and _user_may_write(path):
                return path
        return None

    def _may_be_given(self, folder: str) -> bool:
        return os.path.isdir(folder) and not self.opens_project(folder) and not self.opens_home(folder)

    def _own_temporary(self, plan_id: PlanId) -> str:
        """A folder for temporary files that only this plan's tools may write; it goes when work on the plan ends."""
        folder = self._scratch / plan_id / "tmp"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as exc:
            raise SystemFailed(path=str(folder), reason=exc.strerror or str(exc)) from exc
        return str(folder)

    def _real(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = str(self._user) + path[1:]
        return os.path.realpath(path)


def roots_of(sandboxes: Sequence[Sandbox]) -> list[str]:
    """Return the folders that sandboxes fill: of a file the one around it, which holds its sidecars too.

    Not that of a file inside another sandbox: it is in bounds already, and a tool may put a symlink there.
    """
    folders = [each.path for each in sandboxes if each.type.traits.is_folder]
    files = [each.path for each in sandboxes if each.type.traits.is_file]
    alone = [path for path in files if not any(lies_in(path, folder) for folder in folders)]
    return [*folders, *map(os.path.dirname, alone)]


def _existing(paths: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(os.path.realpath(path) for path in paths if os.path.exists(path)))


def _denied_in(lines: Sequence[str]) -> Iterator[str]:
    """Yield what may be paths in complaints of denied access, the last one first."""
    for number in reversed(range(len(lines))):
        if _DENIED.search(lines[number]):
            # npm names the error in one line and the path in one of the next.
            found = (_paths_in(line) for line in lines[number : number + _LINES_OF_ONE])
            yield from next(filter(None, found), ())


def _paths_in(line: str) -> list[str]:
    """Quoted ones first, each kind from the last one on."""
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(line)]
    named = [match.group(1) for match in _NAMED.finditer(line)]
    return [*reversed(quoted), *reversed(named)]


def _user_may_write(path: str) -> bool:
    """Return whether the bounds stopped it, rather than the user's own lack of permission."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK)
