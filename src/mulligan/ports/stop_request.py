"""A request to stop, in a module of its own: every command makes one, and few need an engine."""

from threading import get_ident


class StopRequest:
    """A request to stop that one thread makes and another obeys: no signal reaches work in a thread."""

    def __init__(self) -> None:
        self._asked: set[int | None] = set()
        self._is_ending = False

    def ask(self, thread: int | None = None) -> None:
        """Ask the work in one thread to stop, or all work."""
        self._asked.add(thread)

    def ask_to_end(self) -> None:
        """Ask all work to stop where a step ends."""
        self._is_ending = True

    @property
    def is_ending(self) -> bool:
        """Return whether work is to stop where a step ends."""
        return self._is_ending

    def withdraw(self, thread: int) -> None:
        """Let the next work in that thread go on."""
        self._asked.discard(thread)

    def obey(self) -> None:
        """Raise KeyboardInterrupt where this thread was asked, as Ctrl-C does: called wherever work can be left."""
        if self._asked and not self._asked.isdisjoint((None, get_ident())):
            raise KeyboardInterrupt
