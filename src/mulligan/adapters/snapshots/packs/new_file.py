"""Files on their way into a folder: without a name until they are complete and durable."""

import errno
import os
from contextlib import ExitStack
from pathlib import Path

from mulligan.adapters.snapshots.durability import make_private_folder
from mulligan.adapters.snapshots.tempdirs import Rooms
from mulligan.boundaries import act

_BUFFER = 128 * 1024
# What a system or filesystem that knows no files without names answers.
_UNKNOWN = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


class NewFile:
    """A file that is being written; nobody sees less than all of it, and a killed process leaves nothing behind.

    Where the filesystem cannot do that the file stands in a room, and is renamed.
    """

    def __init__(self, folder: Path, rooms: Rooms) -> None:
        make_private_folder(folder)
        self._room = ExitStack()
        self._written: Path | None = None
        try:
            fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            if exc.errno not in _UNKNOWN:
                raise
            self._written = self._room.enter_context(rooms.room()) / "new"
            fd = os.open(self._written, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.fchmod(fd, 0o600)  # whatever the umask is
        self.file = os.fdopen(fd, "wb", buffering=_BUFFER)

    @property
    def path(self) -> Path:
        """Where this process can open it, as long as it is not closed."""
        return self._written or Path(f"/proc/self/fd/{self.file.fileno()}")

    def sync(self) -> None:
        """Make what was written durable."""
        self.file.flush()
        with act("pack.sync"):
            os.fsync(self.file.fileno())

    def name(self, place: Path) -> None:
        """Let it be seen; the name itself is durable when the folder is."""
        try:
            with act("pack.name"):
                if self._written is None:
                    # The descriptor is not a folder's: a path from the root needs none, and with one linkat follows.
                    os.link(self.path, place, src_dir_fd=self.file.fileno(), follow_symlinks=True)
                else:
                    self._written.rename(place)
        except OSError as exc:  # its first name is of no use to a user: it is a descriptor's, or in a room
            raise OSError(exc.errno, exc.strerror, str(place)) from exc

    def close(self) -> None:
        """Be done with it; what has no name by now is gone."""
        try:
            self.file.close()
        except OSError:
            # What could not be flushed is thrown away anyway; there is an earlier error to tell.
            return
        finally:
            self._room.close()
