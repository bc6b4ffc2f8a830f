"""Processes that share nothing with the test but its files, and that are killed at chosen calls."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

CHANGING_CALLS = ("rename", "replace", "link", "unlink", "mkdir", "rmdir", "fsync", "fchmod")


def in_a_process(work: Callable[[], object]) -> int:
    """Start work in a process of its own; it ends with 0 when the work is done."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - told, and seen in the exit code
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    return os.waitpid(child, 0)[1]


def killed_at(number: int, work: Callable[[], object]) -> bool:
    """Run work in a process that is killed at its n-th call that changes something; tells whether it was."""

    def run() -> None:
        left = [number]

        def wrapped(call: Callable[..., Any]) -> Callable[..., Any]:
            def instead(*args: Any, **kwargs: Any) -> Any:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*args, **kwargs)

            return instead

        for name in CHANGING_CALLS:
            setattr(os, name, wrapped(getattr(os, name)))
        work()

    status = ended(in_a_process(run))
    assert os.WIFSIGNALED(status) or status == 0
    return os.WIFSIGNALED(status)
