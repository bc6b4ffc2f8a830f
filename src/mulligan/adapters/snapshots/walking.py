"""Walking a tree in C where the extension was built: `walk`, or None, and then `why_not` says why.

Without it everything works the same, four times as slowly where a whole tree is looked at.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from mulligan.adapters.snapshots._walk import Listed, NotListed

    Walk: TypeAlias = Callable[
        [int, bytes, int, int, int, int, memoryview, memoryview, int], list[Listed | NotListed]
    ]

walk: "Walk | None"
try:
    from mulligan.adapters.snapshots._walk import walk
except ImportError as exc:
    walk, why_not = None, str(exc)
else:
    why_not = ""

THREADS = min(4, os.cpu_count() or 1)  # they wait for memory and for locks of the kernel: more bring no more
