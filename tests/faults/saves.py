"""A user who saves at a chosen instant while mulligan changes real files.

Instants lie before every system call that looks at a tree or changes one, and around every exchange of names. A save
happens at one of them: exactly what another process can do while this one is stopped there. It counts as lost when its
bytes are afterwards neither in the tree nor in a checkpoint.
"""

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import BuiltinFunctionType, FrameType
from typing import TypeVar

from mulligan.api.project import Project
from mulligan.errors import MulliganError

T = TypeVar("T")
SAMPLE = int(os.environ.get("MULLIGAN_TEST_SAVES", "20"))  # saves for each command
_CALLS = frozenset(
    {
        "chmod", "chown", "close", "fchmod", "fcntl", "fstat", "fsync", "link", "listdir", "mkdir", "open", "readlink",
        "rename", "rmdir", "scandir", "setxattr", "stat", "symlink", "unlink", "utime", "walk", "write",
    }
)  # fmt: skip
_PLACES = ("mulligan/adapters/snapshots/", "mulligan/adapters/sandboxes/", "mulligan/osfiles/moves.py")
_EXCHANGE = "_renameat2"  # the call goes through ctypes, of which a profiler sees nothing


class Instants:
    """Counts the instants of a command, and saves at one of them."""

    def __init__(self, number: int, save: Callable[[], bool]) -> None:
        """Save at the instant of that number, at none with a negative one; `save` returns whether it could."""
        self._number = number
        self._save = save
        self.passed = 0
        self.saved = False

    def during(self, command: Callable[[], object]) -> MulliganError | None:
        """Run the command; return the error with which it ended."""
        sys.setprofile(self._look)
        try:
            command()
        except MulliganError as exc:
            return exc
        finally:
            sys.setprofile(None)
        return None

    def _look(self, frame: FrameType, event: str, called: object) -> None:
        code = frame.f_code
        if event in ("call", "return"):
            passes = code.co_name == _EXCHANGE
        else:
            called_here = (
                event == "c_call" and isinstance(called, BuiltinFunctionType) and called.__name__ in _CALLS
            )
            passes = called_here and any(place in code.co_filename for place in _PLACES)
        if passes:
            self._pass()

    def _pass(self) -> None:
        number, self.passed = self.passed, self.passed + 1
        if number == self._number:
            sys.setprofile(None)  # what the save does is not an instant
            self.saved = self._save()
            sys.setprofile(self._look)


def edit_in_place(path: Path, data: bytes) -> None:
    """Write over a file, as `echo > file` does."""
    path.write_bytes(data)


def save_by_rename(path: Path, data: bytes) -> None:
    """Write a new file and rename it over the old one, as editors do."""
    draft = path.with_name(path.name + "~")
    draft.write_bytes(data)
    draft.rename(path)


def delete(path: Path, data: bytes) -> None:
    """Delete a file."""
    path.unlink()


def new_in_folder(path: Path, data: bytes) -> None:
    """Put a new file into the folder around a path."""
    (path.parent / "mine").write_bytes(data)


SAVES: dict[str, Callable[[Path, bytes], None]] = {
    "edit in place": edit_in_place,
    "save by rename": save_by_rename,
    "delete": delete,
    "new file in the folder": new_in_folder,
}


def saving(kind: str, path: Path, data: bytes) -> Callable[[], bool]:
    """What saves in that way; it returns False where the file or its folder is not there at that instant."""

    def save() -> bool:
        try:
            SAVES[kind](path, data)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    return save


def chosen(trials: Iterable[T], share: int = 1) -> list[T]:
    """A seeded sample, the same in each run; of as many as MULLIGAN_TEST_SAVES says, or of a share of that."""
    found = list(trials)
    return random.Random(7).sample(found, min(SAMPLE // share, len(found)))


def holds(folder: Path, data: bytes) -> bool:
    """Tell whether some file below a folder holds these bytes."""
    return any(
        path.is_file() and not path.is_symlink() and path.read_bytes() == data for path in folder.rglob("*")
    )


def in_a_checkpoint(project: Project, plan: str, data: bytes, scratch: Path) -> bool:
    """Tell whether some checkpoint of the plan holds a file with these bytes."""
    shutil.rmtree(scratch, ignore_errors=True)
    for checkpoint in project.checkpoints.list(plan, superseded=True):
        target = scratch / checkpoint.checkpoint_id
        project.checkpoints.restore(checkpoint.checkpoint_id, target)
        if holds(target, data):
            return True
    return False
