"""The end of a process that ran a command."""

import atexit
import sys


def finished(code: int) -> int:
    """Do what was registered for the end, write out what was printed, and return the code to end with."""
    # There is no public way to have done what was registered for the end.
    atexit._run_exitfuncs()  # noqa: SLF001 - see above  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # the last output was lost: that is not a success
            code = code or 1
    return code
