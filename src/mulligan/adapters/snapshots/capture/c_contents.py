"""Reading the files of a folder in C where the extension was built: `read`, or None, and then `why_not` says why."""

from collections.abc import Callable
from typing import TypeAlias

# Of a folder: its descriptor, names with zero bytes between them, signatures; the largest file, and enough bytes.
Read: TypeAlias = Callable[[int, bytes, bytes, int, int], list[bytes | None]]

read: Read | None = None
why_not = ""
try:
    from mulligan.adapters.snapshots.capture import _contents
except ImportError as exc:
    why_not = str(exc)
else:
    read = _contents.read
