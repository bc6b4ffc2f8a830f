"""Lengths of time as people write them."""

import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# Patterns, compiled when one is first used: few commands are given a length of time.
_PART = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ms|s|m|h|d)"
_PARTS = rf"(?:{_PART})+"


def seconds_in(text: str) -> float | None:
    """Return the seconds of a duration such as `90s`, `5m` or `1h30m`; None: it is not one."""
    if not re.fullmatch(_PARTS, text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, text))
