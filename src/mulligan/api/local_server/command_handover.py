"""Short commands, handed over to the warm process of the local server: the end of the command, and that of the server.

The end of the command is loaded before anything else, and imports next to nothing.
"""

from __future__ import annotations

from mulligan.adapters.local_server.installation import installation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mulligan.adapters.local_server.warm_process import WarmProcess


def hand_over(words: Sequence[str], environ: Mapping[bytes, bytes]) -> int | None:
    """Have a warm process run a command, and return its exit code; None where this process has to run it."""
    from mulligan.adapters.local_server.command_client import handed_over

    return handed_over(words, environ, installation())


def warm_process(run: Callable[[Sequence[str]], int]) -> WarmProcess:
    """Start the process that commands are handed over to, before this one has opened anything or started a thread.

    `run` runs a command line in a fork of it, and returns the code to end with.
    """
    from mulligan.adapters.local_server.warm_process import start_warm_process

    return start_warm_process(run, installation())
