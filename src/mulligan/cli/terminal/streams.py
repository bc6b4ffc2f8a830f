"""Streams without a destination: the reader went away, or the disk is full."""

import os
from typing import TextIO


def lead_nowhere(stream: TextIO) -> None:
    """Let what is still to be written there vanish: at exit the interpreter would fail on it."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
