"""A configuration file of an agent: read with care, and replaced as a whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from mulligan.boundaries import act
from mulligan.errors import AgentFileUnusable, SystemFailed
from mulligan.osfiles.folders import sync_folder

_LARGEST = 4 * 1024 * 1024  # bytes; such files are a few pages of text


class AgentFile(Struct, frozen=True):
    """A configuration file, which may be missing or a symlink."""

    path: Path  # absolute, as the agent names it

    def read(self) -> bytes | None:
        """Return the content; None where there is no file."""
        try:
            # Without waiting: opening a named pipe would last until another process writes to it.
            with os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
                if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    raise AgentFileUnusable(file=str(self.path), line=1, reason="is not a regular file")
                data = stream.read(_LARGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            if self.path.is_symlink():
                raise AgentFileUnusable(
                    file=str(self.path), line=1, reason="is a symlink that leads nowhere"
                ) from None
            return None
        except IsADirectoryError:
            raise AgentFileUnusable(file=str(self.path), line=1, reason="is a folder") from None
        except OSError as error:
            raise SystemFailed(path=str(self.path), reason=error.strerror or str(error)) from error
        if len(data) > _LARGEST:
            raise AgentFileUnusable(file=str(self.path), line=1, reason="is larger than 4 MiB")
        return data

    def is_inside(self, folder: Path) -> bool:
        """Return whether it is in a folder, wherever symlinks on the way lead."""
        return self.path.resolve().is_relative_to(folder.resolve())

    def missing_folders(self) -> list[Path]:
        """Return the folders above it that are not there, the outermost first."""
        missing = [folder for folder in self.path.parents if not folder.exists()]
        return missing[::-1]

    def write(self, data: bytes, expected: bytes | None) -> None:
        """Replace the content in one move, durably; refuse where it is no longer what was expected.

        A symlink stays, and its target is replaced. Owner and permissions stay.
        """
        target = self.path.resolve()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
            with act("agent.write"):
                try:
                    self._draft(draft, target, data)
                    self._refuse_changed(expected)
                    draft.replace(target)
                except BaseException:
                    draft.unlink(missing_ok=True)
                    raise
                sync_folder(target.parent)
        except OSError as error:
            raise SystemFailed(path=str(self.path), reason=error.strerror or str(error)) from error

    def remove(self, expected: bytes | None, folders: list[Path]) -> None:
        """Remove the file, if it is there, and those of these folders that are then empty; refuse one that changed."""
        try:
            self._refuse_changed(expected)
            if expected is not None:
                with act("agent.remove"):
                    self.path.unlink()
                    sync_folder(self.path.parent)
            for folder in sorted(folders, key=lambda each: len(each.parts), reverse=True):
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
        except OSError as error:
            raise SystemFailed(path=str(self.path), reason=error.strerror or str(error)) from error

    def _draft(self, draft: Path, target: Path, data: bytes) -> None:
        found = target.stat() if target.exists() else None
        # Such files hold keys: others see no more of a draft than of the file.
        mode = 0o666 if found is None else 0o600
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "wb") as stream:
            stream.write(data)
            stream.flush()
            if found is not None:
                if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(fd, found.st_uid, found.st_gid)
                os.fchmod(fd, stat.S_IMODE(found.st_mode))
            os.fsync(fd)

    def _refuse_changed(self, expected: bytes | None) -> None:
        if self.read() != expected:
            raise AgentFileUnusable(
                file=str(self.path), line=1, reason="was changed meanwhile", hint="try again"
            )
