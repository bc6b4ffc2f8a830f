"""Times for people: in their own time zone, or how long ago it was."""

from datetime import datetime, timedelta

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def local_time(moment: datetime) -> str:
    """A moment as the user's clock shows it."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def clock_time(moment: datetime) -> str:
    """The same without the day."""
    return moment.astimezone().strftime("%H:%M:%S")


def local_day(moment: datetime) -> str:
    """The day of a moment in the user's time zone."""
    return moment.astimezone().strftime("%Y-%m-%d")


def ago(moment: datetime, now: datetime) -> str:
    """Return how long ago a moment was, in one unit; never in the future, even if a clock was set back."""
    seconds = int((now - moment) / timedelta(seconds=1))
    if seconds < 1:
        return "just now"
    if seconds < _MINUTE:
        return f"{seconds} s ago"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min ago"
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR} h ago"
    return f"{seconds // _DAY} days ago"


def lasting(milliseconds: int) -> str:
    """Return a duration, as exactly as people want to read it."""
    seconds = milliseconds / 1000
    if seconds < 1:
        return f"{milliseconds} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    return running(seconds)


def running(seconds: float) -> str:
    """Return a running time in whole seconds."""
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
