"""Answers of commands, before they are drawn."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from mulligan.api.document import Reply

_LONG = 30  # rows; of more only the first ones are shown
_SHOWN = 20


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


def cut(table: Table, look: str) -> "tuple[Line | Table, ...]":
    """Return a table with at most so many rows as people read, and the command that shows the rest."""
    if len(table.rows) <= _LONG:
        return (table,)
    more = Line(f"… and {len(table.rows) - _SHOWN:,} more: {look}")
    return Table(table.columns, table.rows[:_SHOWN], table.shortened), more


def cut_lines(texts: Sequence[str]) -> list[Line]:
    """Return at most so many lines as people read, and how many there are more."""
    if len(texts) <= _LONG:
        return [Line(text) for text in texts]
    return [*(Line(text) for text in texts[:_SHOWN]), Line(f"… and {len(texts) - _SHOWN:,} more")]


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


class Output(Struct, frozen=True):
    """The output of a program: byte by byte on the stream it came from, and harmless on a terminal."""

    stdout: bytes
    stderr: bytes


Block: TypeAlias = Line | Table | Drawing | Patch | Document | Output


class Answer(Reply, frozen=True, kw_only=True):
    """The answer to a command: data for scripts, blocks for people.

    Blocks name plans and checkpoints by their ids; people see words such as `tune@3` instead.
    """

    blocks: Sequence[Block] = ()
    aside: bool = False  # people see it on stderr: stdout is that of the command that was run
    names: Mapping[str, str] = field(default_factory=dict[str, str])  # the words that are known with it
    paged: bool = False  # on a terminal it goes through a pager where it is long
    question: str = ""  # of a preview: what is asked, where that is more than the usual question
    settled: bool = False  # of a preview: there is nothing to do, so that there is nothing to ask

    @classmethod
    def drawn(cls, reply: Reply, blocks: Sequence[Block], names: Mapping[str, str] | None = None) -> "Answer":
        """Return an answer of the API with what people see of it."""
        return cls(**asdict(reply), blocks=blocks, names=names or {})

    def after(self, preview: "Answer") -> "Answer":
        """Drop what the user saw in the preview: the tables, and equal messages. A failed answer keeps the tables."""
        kept = [block for block in self.blocks if self.error or not isinstance(block, Table)]
        return replace(self, blocks=kept).without_notes_of(preview)

    def without_notes_of(self, preview: "Answer") -> "Answer":
        """Drop the messages that the user saw in the preview."""
        return replace(self, messages=[text for text in self.messages if text not in preview.messages])
