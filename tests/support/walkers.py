"""Both ways to walk and to copy trees: in C, and in Python, which is what is left where no C could be compiled."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from mulligan.adapters.snapshots.cache import c_rows
from mulligan.adapters.snapshots.new_trees import c_copy
from mulligan.adapters.snapshots.scan import c_walk as walking

WALKERS = {"in C": walking.walk, "in Python": None}
COPIES = {"in C": c_copy.copy, "in Python": None}
_ROWS = ("measure", "has_inode", "with_name")


@contextmanager
def walked(how: str) -> Generator[None]:
    """Have trees walked and copied this way."""
    assert WALKERS["in C"] is not None, f"the C extension was not built: {walking.why_not}"
    assert COPIES["in C"] is not None, f"the C extension was not built: {c_copy.why_not}"
    assert c_rows.measure is not None, f"the C extension was not built: {c_rows.why_not}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walking, "walk", WALKERS[how])
        patch.setattr(c_copy, "copy", COPIES[how])
        for name in _ROWS if how == "in Python" else ():
            patch.setattr(c_rows, name, None)
        yield
