"""Both ways to walk, read and copy trees: in C, and in Python, which is what is left where no C could be compiled."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from mulligan.adapters.snapshots.cache import c_rows
from mulligan.adapters.snapshots.capture import c_contents
from mulligan.adapters.snapshots.new_trees import c_copy
from mulligan.adapters.snapshots.scan import c_walk as walking

WALKERS = {"in C": walking.walk, "in Python": None}
COPIES = {"in C": c_copy.copy, "in Python": None}
READERS = {"in C": c_contents.read, "in Python": None}
_ROWS = {name: getattr(c_rows, name) for name in ("measure", "has_inode", "with_name", "with_flag", "moved")}


@contextmanager
def walked(how: str) -> Generator[None]:
    """Have trees walked, read and copied this way."""
    assert WALKERS["in C"] is not None, f"the C extension was not built: {walking.why_not}"
    assert COPIES["in C"] is not None, f"the C extension was not built: {c_copy.why_not}"
    assert READERS["in C"] is not None, f"the C extension was not built: {c_contents.why_not}"
    assert _ROWS["measure"] is not None, f"the C extension was not built: {c_rows.why_not}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walking, "walk", WALKERS[how])
        patch.setattr(c_copy, "copy", COPIES[how])
        patch.setattr(c_contents, "read", READERS[how])
        for name, in_c in _ROWS.items():
            patch.setattr(c_rows, name, in_c if how == "in C" else None)
        yield
