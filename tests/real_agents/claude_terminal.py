"""Claude Code on a real terminal, and a person in front of it."""

import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.real_agents.model_protocols import Call, Turn
from tests.real_agents.workplace import PATIENCE, Workplace, until
from tests.support.tmux import Pane

# Below the box for prompts. It may ask which mode is wanted at any moment, and take the next key for the answer.
_BOX = re.compile(r"(?:bypass permissions|auto mode) on [(·]")
_ASKS = "No, keep bypass permissions"
_NO_CODE = "No code changes"
_WORKS = re.compile(r"esc to interrupt|running \w+ hook")
_CHOICE = re.compile(r"❯ \d\. (.*)")


class ClaudeTerminal:
    """The agent on its terminal."""

    def __init__(self, place: Workplace, pane: Pane) -> None:
        self._place = place
        self._pane = pane

    @property
    def screen(self) -> str:
        """What is to be seen now."""
        return self._pane.screen()

    @property
    def words(self) -> str:
        """What is to be seen now, as if lines had no ends."""
        return " ".join(self.screen.split())

    def until(self, holds: Callable[[], object], wanted: str, patience: float = PATIENCE) -> None:
        """Wait for something on the terminal."""
        until(holds, wanted, patience, lambda: self.screen)

    def start(self, *options: str) -> None:
        """Start the agent."""
        self._pane.enter(" ".join(self._place.command(*options)))
        self.until(lambda: _BOX.search(self.screen) or _ASKS in self.screen, "the agent has started")

    def type(self, prompt: str, *turns: Turn | Call) -> None:
        """Type a prompt that is answered by these turns; each ends with the words that it is done."""
        self._place.plays(prompt, *turns, ends=f"That was: {prompt}.")
        self.submit(prompt)

    def say(self, prompt: str, *turns: Turn | Call) -> None:
        """Type a prompt, and wait until it is answered."""
        self.type(prompt, *turns)
        self.until(lambda: f"That was: {prompt}." in self.screen, f"{prompt} is answered")
        self.rest()

    def rest(self) -> None:
        """Wait until the agent waits for a prompt."""
        self.until(
            lambda: _BOX.search(self.screen) and not _WORKS.search(self.screen), "the agent is at rest"
        )

    def press(self, *keys: str) -> None:
        """Press keys by their names."""
        self._pane.press(*keys)

    def rewind_to(self, prompt: str) -> str:
        """Have the agent go back to before a prompt, with code and conversation; return the list that it offered."""
        self.submit("/rewind")
        self.until(lambda: "conversation to the point before" in self.screen, "the list of prompts")
        with suppress(AssertionError):  # what each of them changed comes later
            self.until(lambda: _NO_CODE in self.screen, "what they changed", 30)
        offered = self.screen.rpartition("conversation to the point before")[2]
        self._choose(prompt, "Up")
        self.until(lambda: "Confirm you want to restore" in self.screen, "what to restore")
        if "Restore code and conversation" in self.screen:
            self._choose("Restore code and conversation")
        else:  # it has no code to restore
            self._choose("Restore conversation")
        self.until(
            lambda: "Confirm you want" not in self.screen and _BOX.search(self.screen), "the agent went back"
        )
        self._pane.press("C-u")  # it offers the prompt again
        return offered

    def leave(self) -> None:
        """End the agent as people do."""
        self._pane.press("C-c")
        self.until(lambda: "Press Ctrl-C again" in self.screen or self._is_over(), "one more key")
        self._pane.press("C-c")
        self.until(self._is_over, "the agent has ended")

    def _is_over(self) -> bool:
        return self.screen.rstrip().endswith("$")

    def submit(self, text: str) -> None:
        """Type a line, and send it."""

        def is_there() -> bool:
            return f"❯ {text}" in self.screen.replace("\xa0", " ")

        for _ in range(10):  # what is typed while the agent starts may get lost, or meet a question
            if _ASKS in self.screen:
                self._choose("keep bypass permissions")
            self._pane.type(text)
            with suppress(AssertionError):
                self.until(is_there, f"{text} is in the box", 3)
                break
            self._pane.press("C-u")
        assert is_there(), self.screen
        self._pane.press("Enter")

    def _choose(self, words: str, key: str = "Down") -> None:
        for _ in range(20):
            marked = next(
                (line for line in reversed(self.screen.splitlines()) if line.strip().startswith("❯")), ""
            )
            if words in marked:
                self._pane.press("Enter")
                return
            before = self.screen
            self._pane.press(key)
            self.until(lambda before=before: self.screen != before, "the mark moves", 10)
        raise AssertionError(f"{words!r} is not offered:\n{self.screen}")


@contextmanager
def claude(place: Workplace, *options: str) -> Generator[ClaudeTerminal]:
    """Have the agent on a terminal; it ends with its terminal."""
    with place.terminal() as pane:
        opened = ClaudeTerminal(place, pane)
        opened.start(*options)
        yield opened


def processes_of(place: Workplace) -> list[int]:
    """Return the processes of the agent itself that work in the project."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            if os.fsencode(place.command()[0]) in command[:2] and (entry / "cwd").resolve() == place.folder:
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended
    return found
