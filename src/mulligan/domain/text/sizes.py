"""Sizes of files for people: written with one decimal, and read with a unit."""

import re

_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")
_STEP = 1000


def size_text(size: int) -> str:
    """Write a number of bytes with the unit that keeps it short."""
    value, unit = float(size), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{size} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def read_size(text: str) -> int | None:
    """Read a number of bytes, with a unit or without: `500000`, `20GB`, `1.5 TB`; None where it is none."""
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,3})?)\s*([KMGTP]?)B?\s*", text, re.IGNORECASE)
    if found is None:
        return None
    power = " KMGTP".index(found[2].upper() or " ")
    return round(float(found[1]) * _STEP**power)
