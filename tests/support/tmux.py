"""A shell in a real terminal emulator, to type into and to look at: tmux, without the user's settings."""

import os
import shutil
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from types import MappingProxyType

from tests.support.patience import PATIENCE, wait_until

_REMEMBER = ("set-option", "-g", "history-limit", "10000")  # lines
MISSING = [name for name in ("tmux", "vim", "less", "bash") if shutil.which(name) is None]


class Pane:
    """A terminal with a shell in it."""

    def __init__(self, socket: Path, folder: Path) -> None:
        self._socket = socket
        self.folder = folder
        self._marks = 0

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-S", str(self._socket), "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout

    def type(self, text: str) -> None:
        """Type a text as it is."""
        self.tmux("send-keys", "-t", "w", "-l", text)

    def press(self, *keys: str) -> None:
        """Press keys by their names: `Enter`, `C-c`, `Escape`."""
        self.tmux("send-keys", "-t", "w", *keys)

    def enter(self, line: str) -> None:
        self.type(line)
        self.press("Enter")

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "w")

    def wait_for(self, *texts: str) -> str:
        """Wait until all of these are on the screen; return it."""
        return self.until(lambda screen: all(text in screen for text in texts), " and ".join(texts))

    def until(self, fits: Callable[[str], bool], wanted: str) -> str:
        limit = time.monotonic() + PATIENCE
        while not fits(screen := self.screen()):
            assert time.monotonic() < limit, f"{wanted} is not on the screen:\n{screen}"
            time.sleep(0.05)
        return screen

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size; tmux passes it on to the programs in it somewhat later."""
        self.tmux("resize-window", "-t", "w", "-x", str(columns), "-y", str(lines))

        def is_passed_on() -> bool:
            with self._terminal() as file:
                return os.get_terminal_size(file.fileno()) == (columns, lines)

        wait_until(is_passed_on, "the terminal has that size")

    def settings(self) -> str:
        """Return all settings of the terminal but its size; the shell must be at its prompt."""
        self._marks += 1
        file = self.folder.parent / f"stty-{self._marks}"
        self.enter(f"stty -g > {file}.new; mv {file}.new {file}")
        wait_until(file.exists, "the shell is at its prompt")
        # What is typed before the prompt is drawn twice.
        self.until(lambda screen: screen.rstrip().endswith("$"), "the prompt")
        return file.read_text()

    def await_raw(self) -> None:
        """Wait until the terminal belongs to a program, not to the shell, that reads each key by itself."""
        shell = self._shown("#{pane_pid}")

        def is_raw() -> bool:
            in_front = Path(f"/proc/{shell}/stat").read_text().rpartition(")")[2].split()[5]
            with self._terminal() as file:
                return in_front != shell and not termios.tcgetattr(file)[3] & termios.ICANON

        wait_until(is_raw, "a program reads keys")

    def _terminal(self) -> FileIO:
        return FileIO(
            self._shown("#{pane_tty}"), opener=lambda path, flags: os.open(path, flags | os.O_NOCTTY)
        )

    def _shown(self, fact: str) -> str:
        return self.tmux("display-message", "-p", "-t", "w", fact).strip()

    def clear(self) -> None:
        self.enter("clear")
        self.until(lambda screen: not screen.strip().removeprefix("$").strip(), "an empty screen")


@contextmanager
def pane(
    folder: Path,
    programs: Path | None = None,
    *,
    columns: int = 100,
    lines: int = 30,
    environ: Mapping[str, str] = MappingProxyType({}),
    shell: Sequence[str] = ("bash", "--norc", "--noprofile"),
) -> Generator[Pane]:
    """Have a shell in that folder, where `mulligan` is the program under test; it is put into `programs`."""
    with tempfile.TemporaryDirectory(prefix="tmux-", dir="/tmp") as short:  # a socket has a short name
        made = Pane(Path(short) / "s", folder)
        programs = programs or folder.parent / "bin"
        programs.mkdir(exist_ok=True)
        (programs / "mulligan").write_text(f'#!/bin/sh\nexec {sys.executable} -m mulligan "$@"\n')
        (programs / "mulligan").chmod(0o755)
        variables = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PS1": "$ ",
            "SHELL": "/bin/bash",
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            **environ,
        }
        size = ["-x", str(columns), "-y", str(lines), "-c", str(folder)]
        # Python's readline exports the size of the terminal of the tests, or a default, behind `os.environ`.
        sizes = ["-u", "COLUMNS", "-u", "LINES"]
        started = ["env", *sizes, *(f"{name}={value}" for name, value in variables.items()), *shell]
        made.tmux(*_REMEMBER, ";", "new-session", "-d", "-s", "w", *size, *started)
        try:
            made.wait_for("$")
            yield made
        finally:
            made.tmux("kill-server")
