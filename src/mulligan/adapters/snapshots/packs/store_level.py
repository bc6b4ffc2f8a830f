"""The size of the store after the last sweep: growth since then decides when another pays off."""

from pathlib import Path

from mulligan.boundaries import act
from mulligan.osfiles.tempdirs import Rooms


class Level:
    """One number in a file. It is a hint, and needs no fsync: where it is lost, a sweep comes early."""

    def __init__(self, work: Path, rooms: Rooms) -> None:
        self._path = work / "level"
        self._rooms = rooms

    def read(self) -> int:
        """The bytes that the last sweep left; 0 where there was none."""
        try:
            return int(self._path.read_text("ascii"))
        except (OSError, ValueError):
            return 0

    def write(self, size: int) -> None:
        """Remember what a sweep left."""
        with self._rooms.room() as room:
            path = room / "level"
            path.touch(mode=0o600)
            path.write_text(str(size), "ascii")
            with act("level.name"):
                path.replace(self._path)
