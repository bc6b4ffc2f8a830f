"""Work in a thread beside its caller, which uses nothing that the work uses until it is over."""

import threading
from collections.abc import Callable
from contextvars import copy_context

_PACE = 0.1  # seconds


class SideThreads:
    """Lets each piece of work go on in a thread of its own."""

    def begin(self, work: Callable[[], object]) -> "SideThread":
        """Begin some work, under the guards of the caller."""
        return SideThread(work)


class SideThread:
    """One piece of work."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), name="beside a step")
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def finish(self) -> None:
        interrupted: KeyboardInterrupt | None = None
        while self._thread.is_alive():
            try:
                self._thread.join(_PACE)
            except KeyboardInterrupt as exc:  # the work is under way in the plan that its caller leaves
                interrupted = exc
        failure, self._failure = self._failure, None
        if interrupted is not None:
            raise interrupted
        if failure is not None:
            raise failure

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as exc:  # noqa: BLE001 - handed over, and raised where the work is waited for
            self._failure = exc
