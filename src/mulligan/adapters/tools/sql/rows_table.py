"""Rows of a database as people look at them while a step runs: few, none too wide, and what is left out is counted."""

from collections.abc import Mapping, Sequence

from mulligan.domain.text.inert_text import harmless
from mulligan.domain.text.json_value import Json
from mulligan.domain.text.plural import counted

_MOST_ROWS = 20
_WIDEST = 40  # characters of a value
_CUT = ".."


def rows_table(rows: Sequence[Mapping[str, Json]], *, cut_off: bool) -> str:
    """A line for the names of the columns and one for each row; `cut_off`: there are more than these."""
    if not rows:
        return "no rows\n"
    shown = rows[:_MOST_ROWS]
    lines = [[_fitting(name) for name in rows[0]], *([_cell(v) for v in row.values()] for row in shown)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )
    more = len(rows) - len(shown)
    if more or cut_off:
        text += f"({'at least ' if cut_off else ''}{counted(more + cut_off, 'more row')})\n"
    return text


def _cell(value: Json) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, dict):  # bytes, as JSON has them
        return _fitting(f"base64:{value['base64']}")
    return _fitting(str(value))


def _fitting(text: str) -> str:
    """A value in one line, and with an end."""
    text = harmless(text[: _WIDEST + 1])
    return text if len(text) <= _WIDEST else text[: _WIDEST - len(_CUT)] + _CUT
