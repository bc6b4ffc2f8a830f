"""Copying files of a known tree in C where the extension was built: `copy`, or None, and then `why_not` says why."""

import os
from collections.abc import Callable
from typing import TypeAlias

# Of a folder: its path with zero bytes in place of slashes, the names in it with zero bytes between them, signatures.
Known: TypeAlias = tuple[bytes, bytes, bytes]
Copy: TypeAlias = Callable[[int, int, list[Known], int], list[tuple[int, str]]]

copy: Copy | None = None
why_not = ""
try:
    from mulligan.adapters.snapshots.new_trees import _copy
except ImportError as exc:
    why_not = str(exc)
else:
    copy = _copy.copy

THREADS = min(4, os.cpu_count() or 1)
