"""The installation of the program that this process runs."""

import os
import sys


def installation() -> tuple[int, ...]:
    """Return what differs between two installations of the program, and after one is replaced."""
    package = sys.modules["mulligan"].__file__
    assert package is not None, "it is a package with a file of its own"
    st = os.stat(package)  # noqa: PTH116 - the front end of a short command has no pathlib
    return (st.st_dev, st.st_ino, st.st_mtime_ns)
