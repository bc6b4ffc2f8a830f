"""Claude Code on a real terminal, and a person in front of it."""

import json
import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.real_agents.model_protocols import Call, Turn
from tests.real_agents.workplace import Workplace, until
from tests.support.tmux import Pane

_BOX = "bypass permissions on"  # below the box for prompts
_ASKS = "No, keep bypass permissions"
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

    def start(self, *options: str) -> None:
        """Start the agent."""
        self._pane.enter(" ".join(self._place.command(*options)))
        until(lambda: _BOX in self.screen or _ASKS in self.screen, "the agent has started")

    def type(self, prompt: str, *turns: Turn | Call) -> None:
        """Type a prompt that is answered by these turns; each ends with the words that it is done."""
        whole = [Turn(calls=(each,)) if isinstance(each, Call) else each for each in turns]
        self._place.model.turns[prompt] = [*whole, Turn(text=f"That was: {prompt}.")]
        self._submit(prompt)

    def say(self, prompt: str, *turns: Turn | Call) -> None:
        """Type a prompt, and wait until it is answered."""
        self.type(prompt, *turns)
        until(lambda: f"That was: {prompt}." in self.screen, f"{prompt} is answered")
        self.rest()

    def rest(self) -> None:
        """Wait until the agent waits for a prompt."""
        until(lambda: _BOX in self.screen and not _WORKS.search(self.screen), "the agent is at rest")

    def press(self, *keys: str) -> None:
        """Press keys by their names."""
        self._pane.press(*keys)

    def rewind_to(self, prompt: str) -> str:
        """Have the agent go back to before a prompt, with code and conversation; return the list that it offered."""
        self._submit("/rewind")
        until(lambda: "conversation to the point before" in self.screen, "the list of prompts")
        offered = self.screen.rpartition("conversation to the point before")[2]
        self._choose(prompt, "Up")
        until(lambda: "Confirm you want to restore" in self.screen, "what to restore")
        if "Restore code and conversation" in self.screen:
            self._choose("Restore code and conversation")
        else:  # it has no code to restore
            self._choose("Restore conversation")
        until(lambda: "Confirm you want" not in self.screen and _BOX in self.screen, "the agent went back")
        self._pane.press("C-u")  # it offers the prompt again
        return offered

    def leave(self) -> None:
        """End the agent as people do."""
        self._pane.press("C-c")
        until(lambda: "Press Ctrl-C again" in self.screen or self._is_over(), "one more key")
        self._pane.press("C-c")
        until(self._is_over, "the agent has ended")

    def _is_over(self) -> bool:
        return self.screen.rstrip().endswith("$")

    def _submit(self, text: str) -> None:
        def is_there() -> bool:
            return f"❯ {text}" in self.screen.replace("\xa0", " ")

        for _ in range(10):  # what is typed while the agent starts may get lost, or meet a question
            if _ASKS in self.screen:
                self._choose("keep bypass permissions")
            self._pane.type(text)
            with suppress(AssertionError):
                until(is_there, f"{text} is in the box", 3)
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
            until(lambda before=before: self.screen != before, "the mark moves", 10)
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


def sessions_of(place: Workplace) -> Sequence[str]:
    """Return the ids of the sessions that the agent keeps, the oldest first."""
    files = sorted(
        (place.scene.home / ".claude" / "projects").glob("*/*.jsonl"), key=lambda file: file.stat().st_mtime
    )
    return [file.stem for file in files if json.loads(file.read_text().splitlines()[0])]
