"""Paths inside a sandbox, resolved so that nothing in it can lead outside.

Every folder on the way is opened relative to the one before it and never through a symlink; symlinks are
read and followed by hand. The result is the descriptor of the last folder and a name in it. A folder that a
process swaps for a symlink meanwhile cannot be entered.
"""

import errno
import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.errors import PathEscapes, PathReserved

MOST_SYMLINKS = 40  # as the kernel has it
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class Place(Struct, frozen=True):
    """A name in an open folder of the sandbox; it need not exist."""

    folder: int  # descriptor, open as long as the sandbox is
    name: str

    def stat(self) -> os.stat_result | None:
        """Return the stat of the entry, symlinks not followed; None if there is none."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None


class OpenSandbox:
    """A sandbox whose root is held open, to find paths in it."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self._stack = stack
        self._root = self._keep(os.open(root, _FOLDER & ~os.O_NOFOLLOW))

    def find(self, path: str, *, follow: bool, make_parents: bool) -> Place:
        """Return the place a path means, or raise PathEscapes.

        `follow`: a symlink at its end means what it points to. `make_parents`: missing folders on the way
        are made. OSError when something on the way is missing or is not a folder.
        """
        entered = [self._root]
        ahead = _names(path, path)
        symlinks = 0
        while ahead:
            name = ahead.pop(0)
            if name == "..":
                if len(entered) == 1:
                    raise PathEscapes(path=path)
                entered.pop()
            elif (ahead or follow) and (target := _target(entered[-1], name)) is not None:
                symlinks += 1
                if symlinks > MOST_SYMLINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                ahead = _names(target, path) + ahead
            elif ahead:
                entered.append(self._enter(entered[-1], name, make=make_parents))
            else:
                return Place(entered[-1], name)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)

    def _enter(self, folder: int, name: str, *, make: bool) -> int:
        try:
            return self._keep(os.open(name, _FOLDER, dir_fd=folder))
        except FileNotFoundError:
            if not make:
                raise
        with suppress(FileExistsError):  # someone was faster: what it is, is seen when it is entered
            os.mkdir(name, dir_fd=folder)
        return self._enter(folder, name, make=False)

    def _keep(self, descriptor: int) -> int:
        self._stack.callback(os.close, descriptor)
        return descriptor


@contextmanager
def open_sandbox(root: Path) -> Generator[OpenSandbox]:
    """Hold a sandbox open."""
    with ExitStack() as stack:
        yield OpenSandbox(root, stack)


def _names(path: str, whole: str) -> list[str]:
    """Divide a path, or a symlink's target on the way of the whole path."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError as exc:
        raise PathEscapes(path=whole) from exc
    if not path or path.startswith("/") or "\0" in path:
        raise PathEscapes(path=whole)
    names = [name for name in path.split("/") if name not in ("", ".")]
    if any(name.casefold() == PROJECT_HOME for name in names):
        raise PathReserved(path=whole)
    return names


def _target(folder: int, name: str) -> str | None:
    """Return the target of the symlink of that name; None for anything else."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return None
