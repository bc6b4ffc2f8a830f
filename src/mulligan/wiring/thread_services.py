"""Services for the threads that use one project."""

from __future__ import annotations

from threading import local
from typing import TYPE_CHECKING
from weakref import WeakSet

from mulligan.ports import StopRequest

if TYPE_CHECKING:
    from mulligan.wiring.services import Services


class ThreadServices:
    """The services of a project, separate for each thread: no two threads share a connection, store or toolbox."""

    def __init__(self, first: Services) -> None:
        self._first = first
        self._here = local()
        self._all: WeakSet[_OfThread] = WeakSet()
        self._keep(first)  # for the thread that opens the project

    @property
    def here(self) -> Services:
        """The services of the thread that asks, built when it first does."""
        kept: _OfThread | None = getattr(self._here, "kept", None)
        return kept.services if kept is not None else self._keep(self._first.apart(StopRequest()))

    def close(self) -> None:
        """Close the connections of all threads; each thread opens another one when it needs it."""
        for kept in list(self._all):
            kept.services.adapters.close()

    def interrupt(self) -> None:
        """Ask the work of all threads to stop."""
        for kept in list(self._all):
            kept.services.adapters.stop.ask()

    def _keep(self, services: Services) -> Services:
        self._here.kept = kept = _OfThread(services)
        self._all.add(kept)
        return services


class _OfThread:
    """The services of one thread, which alone refers to this: they are closed when it ends."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def __del__(self) -> None:
        self.services.adapters.close()
