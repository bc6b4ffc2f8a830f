"""Questions about many rows of an archive in C, where the extension was built; otherwise `why_not` says why not."""

from collections.abc import Callable
from typing import TypeAlias

# Rows, heap, the first row and the one after the last.
Measure: TypeAlias = Callable[[memoryview, memoryview, int, int], tuple[int, int]]
HasInode: TypeAlias = Callable[[memoryview, memoryview, int, int, list[int]], bool]
WithName: TypeAlias = Callable[[memoryview, memoryview, int, int, bytes], list[int]]
WithFlag: TypeAlias = Callable[[memoryview, memoryview, int, int, int], list[int]]
Moved: TypeAlias = Callable[[memoryview, memoryview, int, int, int, int], bytes]

measure: Measure | None = None
has_inode: HasInode | None = None
with_name: WithName | None = None
with_flag: WithFlag | None = None
moved: Moved | None = None
why_not = ""
try:
    from mulligan.adapters.snapshots.cache import _rows
except ImportError as exc:
    why_not = str(exc)
else:
    measure, has_inode = _rows.measure, _rows.has_inode
    with_name, with_flag, moved = _rows.with_name, _rows.with_flag, _rows.moved
