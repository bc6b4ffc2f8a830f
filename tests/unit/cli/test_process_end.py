"""The end of a command that ran in another process: what was registered is done, and no lost output is a success."""

import atexit
import io
import sys

import pytest

from mulligan.cli.process_end import finished


class Full(io.StringIO):
    """A stream to a disk that is full."""

    def flush(self) -> None:
        raise OSError


@pytest.mark.parametrize(
    ("stream", "code", "expected"),
    [(io.StringIO(), 0, 0), (io.StringIO(), 3, 3), (Full(), 0, 1), (Full(), 3, 3)],
)
def test_output_that_is_lost_is_not_a_success(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, code: int, expected: int
) -> None:
    done: list[str] = []
    monkeypatch.setattr(atexit, "_run_exitfuncs", lambda: done.append("registered"))
    monkeypatch.setattr(sys, "stdout", stream)
    assert finished(code) == expected
    assert done == ["registered"]
