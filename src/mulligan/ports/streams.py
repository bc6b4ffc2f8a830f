"""The streams that a command is attached to, where a front door lets it read and write in its own place."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class Streams(Struct, frozen=True, kw_only=True, eq=False):
    """Descriptors of this process that a command gets as its own; where one is a terminal, it gets a terminal."""

    stdin: int | None  # None: it has nothing to read
    stdout: int | None  # None: what it prints is only recorded, as of the next
    stderr: int | None
    encoding: str  # of the terminal
    interactive: (
        bool  # the terminal obeys the command, all keys are its own, and any exit status is a success
    )
    before: Callable[[], None]  # called before the command starts: whatever is drawn on the terminal goes
