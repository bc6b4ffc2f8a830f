"""Second places for the objects that a sandbox borrows: folders of the project home, empty on disk.

Steps see the sandbox in the place of the real checkout, and with it the sandbox's own git directory in the place of
the user's. There the real objects are mounted at these places. All others find the objects under their own path, and
nothing at these places.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from mulligan.adapters.sandboxes.git.places.private_files import read_below, replace_below
from mulligan.adapters.sandboxes.git.repository.user_repository import quoted, unquoted
from mulligan.boundaries import act

ALTERNATES = "objects/info/alternates"  # in a git directory
_FOLDER = "lenders"
_PLACE = re.compile(rf".*/{_FOLDER}/[0-9a-f]{{16}}/objects")


def with_places(lenders: Sequence[Path], project_home: Path) -> list[Path]:
    """Return folders of objects, and then the second place of each, which is made."""
    return [*lenders, *(_made(each, project_home) for each in lenders)]


def lent_to(
    top: Path, git_dirs: Iterable[Path], lending: Iterable[Path], project_home: Path
) -> list[tuple[str, str]]:
    """Return what git directories in the sandbox `top` borrow, with the second places; they know these from here on.

    A plan can write anything into its lists: only folders of objects in `lending` count.
    """
    known = {folder.resolve(): folder for folder in lending if folder.is_dir()}
    found: dict[str, str] = {}
    for git_dir in git_dirs:
        alternates = f"{git_dir.relative_to(top)}/{ALTERNATES}"
        lines = os.fsdecode(read_below(top, alternates) or b"").splitlines()
        others = [line for line in lines if not _PLACE.fullmatch(unquoted(line))]
        named = [path for path in map(Path, map(unquoted, others)) if path.is_absolute()]
        lenders = {path: lender for path in named if (lender := known.get(path.resolve()))}
        wanted = [*others, *map(quoted, with_places([*lenders], project_home)[len(lenders) :])]
        if lines != wanted:  # it was made by an earlier version, or the project home lay elsewhere
            with act("home.follow"):
                replace_below(top, alternates, os.fsencode("".join(f"{line}\n" for line in wanted)))
        found |= {str(_place(path, project_home)): str(lender) for path, lender in lenders.items()}
    return [(lender, place) for place, lender in found.items()]


def _made(lender: Path, project_home: Path) -> Path:
    place = _place(lender, project_home)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def _place(lender: Path, project_home: Path) -> Path:
    name = hashlib.sha256(os.fsencode(lender)).hexdigest()[:16]
    return project_home / _FOLDER / name / "objects"
