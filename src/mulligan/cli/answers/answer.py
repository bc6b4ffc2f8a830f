"""Answers of commands, before they are drawn."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from mulligan.api.document import Reply


class Format(StrEnum):
    """The format in which answers are drawn."""

    RICH = "rich"
    PLAIN = "plain"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_document(self) -> bool:
        """Return whether the answer is one document on stdout and nothing else."""
        return self in (Format.JSON, Format.YAML)


class Line(Struct, frozen=True):
    """One line of an answer for people; a title is emphasised where the terminal can."""

    text: str
    title: bool = False


class Table(Struct, frozen=True):
    """Rows of an answer for people."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    shortened: str | None = None  # column whose cells may be cut on a terminal so that rows are one line


class Span(Struct, frozen=True):
    """Some words of a row, and how they look where the terminal can: words of a rich style."""

    text: str
    style: str = ""


class Row(Struct, frozen=True, kw_only=True):
    """One row of a drawing: what is drawn before it, its words, and what is drawn before those that need a new line."""

    lead: tuple[Span, ...]
    words: tuple[Span, ...]
    rest: str


class Drawing(Struct, frozen=True):
    """Rows with lines and branches before them."""

    rows: tuple[Row, ...]


class Patch(Struct, frozen=True):
    """A patch: for programs byte by byte and nothing else, on a terminal in colours and with a summary."""

    data: bytes
    summary: tuple[Line | Table, ...]


class Document(Struct, frozen=True):
    """A document that was asked for on stdout: byte by byte, and nothing else."""

    data: bytes


Block: TypeAlias = Line | Table | Drawing | Patch | Document


class Answer(Reply, frozen=True, kw_only=True):
    """The answer to a command: data for scripts, blocks for people."""

    blocks: Sequence[Block] = ()

    @classmethod
    def drawn(cls, reply: Reply, blocks: Sequence[Block]) -> "Answer":
        """Return an answer of the API with what people see of it."""
        return cls(**asdict(reply), blocks=blocks)

    def without_tables(self) -> "Answer":
        """Drop the tables, which the user saw in the preview. A failed answer keeps them."""
        kept = [block for block in self.blocks if not isinstance(block, Table)]
        return self if self.error else replace(self, blocks=kept)
