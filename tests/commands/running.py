"""What tests of `run` and `undo` share."""

import os
import pty
import select
import sys
from pathlib import Path
from typing import Any

PATIENCE = 60  # seconds


def script(words: str) -> list[str]:
    return ["run", "--", "sh", "-c", words]


def sandbox(data: dict[str, Any]) -> Path:
    (one,) = data["sandboxes"]
    return Path(one["path"])


def on_a_terminal(folder: Path, *words: str, typed: tuple[bytes, bytes] = (b"", b"")) -> tuple[int, str]:
    """Run a command on a terminal; type the second of two words when the first is shown. Gives all that was shown."""
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover - another program in a moment
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "mulligan", *words], {**os.environ, "TERM": "xterm"})
    shown, (cue, answer) = b"", typed
    while select.select([terminal], [], [], PATIENCE)[0]:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            break  # the other side is closed
        if cue and cue in shown:
            cue, _ = b"", os.write(terminal, answer)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return code, shown.decode().replace("\r\n", "\n")
