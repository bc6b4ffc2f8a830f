"""What tests of `run` and `undo` share."""

import os
from pathlib import Path
from typing import Any

from tests.support import terminal


def script(words: str) -> list[str]:
    return ["run", "--", "sh", "-c", words]


def sandbox(data: dict[str, Any]) -> Path:
    (one,) = data["sandboxes"]
    return Path(one["path"])


def on_a_terminal(folder: Path, *words: str, typed: tuple[bytes, bytes] = (b"", b"")) -> tuple[int, str]:
    """Run a command on a terminal; type the second of two words when the first is shown. Gives all that was shown."""
    cues = [typed] if typed[0] else []

    def type_on_cue(shown: bytes, keyboard: int) -> None:
        if cues and cues[0][0] in shown:
            os.write(keyboard, cues.pop()[1])

    code, shown = terminal.on_a_terminal(folder, *words, look=type_on_cue)
    return code, shown.decode().replace("\r\n", "\n")
