"""Errors that are expected by kind and facts, so that a changed sentence fails no test."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from mulligan.errors import MulliganError


@contextmanager
def raises(cls: type[MulliganError], **facts: object) -> Generator[None]:
    """Expect an error of exactly this kind that has at least these facts."""
    with pytest.raises(cls) as caught:
        yield
    error = caught.value
    found = {name: error.facts.get(name) for name in facts}
    assert (error.kind, found) == (cls.kind, facts), f"{error.kind}: {error.facts}"
