"""What a command gives back, before it is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from mulligan.errors import MulliganError


class Format(StrEnum):
    """How answers are drawn."""

    RICH = "rich"
    PLAIN = "plain"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_document(self) -> bool:
        """Whether the answer is one document on stdout and nothing else."""
        return self in (Format.JSON, Format.YAML)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an answer for people; a title stands out where the terminal can."""

    text: str
    title: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of an answer for people."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch: for programs byte by byte and nothing else, on a terminal in colours and with a summary."""

    data: bytes
    summary: tuple[Line | Table, ...]


Block: TypeAlias = Line | Table | Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a command: data for scripts, blocks for people."""

    data: object
    blocks: Sequence[Block] = ()
    messages: Sequence[str] = ()
    error: MulliganError | None = None
    warn: bool = False
    exit_code: int | None = None  # None: that of the error, or 0
    timing: dict[str, object] = field(default_factory=dict[str, object])

    @property
    def code(self) -> int:
        """The exit code."""
        if self.exit_code is not None:
            return self.exit_code
        return self.error.exit_code if self.error else 0

    @property
    def status(self) -> str:
        """The word of the envelope."""
        if self.error is not None:
            return "error"
        return "warn" if self.warn else "ok"
