"""Lengths of time as people write them."""

import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ms|s|m|h|d)")
_PARTS = re.compile(rf"(?:{_PART.pattern})+")


def seconds_in(text: str) -> float | None:
    """Return the seconds of a duration such as `90s`, `5m` or `1h30m`; None: it is not one."""
    if not _PARTS.fullmatch(text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
