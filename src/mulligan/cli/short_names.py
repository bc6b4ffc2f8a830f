"""Replaces ids in texts for people by the words that they type: `tune`, `tune@3`, `tune/d1`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from mulligan.api.operations.command_words import command_line
from mulligan.cli.answers.answer import Block, Document, Drawing, Line, Output, Patch, Row, Span, Table
from mulligan.domain.text.ids import ID_IN_TEXT
from mulligan.errors import Advice, NextStep

_COMMAND = r"(`[^`]*`|: +mulligan .*)"
_AT_ONCE = 500  # ids in one question to the database


class ShortNames:
    """The words for ids, known or looked up; with `show_ids` a text has the id after its word."""

    def __init__(self, look_up: Callable[[Collection[str]], Mapping[str, str]], *, show_ids: bool) -> None:
        self._look_up = look_up
        self._show_ids = show_ids
        self._known: dict[str, str] = {}

    def know(self, names: Mapping[str, str]) -> None:
        """Take over words that were read with an answer."""
        self._known |= names

    def blocks(self, blocks: Sequence[Block]) -> Sequence[Block]:
        """Return what people see of an answer, without ids."""
        self._learn(_texts(blocks))
        return [self._block(block) for block in blocks]

    def text(self, text: str) -> str:
        """Return a text or advice without ids; its next steps are commands to paste, which never have any."""
        self._learn([text])
        if isinstance(text, Advice):
            parts = (
                f"`{self._command(p)}`" if isinstance(p, NextStep) else self._prose(p) for p in text.parts
            )
            return "".join(parts)
        return self._prose(text)

    def _prose(self, text: str) -> str:
        pieces = re.split(_COMMAND, text)  # every second one is a command
        return "".join(self._replaced(p, with_id=self._show_ids and not n % 2) for n, p in enumerate(pieces))

    def _replaced(self, text: str, *, with_id: bool) -> str:
        def word(found: re.Match[str]) -> str:
            name = self._known.get(found[0])
            return found[0] if name is None else f"{name} ({found[0]})" if with_id else name

        return re.sub(ID_IN_TEXT, word, text)

    def _command(self, step: NextStep) -> str:
        known = self._known
        facts = {name: _named(value, known) for name, value in step.facts.items()}
        # A checkpoint's word names its plan.
        if str(facts.get("checkpoint")).startswith(f"{facts.get('plan')}@"):
            del facts["plan"]
        return command_line(NextStep(step.verb, **facts))

    def _learn(self, texts: Iterable[str]) -> None:
        ids = {found for text in texts for found in re.findall(ID_IN_TEXT, text)}
        unknown = sorted(ids.difference(self._known))
        for start in range(0, len(unknown), _AT_ONCE):
            self._known |= self._look_up(unknown[start : start + _AT_ONCE])

    def _block(self, block: Block) -> Block:
        match block:
            case Line():
                return replace(block, text=self._prose(block.text))
            case Table():
                return replace(block, rows=tuple(tuple(map(self._prose, row)) for row in block.rows))
            case Drawing():
                return Drawing(tuple(self._row(row) for row in block.rows))
            case Patch():
                return replace(
                    block, summary=tuple(cast("Line | Table", self._block(b)) for b in block.summary)
                )
            case Document() | Output():
                return block

    def _row(self, row: Row) -> Row:
        return replace(row, words=tuple(Span(self._prose(span.text), span.style) for span in row.words))


def _named(value: object, known: Mapping[str, str]) -> object:
    return known.get(value, value) if isinstance(value, str) else value


def _texts(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Line():
                yield block.text
            case Table():
                yield from (cell for row in block.rows for cell in row)
            case Drawing():
                yield from (span.text for row in block.rows for span in row.words)
            case Patch():
                yield from _texts(block.summary)
            case Document() | Output():
                pass
