"""Other processes that hold leases, or wait for them.

A test holds no lease itself while it starts one: the new process would inherit it.
"""

import os
import signal
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager

from tests.support.forks import in_a_process
from tests.support.patience import PATIENCE

Hold = Callable[[], AbstractContextManager[object]]
_LONG_ENOUGH = 0.2  # seconds in which a process that need not wait would be through


class Holder:
    """A process that holds a lease."""

    def __init__(self, hold: Hold) -> None:
        ready, self._go_on = os.pipe(), os.pipe()

        def work() -> None:
            with hold():
                os.write(ready[1], b"x")
                os.read(self._go_on[0], 1)

        self._pid: int | None = in_a_process(work)
        assert os.read(ready[0], 1) == b"x"
        for fd in (*ready, self._go_on[0]):
            os.close(fd)

    def release(self) -> None:
        """Let it release the lease and end."""
        assert self._pid is not None
        os.write(self._go_on[1], b"x")
        os.close(self._go_on[1])
        pid, self._pid = self._pid, None
        assert _status(pid) == 0

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            os.close(self._go_on[1])
            self._pid = None


@contextmanager
def held(hold: Hold) -> Generator[Holder]:
    """Let another process hold a lease, at most until the end."""
    holder = Holder(hold)
    try:
        yield holder
    finally:
        holder.kill()


def waits(hold: Hold, release: Callable[[], None]) -> bool:
    """Return whether another process waits for a lease before `release` is called, and has it afterwards."""
    pid = in_a_process(lambda: hold().__enter__())
    time.sleep(_LONG_ENOUGH)
    still = os.waitpid(pid, os.WNOHANG) == (0, 0)
    release()
    return still and _status(pid) == 0


def gets_it(hold: Hold) -> bool:
    """Return whether another process gets a lease as things are."""
    return _status(in_a_process(lambda: hold().__enter__())) == 0


def _status(pid: int) -> int | None:
    """Return how a process ended; one that does not end in time is killed, and has none."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None
