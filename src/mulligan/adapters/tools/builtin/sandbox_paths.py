"""Paths inside a sandbox, resolved so that nothing in it can lead outside.

Every folder on the way is opened relative to the one before it and never through a symlink; symlinks are
read and followed by hand. The result is the descriptor of the last folder and a name in it. A process that
swaps a folder for a symlink meanwhile changes nothing: no path is ever looked up twice.
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
        self.root = self._keep(os.open(root, _FOLDER & ~os.O_NOFOLLOW))

    def find(self, path: str, *, follow: bool, make_parents: bool) -> Place:
        """The place a path means, or PathEscapes.

        `follow`: a symlink at its end means what it points to. `make_parents`: missing folders on the way
        are made. OSError when something on the way is missing or no folder.
        """
        return _Walk(self, path, make_parents=make_parents).to_end(follow=follow)

    def enter(self, folder: int, name: str) -> int:
        """Descriptor of a folder in a folder; OSError when it is a symlink or anything else."""
        return self._keep(os.open(name, _FOLDER, dir_fd=folder))

    def _keep(self, descriptor: int) -> int:
        self._stack.callback(os.close, descriptor)
        return descriptor


@contextmanager
def open_sandbox(root: Path) -> Generator[OpenSandbox]:
    """Hold a sandbox open."""
    with ExitStack() as stack:
        yield OpenSandbox(root, stack)


class _Walk:
    """One path being followed: the folders entered, and the names still to go."""

    def __init__(self, sandbox: OpenSandbox, path: str, *, make_parents: bool) -> None:
        self._sandbox = sandbox
        self._path = path
        self._make_parents = make_parents
        self._entered = [sandbox.root]
        self._symlinks = 0
        try:
            os.fsencode(path)
        except UnicodeEncodeError as exc:
            raise PathEscapes(path=path) from exc
        self._ahead = self._names(path)

    def to_end(self, *, follow: bool) -> Place:
        """Go on until one name is left."""
        while self._ahead:
            name = self._ahead.pop(0)
            if name == "..":
                self._leave()
            elif self._ahead or (follow and self._target(name) is not None):
                self._enter(name, make=self._make_parents)
            else:
                return Place(self._entered[-1], name)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self._path)

    def _names(self, path: str) -> list[str]:
        if not path or path.startswith("/") or "\0" in path:
            raise PathEscapes(path=self._path)
        names = [name for name in path.split("/") if name not in ("", ".")]
        if any(name.casefold() == PROJECT_HOME for name in names):
            raise PathReserved(path=self._path)
        return names

    def _leave(self) -> None:
        if len(self._entered) == 1:
            raise PathEscapes(path=self._path)
        self._entered.pop()

    def _enter(self, name: str, *, make: bool) -> None:
        folder = self._entered[-1]
        try:
            self._entered.append(self._sandbox.enter(folder, name))
        except FileNotFoundError:
            if not make:
                raise
            with suppress(FileExistsError):  # someone was faster: what it is, is seen when it is entered
                os.mkdir(name, dir_fd=folder)
            self._enter(name, make=False)
        except OSError as exc:
            target = self._target(name)
            if exc.errno not in (errno.ENOTDIR, errno.ELOOP) or target is None:
                raise
            self._follow(target)

    def _follow(self, target: str) -> None:
        self._symlinks += 1
        if self._symlinks > MOST_SYMLINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self._path)
        self._ahead = self._names(target) + self._ahead

    def _target(self, name: str) -> str | None:
        """Return the target of the symlink of that name; None for anything else."""
        try:
            return os.readlink(name, dir_fd=self._entered[-1])
        except OSError:
            return None
