"""The system's refusals become ours at this edge."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mulligan.errors import SystemFailed

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def translated(path: Path, *, written: Path | None = None) -> Generator[None]:
    """Make the system's refusals ours, with the path they are about; a full disk is that of what is written."""
    try:
        yield
    except OSError as exc:
        where = written if written is not None and exc.errno in _FULL else path
        if exc.filename is not None and not isinstance(exc.filename, int):
            where = exc.filename
        reason = exc.strerror or str(exc)
        raise SystemFailed(path=os.fsdecode(where), reason=reason) from exc
