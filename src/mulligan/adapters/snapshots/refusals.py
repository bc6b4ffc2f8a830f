"""The system's refusals become ours at this edge."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mulligan.errors import SystemFailed


@contextmanager
def translated(path: Path) -> Generator[None]:
    """Make the system's refusals ours, with the path they are about."""
    try:
        yield
    except OSError as exc:
        where = exc.filename if exc.filename is not None and not isinstance(exc.filename, int) else path
        reason = exc.strerror or str(exc)
        raise SystemFailed(path=os.fsdecode(where), reason=reason) from exc
