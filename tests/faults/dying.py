"""Runs the program and kills it at a chosen moment: `dying.py MOMENT SIGNAL ARGUMENT…`.

Moments are the calls that reach files, the database or other processes, in order; 0 lets the program live and
tells on stderr how many there were.
"""

import os
import signal
import sys
from types import BuiltinFunctionType, FrameType

from mulligan.cli.main import run

_TELLING = {
    "close", "execute", "fchmod", "flock", "fork_exec", "fsync", "link", "listdir", "mkdir", "pwrite", "rename",
    "rmdir", "select", "symlink", "unlink", "utime", "write",
}  # fmt: skip
_PLACES = ("mulligan", "pathlib", "selectors", "shutil", "subprocess")


class Moments:
    """Counts moments, and dies at one of them."""

    def __init__(self, last: int, number: int) -> None:
        """Send this process the signal right before the last moment."""
        self._last = last
        self._number = number
        self.count = 0

    def look(self, frame: FrameType, event: str, called: object) -> None:
        """Be told of every call."""
        if (
            event != "c_call"
            or not isinstance(called, BuiltinFunctionType)
            or called.__name__ not in _TELLING
        ):
            return
        if not any(place in frame.f_code.co_filename for place in _PLACES):
            return
        self.count += 1
        if self.count == self._last:
            os.kill(os.getpid(), self._number)


def main() -> int:
    """Run the command line that follows the moment and the signal."""
    moments = Moments(int(sys.argv[1]), signal.Signals[sys.argv[2]])
    sys.setprofile(moments.look)
    code = run(sys.argv[3:])
    sys.setprofile(None)
    sys.stderr.write(f"{moments.count}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
