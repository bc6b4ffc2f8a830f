"""Files in git directories of sandboxes, where a plan may have put anything: no symlink on their way is followed."""

import os
import stat
from pathlib import Path

from mulligan.osfiles.directory_handles import open_below

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_below(top: Path, path: str) -> bytes | None:
    """Return what a file below a folder holds; None where it is missing, or anything but a file in plain folders."""
    folder, _, name = path.rpartition("/")
    try:
        with open_below(top, folder) as fd:
            file = os.open(name, _READ, dir_fd=fd)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        with os.fdopen(file, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(file)


def replace_below(top: Path, path: str, data: bytes) -> None:
    """Replace a file that was read below a folder in one move, with its mode and time."""
    folder, _, name = path.rpartition("/")
    draft = f"{name}.{os.urandom(4).hex()}.new"
    with open_below(top, folder) as fd:
        st = os.stat(name, dir_fd=fd, follow_symlinks=False)
        with os.fdopen(os.open(draft, _NEW, 0o600, dir_fd=fd), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
            os.fchmod(stream.fileno(), stat.S_IMODE(st.st_mode))
            os.utime(stream.fileno(), ns=(st.st_atime_ns, st.st_mtime_ns))
        os.rename(draft, name, src_dir_fd=fd, dst_dir_fd=fd)
