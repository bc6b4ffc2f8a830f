"""The states of graphs in a project, for a saver that several threads use at once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING
from weakref import finalize

from mulligan.application.graphs.graph_states import GraphStateService
from mulligan.domain.graphs.graph_state import GraphPlace, GraphState, GraphWrite

if TYPE_CHECKING:
    from mulligan.domain.text.json_value import JsonObject
    from mulligan.wiring.services import Services


class ProjectGraphs:
    """States of graphs, over a connection of its own; calls from several threads wait for each other."""

    def __init__(self, services: Services) -> None:
        """Take services that nothing else uses; the connection is opened with the first call."""
        self._services = services
        self._lock = RLock()
        self._close = finalize(self, services.adapters.close)

    @property
    def place(self) -> object:
        """The file or the address of the database; equal for equal places."""
        return self._services.adapters.database_place

    def put(self, state: GraphState) -> None:
        """Record the state at a checkpoint."""
        with self._states() as states:
            states.put(state)

    def write(self, place: GraphPlace, writes: Sequence[GraphWrite], *, replace: bool) -> None:
        """Record what a task wrote after a checkpoint; what it wrote before stays, or is replaced."""
        with self._states() as states:
            states.write(place, writes, replace=replace)

    def get(
        self, thread: str, namespace: str, checkpoint_id: str | None
    ) -> tuple[GraphState, Sequence[GraphWrite]] | None:
        """Return the state at a checkpoint, or at the newest, with what tasks wrote since."""
        with self._states() as states:
            return states.get(thread, namespace, checkpoint_id)

    def find(
        self,
        names: tuple[str | None, str | None, str | None],
        before: str | None,
        fits: Callable[[JsonObject], bool],
        limit: int | None,
    ) -> Sequence[GraphPlace]:
        """Return the checkpoints of a thread, namespace and id, as far as these are given, newest first."""
        with self._states() as states:
            return states.find(names, before, fits, limit)

    def keep_only(self, thread: str, kept: Callable[[GraphPlace], Sequence[GraphPlace]]) -> None:
        """Remove the checkpoints of a thread that are needed for none of its newest ones."""
        with self._states() as states:
            states.keep_only(thread, kept)

    def remove_threads(self, threads: Sequence[str]) -> None:
        """Remove all checkpoints of threads."""
        with self._states() as states:
            states.remove_threads(threads)

    def remove_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints that runs made."""
        with self._states() as states:
            states.remove_runs(run_ids)

    def copy(self, source: str, target: str) -> None:
        """Give a thread all checkpoints of another one, in the place of its own."""
        with self._states() as states:
            states.copy(source, target)

    def copy_files(self, source: str, target: str) -> None:
        """Hold the files of a graph for its copy too, where another saver keeps their states."""
        with self._states() as states:
            states.copy_files(source, target)

    def forget_files(self, threads: Sequence[str]) -> None:
        """Let go of the files of graphs whose states another saver keeps."""
        with self._states() as states:
            states.forget_files(threads)

    def close(self) -> None:
        """Close the connection."""
        self._close()

    @contextmanager
    def _states(self) -> Generator[GraphStateService]:
        with self._lock:
            yield self._services.graph_states
