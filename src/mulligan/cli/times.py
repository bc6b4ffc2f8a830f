"""Times for people: in their own time zone."""

from datetime import datetime


def local_time(moment: datetime) -> str:
    """A moment as the user's clock shows it."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
