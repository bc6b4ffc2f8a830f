"""A user who saves at a chosen instant while mulligan changes real files.

Every system call of Python that can change a tree raises an audit event right before it is made, the exchange of names
through ctypes included. A save happens at one of them: exactly what another process can do to a stopped one. It counts
as lost when its bytes are afterwards neither in the tree nor in a checkpoint.
"""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from mulligan.bootstrap.project import Project
from mulligan.errors import MulliganError

# Each changes a name, what is under it, or what can be known of it.
_EVENTS = frozenset(
    {
        "os.rename", "os.link", "os.symlink", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.utime",
        "os.setxattr", "os.truncate", "ctypes.call_function", "open",
    }
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_hook: Callable[[], None] | None = None


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if _hook is None or event not in _EVENTS:
        return
    if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
        return
    _hook()


sys.addaudithook(_audit)


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
        global _hook  # noqa: PLW0603 - audit hooks are for the whole process, and for good
        _hook = self._pass
        try:
            command()
        except MulliganError as exc:
            return exc
        finally:
            _hook = None
        return None

    def _pass(self) -> None:
        global _hook  # noqa: PLW0603 - what the save does is not an instant
        number, self.passed = self.passed, self.passed + 1
        if number == self._number:
            _hook = None
            self.saved = self._save()
            _hook = self._pass


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
