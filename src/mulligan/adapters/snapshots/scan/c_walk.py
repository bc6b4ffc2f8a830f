"""Walking a tree in C where the extension was built: `walk`, or None, and then `why_not` says why.

Without it everything works the same, four times as slowly where a whole tree is looked at.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from mulligan.adapters.snapshots.scan import _walk

    Patterns: TypeAlias = list[tuple[bytes, int, int]]
    Walk: TypeAlias = Callable[
        [int, bytes, int, int, int, int, memoryview, memoryview, int, bytes, Patterns, bytes],
        tuple[list[_walk.Found], bytes],
    ]

walk: "Walk | None" = None
why_not = ""
try:
    from mulligan.adapters.snapshots.scan import _walk
except ImportError as exc:
    why_not = str(exc)
else:
    walk = _walk.walk

# One more than can run: now and then one waits for a lock. They wait for memory, too, so that many bring no more.
THREADS = min(4, (os.cpu_count() or 1) + 1)
