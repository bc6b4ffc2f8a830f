"""Reading and replacing single files of a sandbox, whole or not at all."""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress

from msgspec import Struct

from mulligan.adapters.tools.builtin.sandbox_paths import Place
from mulligan.errors import ToolFailed


class Content(Struct, frozen=True):
    """The content of a regular file."""

    data: bytes
    mode: int | None  # None: what the umask leaves of 0666, or of 0777 for a program
    program: bool = False


@contextmanager
def failing_as(tool: str, path: str) -> Generator[None]:
    """Turn what the operating system refuses into a failure of the tool, with the path in question."""
    try:
        yield
    except OSError as exc:
        raise ToolFailed(
            tool=tool, reason=f"{path}: {exc.strerror or exc}", path=path, errno=exc.errno
        ) from exc


def read(place: Place) -> Content | None:
    """Return the content of the file at a place; None if there is nothing, OSError for anything but a file."""
    try:
        # Without O_NONBLOCK opening a fifo would wait for someone to write.
        descriptor = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place.folder)
    except FileNotFoundError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return Content(file.read(), stat.S_IMODE(found.st_mode))
    finally:
        os.close(descriptor)


def replace(place: Place, content: Content) -> None:
    """Put a file at a place: under another name first, so that a failure leaves what was there."""
    draft = f".mulligan-draft-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(draft, flags, 0o777 if content.program else 0o666, dir_fd=place.folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(content.data)
            if content.mode is not None:
                os.fchmod(descriptor, content.mode)
            _keep_attributes(place, descriptor)
        os.rename(draft, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=place.folder)
        raise


def _keep_attributes(place: Place, descriptor: int) -> None:
    """Carry the `user.*` attributes of the file that is about to be replaced over to the new one."""
    if not hasattr(os, "listxattr"):
        return
    try:
        old = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place.folder)
    except OSError:
        return  # a new file, or one that may not be read: nothing can be carried over
    try:
        for name in os.listxattr(old):
            if name.startswith("user."):
                os.setxattr(descriptor, name, os.getxattr(old, name))
    except OSError:
        return  # a file system without attributes
    finally:
        os.close(old)
