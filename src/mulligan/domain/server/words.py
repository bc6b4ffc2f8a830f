"""The requests that a local server answers, and the words that its answers begin with."""

from datetime import datetime
from enum import Enum

from msgspec import Struct


class Request(bytes, Enum):
    """The first field of a request."""

    STATUS = b"status"
    STOP = b"stop"
    HOOK = b"hook"  # then: agent, event as on the command line, folder, settings, payload


class Word(bytes, Enum):
    """The first field of an answer."""

    DONE = b"done"
    ELSEWHERE = b"elsewhere"  # the client has to do its work without the server; then: the reason


class ServerStatus(Struct, frozen=True, kw_only=True):
    """A server that runs, as it describes itself."""

    pid: int
    started: datetime
    requests: int  # answered so far
    idle_seconds: float  # since the last of them
    idle_timeout_seconds: float  # after which it ends
    watched_trees: int  # trees that it watches between two requests
    memory_bytes: int
