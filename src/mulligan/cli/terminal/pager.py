"""Long answers on a terminal go through the user's pager, as git's do."""

import signal
import subprocess
from collections.abc import Mapping

_NOT_RUN = (126, 127)  # what a shell ends with when it cannot run a program
_NONE = ("", "cat")


def pager_command(configured: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the command line of the pager: of the setting, of the environment, or `less`; None: there is none."""
    import shutil

    wanted = configured if configured is not None else environ.get("PAGER")
    if wanted is None:
        return "less" if shutil.which("less") else None
    return None if wanted.strip() in _NONE else wanted


def show(data: bytes, command: str, environ: Mapping[str, str]) -> bool:
    """Let the user read something in the pager, until they leave it; return False where it could not be run."""
    # What fits on the screen is only printed, colours are kept, and the text stays when the pager ends.
    told = {"LESS": "FRX", "LV": "-c"} | dict(environ)
    reading = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, env=told)
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager
    try:
        reading.communicate(data)
    finally:
        signal.signal(signal.SIGINT, handler)
    return reading.returncode not in _NOT_RUN


def is_long(data: bytes) -> bool:
    """Return whether a text has more lines than the terminal."""
    import shutil

    return data.count(b"\n") >= shutil.get_terminal_size().lines
