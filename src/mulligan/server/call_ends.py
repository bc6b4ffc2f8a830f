"""Notices that a command of an agent is over where no hook reports it: after Esc, or because the agent was killed.

Its processes are recognised by the id of the session in their environment. Once the last of them is gone, the files of
that moment are kept as the end of the call: what the user changes from then on is not taken for the agent's work.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from mulligan.errors import MulliganError

if TYPE_CHECKING:
    from mulligan.api.local_server.server_operations import ServerWork
    from mulligan.domain.agents.agent_event import AgentEvent

_FIRST, _LONGEST = 0.5, 5.0  # seconds between two looks for processes that have not started yet
_LOOKS = 200  # without any process: then the agent is one that hands no id to them
_GRACE = 1.0  # seconds for the hook after the call, which comes unless the command was cut off
_TURN = 1.0  # seconds after which a server that ends is noticed


class CallEnds:
    """Follows the calls of sessions, each session in a thread of its own while a command of it may run."""

    def __init__(self, work: ServerWork) -> None:
        self._work = work
        self._lock = Lock()
        self._followed: dict[tuple[str, str], Thread] = {}
        self._stopping = Event()

    def begun(self, event: AgentEvent) -> None:
        """Follow a call that was announced, unless it edits a file itself."""
        session = (event.agent, event.session)
        with self._lock:
            if event.paths or session in self._followed or self._stopping.is_set():
                return
            thread = Thread(target=self._follow, args=session, name="call-ends", daemon=True)
            self._followed[session] = thread
            thread.start()

    def close(self) -> None:
        """Follow none any longer."""
        self._stopping.set()
        with self._lock:
            threads = list(self._followed.values())
        for thread in threads:
            thread.join()

    def _follow(self, agent: str, session: str) -> None:
        try:
            # The server ends, or another command works on the plan: the next event finds what is missed here.
            with suppress(CancelledError, RuntimeError, MulliganError):
                self._until_over(agent, session)
        finally:
            with self._lock:
                del self._followed[agent, session]

    def _until_over(self, agent: str, session: str) -> None:
        project, pause, seen = self._work.project, _FIRST, False
        for _ in range(_LOOKS):
            if self._stopping.wait(_GRACE if seen else pause):
                return
            pids = self._work.now(lambda: project.agent_processes(agent, session))
            if pids is None:
                return  # no call is open
            if not pids and seen:
                self._work.now(lambda: project.end_agent_calls(agent, session))
                return
            while pids:
                seen = True
                self._wait(pids)
                if self._stopping.is_set():
                    return
                pids = self._work.now(lambda: project.agent_processes(agent, session))
            pause = min(2 * pause, _LONGEST)

    def _wait(self, pids: Sequence[int]) -> None:
        """Wait until one of some processes is gone, or the server ends."""
        descriptors: list[int] = []
        try:
            for pid in pids:
                try:
                    descriptors.append(os.pidfd_open(pid))
                except ProcessLookupError:
                    return
            ended = select.poll()
            for descriptor in descriptors:
                ended.register(descriptor, select.POLLIN)
            while not self._stopping.is_set():
                if ended.poll(_TURN * 1000):
                    return
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
