"""Searches through all processes of the system: threads that ask at the same time share the next one."""

from collections.abc import Callable
from pathlib import Path
from threading import Condition

from msgspec import Struct


class _Turn(Struct, eq=False):
    """The searches on one device."""

    begun: int = 0
    ended: int = 0  # the number of the last one that came to its end
    at_work: bool = False
    found: frozenset[int] = frozenset()


class SharedSearches:
    """Searches for files of a device; an answer is never older than its question.

    Who asks while a search is under way waits for its end, and for the next one, which all who wait share.
    """

    def __init__(self, search: Callable[[Path], frozenset[int]]) -> None:
        """`search` answers for the whole device that a folder is on."""
        self._search = search
        self._changed = Condition()
        self._turns: dict[int, _Turn] = {}

    def on_device_of(self, folder: Path) -> frozenset[int]:
        """Search, or wait for a search that begins from now on."""
        device = folder.stat().st_dev
        with self._changed:
            turn = self._turns.setdefault(device, _Turn())
            wanted = turn.begun + 1
            while turn.at_work and turn.ended < wanted:
                self._changed.wait()
            if turn.ended >= wanted:
                return turn.found
            turn.begun += 1
            turn.at_work, number = True, turn.begun
        try:
            found = self._search(folder)
        except BaseException:
            self._end(turn)
            raise
        self._end(turn, number, found)
        return found

    def _end(self, turn: _Turn, number: int = 0, found: frozenset[int] = frozenset()) -> None:
        """Let those who wait go on; one without a number has found nothing out."""
        with self._changed:
            turn.at_work = False
            if number:
                turn.ended, turn.found = number, found
            self._changed.notify_all()
