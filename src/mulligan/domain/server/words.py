"""The requests that a local server answers, and the words that its answers begin with."""

from datetime import datetime
from enum import Enum

from msgspec import Struct


class Request(bytes, Enum):
    """The first field of a request."""

    STATUS = b"status"
    STOP = b"stop"
    HOOK = b"hook"  # then: agent, event as on the command line, folder, settings, payload
    CHANGES = b"changes"  # then: a TreeQuestion; the answer has a TreeAnswer


class Word(bytes, Enum):
    """The first field of an answer."""

    DONE = b"done"
    ELSEWHERE = b"elsewhere"  # the client has to do its work without the server; then: the reason


class TreeQuestion(Struct, frozen=True, array_like=True):
    """The question of a command about a tree: what changed since a moment?"""

    program: tuple[int, ...]  # which installation of mulligan asks: another one may see trees in another way
    mounts: int  # the namespace in which it sees them
    path: bytes  # absolute
    excluded: tuple[bytes, ...]
    patterns: tuple[str, ...]
    token: bytes
    begins: bool = True  # to watch the tree from now on, if it is not watched


class TreeAnswer(Struct, frozen=True, array_like=True):
    """The answer to it. The paths are relative; without them only a scan can find out."""

    token: bytes
    paths: tuple[bytes, ...] | None
    renewed: tuple[bytes, ...]


class ServerStatus(Struct, frozen=True, kw_only=True):
    """A server that runs, as it describes itself."""

    pid: int
    started: datetime
    requests: int  # answered so far
    commands: int  # that were handed over to its warm process
    idle_seconds: float  # since the last of them
    idle_timeout_seconds: float  # after which it ends
    watched_trees: int  # trees that it watches between two requests, for hooks or for commands
    unwatched: str  # why it watches no more; empty where it watches all that it was asked about
    memory_bytes: int
