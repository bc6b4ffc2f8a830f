"""Gemini CLI and Codex on a real terminal, and a person in front of it."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from tests.real_agents.workplace import PATIENCE, Workplace, until
from tests.support.tmux import Pane

_GEMINI_BOX = "Type your message"
_CODEX_BOX = "? for shortcuts"
_CODEX_NEW_MODEL = "Use existing model"


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
        self._pane.type(line)
        self.until(lambda: line in self.words, f"{line} is in the box")
        self._pane.press("Enter")


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
        opened.until(lambda: _CODEX_NEW_MODEL in opened.words, "it offers another model first")
        pane.press("Down")
        opened.until(lambda: f"› 2. {_CODEX_NEW_MODEL}" in opened.words, "the present one")
        pane.press("Enter")
        opened.until(lambda: _CODEX_BOX in opened.words, "the agent waits for a prompt")
        yield opened
