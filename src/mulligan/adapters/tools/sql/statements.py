"""Dividing SQL into statements, each with its place, and refusing what cannot run in one transaction."""

import re
import sqlite3
from collections.abc import Generator, Sequence
from itertools import islice

from msgspec import Struct

# Tokens in which a semicolon ends nothing; each alternative runs to its end or that of the text.
_TOKEN = re.compile(
    r"""
      (?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<quoted> '(?:[^']|'')*(?:'|\Z) | "(?:[^"]|"")*(?:"|\Z) | `(?:[^`]|``)*(?:`|\Z) | \[[^\]]*(?:\]|\Z) )
    | (?P<end> ; )
    | (?P<space> \s+ )
    | (?P<other> [^-/'"`\[;\s]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ONE_TRANSACTION = (
    "all statements run in one transaction, which is begun and committed for them; leave it out"
)
_OTHER_FILE = "a plan's database is one file, and no other may be reached"
_REFUSED = {
    "BEGIN": _ONE_TRANSACTION,
    "COMMIT": _ONE_TRANSACTION,
    "END": _ONE_TRANSACTION,
    "ROLLBACK": _ONE_TRANSACTION,
    "VACUUM": "it cannot run inside a transaction, and INTO would reach another file; use the tool `shell`",
    "ATTACH": _OTHER_FILE,
    "DETACH": _OTHER_FILE,
}


class Statement(Struct, frozen=True):
    """One statement of SQL, and its place, in words."""

    text: str
    place: str

    @property
    def refusal(self) -> str | None:
        """Return why it cannot be run here; None: it can be tried."""
        words = (token.group().upper() for token in _TOKEN.finditer(self.text) if token.lastgroup == "other")
        beginning = list(islice(words, 3))
        if beginning[:1] == ["ROLLBACK"] and "TO" in beginning:
            return None  # to a savepoint, inside the transaction
        refused = [f"{word} is refused: {_REFUSED[word]}" for word in beginning[:1] if word in _REFUSED]
        return refused[0] if refused else None


def from_list(texts: Sequence[str]) -> list[Statement]:
    """The statements of a list; one text may hold several."""
    return [
        Statement(text, f"statement {number}")
        for number, given in enumerate(texts, start=1)
        for text, _line in divide(given)
    ]


def from_script(path: str, script: str) -> list[Statement]:
    """The statements of a script."""
    return [Statement(text, f"{path}, line {line}") for text, line in divide(script)]


def divide(sql: str) -> Generator[tuple[str, int]]:
    """Give each statement with the line it begins in; a trigger's body is part of its statement."""
    start: int | None = None  # where the present statement begins
    line = begins = 1
    for token in _TOKEN.finditer(sql):
        is_code = token.lastgroup in ("quoted", "other")
        if start is None and is_code:
            start, begins = token.start(), line
        if token.lastgroup == "end" and start is not None:
            text = sql[start : token.end()]
            if sqlite3.complete_statement(text):
                yield text, begins
                start = None
        line += token.group().count("\n")
    if start is not None and (rest := sql[start:].strip()):
        yield rest, begins
