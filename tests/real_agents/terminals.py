"""Gemini CLI and Codex on a real terminal, and a person in front of it."""

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from tests.real_agents.workplace import PATIENCE, Workplace, until
from tests.support.tmux import Pane

_GEMINI_BOX = "Type your message"
_CODEX_BOX = "? for shortcuts"
_NEW_MODEL = "Use existing model"
_ATTEMPTS = 10


class Terminal:
    """An agent on its terminal."""

    def __init__(self, pane: Pane) -> None:
        self._pane = pane

    @property
    def words(self) -> str:
        """What is to be seen now, as if lines had no ends."""
        return " ".join(self._pane.screen().split())

    def until(self, holds: Callable[[], object], wanted: str, patience: float = PATIENCE) -> None:
        """Wait for something on the terminal."""
        until(holds, wanted, patience, self._pane.screen)

    def press(self, *keys: str) -> None:
        """Press keys by their names."""
        self._pane.press(*keys)

    def submit(self, line: str) -> None:
        """Type a line, and send it once the agent has taken all of it."""
        for _ in range(_ATTEMPTS):  # Codex may offer another model at any moment, which takes what is typed
            if _NEW_MODEL in self.words:
                self._keep_model()
            self._pane.type(line)
            with suppress(AssertionError):
                self.until(lambda: line in self.words and _NEW_MODEL not in self.words, "it is typed", 10)
                break
            self._pane.press("C-u")
        self.until(lambda: line in self.words, f"{line} is in the box", 1)
        for _ in range(_ATTEMPTS):  # Gemini CLI may take the first one for the choice of a suggestion
            self._pane.press("Enter")
            with suppress(AssertionError):
                self.until(lambda: f"* {line}" not in self.words, "it is sent", 3)
                break

    def _keep_model(self) -> None:
        for _ in range(_ATTEMPTS):
            self._pane.press("Down")
            with suppress(AssertionError):
                self.until(lambda: f"› 2. {_NEW_MODEL}" in self.words, "the present model is marked", 3)
                break
        self._pane.press("Enter")
        self.until(lambda: _NEW_MODEL not in self.words, "it is chosen")


@contextmanager
def gemini(place: Workplace) -> Generator[Terminal]:
    """Have Gemini CLI on a terminal."""
    with place.terminal() as pane:
        opened = Terminal(pane)
        pane.enter(" ".join(place.command()))
        opened.until(lambda: _GEMINI_BOX in opened.words, "the agent has started")
        yield opened


@contextmanager
def codex(place: Workplace) -> Generator[Terminal]:
    """Have Codex on a terminal, which asks its user before it does something outside of its sandbox."""
    asks = ["-a", "on-request", "-s", "workspace-write", "--dangerously-bypass-hook-trust"]
    with place.terminal() as pane:
        opened = Terminal(pane)
        pane.enter(" ".join(place.command(*asks)))
        opened.until(
            lambda: _NEW_MODEL in opened.words or _CODEX_BOX in opened.words, "the agent has started"
        )
        yield opened
